//! Reloads the configuration of a running gateway when files change or SIGHUP arrives.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use clap::ArgMatches;
use mcp_config::{
    Resolution,
    model::HostSettings,
    watch::{Update, Watcher},
};
use mcp_gateway::Gateway;
use tokio::sync::mpsc;

use super::{journal::Journal, rules::CurrentPolicy};
use crate::{
    exit::chain,
    host::{app::App, config},
    terminal::interrupt::Signal,
};

/// Changes within this interval are read once.
const QUIET: Duration = Duration::from_millis(200);

/// The settings of files for the host.
pub(super) struct Settings {
    /// The rules, which a changed file replaces.
    pub(super) policy: Arc<CurrentPolicy>,
    /// The settings of the last reading.
    last: Mutex<HostSettings>,
}

impl Settings {
    pub(super) fn new(app: &App, matches: &ArgMatches) -> Self {
        let host = &app.config.resolution.host;
        Self { policy: CurrentPolicy::new(matches, host), last: Mutex::new(host.clone()) }
    }

    /// Applies changed rules at once. Other settings are those of the conversation that clients have begun: the user is
    /// told that they wait for the next start.
    fn apply(&self, app: &App, now: &HostSettings) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.rules != now.rules {
            self.policy.replace(now);
            app.out.remark("reloaded: trustRules");
        }
        let without_rules = |settings: &HostSettings| {
            let mut settings = settings.clone();
            settings.rules.clear();
            settings
        };
        if without_rules(&last) != without_rules(now) {
            app.out.remark(
                "changed settings of tool search, retries or sandboxes take effect when the gateway is started again",
            );
        }
        last.clone_from(now);
    }
}

/// Reloads the configuration on every change of the files and on every SIGHUP. Never returns.
pub(super) async fn configuration(
    app: &App,
    gateway: &Gateway,
    journal: &Journal,
    settings: &Settings,
) {
    let (sender, mut changes) = mpsc::channel(1);
    let update = move |update: Update| {
        // If the channel is full, this update contains the queued change as well.
        let _ = sender.blocking_send(update.resolution);
    };
    let watcher = Watcher::new(&app.config.followed(), QUIET, app.config.reader(), update);
    if let Err(error) = &watcher {
        app.out.remark(format!("{}: send SIGHUP to reload the configuration", chain(error)));
    }
    let mut hangup = Signal::hangup();
    loop {
        tokio::select! {
            resolution = changes.recv(), if watcher.is_ok() => match resolution {
                Some(resolution) => apply(app, gateway, journal, settings, &resolution),
                None => std::future::pending().await,
            },
            () = hangup.next() => {
                apply(app, gateway, journal, settings, &app.config.again().resolution);
            }
        }
    }
}

fn apply(
    app: &App,
    gateway: &Gateway,
    journal: &Journal,
    settings: &Settings,
    resolution: &Resolution,
) {
    app.config.admit(resolution);
    // Before servers are added, so that a new denial applies to them.
    settings.apply(app, &resolution.host);
    let servers = config::servers(resolution);
    journal.learn(app, &servers);
    let changes = gateway.set_servers(servers);
    if !changes.is_empty() {
        let (gone, come) = (changes.gone.join(", "), changes.come.join(", "));
        app.out.remark(format!("reloaded: removed [{gone}], added [{come}]"));
    }
    let left_out = gateway.set_custom_tools(resolution.active_tools().cloned().collect());
    app.report_skipped_tools(&left_out);
}
