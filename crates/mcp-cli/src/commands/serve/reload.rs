//! A gateway that follows its configuration: servers come, go and change, and calls in flight go on.

use std::{collections::HashSet, time::Duration};

use mcp_bridge::{Bridge, Identify as _, ServerState};
use mcp_config::{CustomTool, Fingerprint, Resolution, ServerConfig, Watcher};
use tokio::sync::mpsc;

use crate::{app::App, config, connect};

/// How often to look whether somebody has logged in to what needs it.
const LOGIN_CHECK: Duration = Duration::from_secs(2);

/// Applies every change of the files, and everything there is at a SIGHUP. Never ends by itself.
pub(super) async fn follow(app: &App, bridge: &Bridge, refresh: impl Fn()) {
    let (sender, mut changes) = mpsc::channel(1);
    let quiet = Duration::from_millis(200);
    let update = move |update: mcp_config::Update| {
        // A change that is not taken yet is followed by this one anyway.
        let _ = sender.blocking_send(update.resolution);
    };
    let watcher = Watcher::new(&app.config.followed(), quiet, app.config.reader(), update);
    if let Err(error) = &watcher {
        app.out.remark(format!("{}: only SIGHUP reloads", crate::exit::chain(error)));
    }
    let mut hangup = Hangup::listen();
    let mut current = app.config.servers();
    let mut tools = app.config.custom_tools();
    let mut waiting = Waiting::default();
    loop {
        let resolution = tokio::select! {
            () = waiting.follow(app, bridge, &current) => continue,
            resolution = changes.recv(), if watcher.is_ok() => match resolution {
                Some(resolution) => resolution,
                None => std::future::pending().await,
            },
            () = hangup.heard() => app.config.again().resolution,
        };
        let before = std::mem::take(&mut current);
        current = apply(app, bridge, &before, &resolution);
        let has_other_tools = apply_tools(app, bridge, &mut tools, &resolution);
        // What only changed is offered until its successor is there, so that no list shrinks and grows.
        let is_gone = |old: &ServerConfig| !current.iter().any(|new| new.name == old.name);
        if has_other_tools || before.iter().any(is_gone) {
            refresh();
        }
    }
}

/// Servers that wait for a login, which may come from another process.
#[derive(Default)]
struct Waiting {
    /// Those that were tried again since they were last known to need a login.
    tried: HashSet<String>,
}

impl Waiting {
    /// Waits until it is time to look, and tries again what is no longer known to need a login.
    async fn follow(&mut self, app: &App, bridge: &Bridge, current: &[ServerConfig]) {
        tokio::time::sleep(LOGIN_CHECK).await;
        for status in bridge.status() {
            if status.state != ServerState::NeedsAuth || is_needed(app, current, &status.name) {
                self.tried.remove(&*status.name);
            } else if self.tried.insert(status.name.to_string()) {
                // `mcp login` made it forgotten. Once: where nothing can be remembered, nobody knocks for ever.
                bridge.reconnect(&status.name);
            }
        }
    }
}

/// Whether it is remembered, here or by another process, that this server wants a login.
fn is_needed(app: &App, current: &[ServerConfig], name: &str) -> bool {
    let config = current.iter().find(|config| config.name.as_str() == name);
    let identity = config.and_then(|config| app.logins.identify(config).ok());
    identity.and_then(|identity| identity.login).is_some_and(|login| login.is_needed())
}

/// Brings the bridge to this resolution. A server that stays as it is keeps its connection and its calls.
fn apply(
    app: &App,
    bridge: &Bridge,
    before: &[ServerConfig],
    resolution: &Resolution,
) -> Vec<ServerConfig> {
    let now = config::servers(resolution);
    let print = |config: &ServerConfig| (Fingerprint::of(config), config.trust);
    let same = |one: &ServerConfig, all: &[ServerConfig]| {
        all.iter().any(|other| other.name == one.name && print(other) == print(one))
    };
    let gone: Vec<&ServerConfig> = before.iter().filter(|old| !same(old, &now)).collect();
    let come: Vec<&ServerConfig> = now.iter().filter(|new| !same(new, before)).collect();
    for old in &gone {
        // Calls in flight go on: what they began is not lost with a line of a file.
        bridge.retire_server(old.name.as_str());
    }
    for new in &come {
        bridge.add_server((*new).clone());
        bridge.connect(new.name.as_str());
    }
    if !gone.is_empty() || !come.is_empty() {
        let names = |all: &[&ServerConfig]| {
            all.iter().map(|config| config.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        app.out.remark(format!("reloaded: gone [{}], come [{}]", names(&gone), names(&come)));
    }
    now
}

/// Brings the tools made of others to this resolution. Returns whether anything changed.
fn apply_tools(
    app: &App,
    bridge: &Bridge,
    current: &mut Vec<CustomTool>,
    resolution: &Resolution,
) -> bool {
    let now: Vec<CustomTool> = resolution.active_tools().cloned().collect();
    if *current == now {
        return false;
    }
    for old in current.iter().filter(|old| !now.contains(old)) {
        bridge.remove_tool(&old.name);
    }
    connect::add_custom(app, bridge, now.iter().filter(|new| !current.contains(new)).cloned());
    *current = now;
    true
}

/// SIGHUP, where there is one.
#[cfg(unix)]
struct Hangup(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Hangup {
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self(signal(SignalKind::hangup()).ok())
    }

    async fn heard(&mut self) {
        match &mut self.0 {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
struct Hangup;

#[cfg(not(unix))]
impl Hangup {
    fn listen() -> Self {
        Self
    }

    async fn heard(&mut self) {
        std::future::pending::<()>().await;
    }
}
