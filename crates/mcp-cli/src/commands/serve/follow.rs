//! Reloads the configuration of a running gateway when files change or SIGHUP arrives.

use std::time::Duration;

use mcp_config::{
    Resolution,
    watch::{Update, Watcher},
};
use mcp_gateway::Gateway;
use tokio::sync::mpsc;

use super::journal::Journal;
use crate::{
    exit::chain,
    host::{app::App, config},
    terminal::interrupt::Signal,
};

/// Changes within this interval are read once.
const QUIET: Duration = Duration::from_millis(200);

/// Reloads the configuration on every change of the files and on every SIGHUP. Never returns.
pub(super) async fn configuration(app: &App, gateway: &Gateway, journal: &Journal) {
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
                Some(resolution) => apply(app, gateway, journal, &resolution),
                None => std::future::pending().await,
            },
            () = hangup.next() => apply(app, gateway, journal, &app.config.again().resolution),
        }
    }
}

fn apply(app: &App, gateway: &Gateway, journal: &Journal, resolution: &Resolution) {
    app.config.admit(resolution);
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
