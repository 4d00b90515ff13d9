//! What every command has at hand.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use clap::ArgMatches;
use mcp_bridge::{Bridge, BridgeOptions, Detail, Logins, ServerState, ServerStatus};
use mcp_config::ServerConfig;

use crate::{
    config::{Config, NO_SERVERS},
    connect,
    exit::{Exit, Problem},
    interrupt::Interrupt,
    login,
    out::Out,
    progress::Waiting,
    terminal::{Answers, Terminal},
    tools,
};

/// The machine as one command sees it.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) out: Out,
    pub(crate) config: Config,
    pub(crate) interrupt: Interrupt,
    pub(crate) terminal: Arc<Terminal>,
    pub(crate) logins: Logins,
    /// How long to wait for a server to come up, or a call to end, if the user said so.
    pub(crate) timeout: Option<Duration>,
    /// What has to be ended in good order, whatever comes of the command.
    bridges: Mutex<Vec<Bridge>>,
}

impl App {
    pub(crate) fn new(
        matches: &ArgMatches,
        out: Out,
        interrupt: Interrupt,
    ) -> Result<Self, Problem> {
        let only: Vec<PathBuf> =
            matches.get_many::<PathBuf>("config").unwrap_or_default().cloned().collect();
        if let Some(missing) = only.iter().find(|path| !path.exists()) {
            let message = format!("there is no file {}", missing.display());
            return Err(Problem::new(Exit::Config, message));
        }
        let answers = match (matches.get_flag("yes"), matches.get_flag("deny")) {
            (true, _) => Answers::Yes,
            (_, true) => Answers::No,
            _ => Answers::Ask,
        };
        let timeout =
            matches.get_one::<u64>("timeout").map(|seconds| Duration::from_secs(*seconds));
        let config = Config::read(only);
        if let Some(broken) = config.unreadable() {
            return Err(Problem::new(Exit::Config, broken.to_string()));
        }
        let secrets = config.places.state.as_ref().map(|state| state.join("auth"));
        Ok(Self {
            logins: login::logins(secrets, out),
            config,
            terminal: Arc::new(Terminal::new(answers, out)),
            out,
            interrupt,
            timeout,
            bridges: Mutex::default(),
        })
    }

    /// A bridge of every server, none of them started.
    pub(crate) fn bridge(&self) -> Bridge {
        self.bridge_with(connect::options(self))
    }

    /// The same with options of its own.
    pub(crate) fn bridge_with(&self, options: BridgeOptions) -> Bridge {
        self.config.complain(self.out);
        let bridge = self.bridge_of(options, self.config.servers());
        connect::add_custom(self, &bridge, self.config.custom_tools());
        bridge
    }

    /// A bridge of these servers and no others.
    pub(crate) fn bridge_of(
        &self,
        mut options: BridgeOptions,
        servers: Vec<ServerConfig>,
    ) -> Bridge {
        if let Some(limit) = self.timeout {
            options.client.handshake_timeout = limit;
            options.client.probe_timeout = options.client.probe_timeout.min(limit);
            options.start_limit = limit;
        }
        let bridge = connect::bridge(options, servers);
        self.bridges.lock().unwrap_or_else(PoisonError::into_inner).push(bridge.clone());
        bridge
    }

    /// Says that there are no servers, if there are none.
    pub(crate) fn has_servers(&self) -> bool {
        let has_some = self.config.resolution.servers().next().is_some();
        if !has_some {
            self.out.remark(NO_SERVERS);
        }
        has_some
    }

    /// Connects these servers and waits until each has settled. On a terminal, says which are awaited.
    ///
    /// # Errors
    /// When the user has had enough.
    pub(crate) async fn settle(
        &self,
        bridge: &Bridge,
        names: &[String],
    ) -> Result<Vec<(String, Duration)>, Problem> {
        let waiting = Waiting::new(names);
        let begun = tokio::time::Instant::now();
        for name in names {
            bridge.connect(name);
        }
        let mut took = Vec::new();
        let mut tasks = tokio::task::JoinSet::new();
        for name in names.iter().cloned() {
            let bridge = bridge.clone();
            tasks.spawn(async move {
                bridge.wait_for(&name, is_settled).await;
                name
            });
        }
        while let Some(name) = self.interrupt.or(tasks.join_next()).await? {
            let Ok(name) = name else { continue };
            waiting.arrived(&name);
            took.push((name, begun.elapsed()));
        }
        Ok(took)
    }

    /// Connects what is not remembered from last time, so that every tool can be shown.
    pub(crate) async fn learn(&self, bridge: &Bridge) -> Result<Vec<(String, Duration)>, Problem> {
        let unknown: Vec<String> = bridge
            .status()
            .iter()
            .filter(|status| is_idle(status) && tools::known(bridge, &status.name).is_none())
            .map(|status| status.name.to_string())
            .collect();
        self.settle(bridge, &unknown).await
    }

    /// Ends every server in good order.
    pub(crate) async fn close(&self) {
        let bridges =
            std::mem::take(&mut *self.bridges.lock().unwrap_or_else(PoisonError::into_inner));
        for bridge in bridges {
            bridge.shutdown().await;
        }
    }
}

/// Whether nothing more is to be expected of it without being asked for.
pub(crate) fn is_settled(status: &ServerStatus) -> bool {
    match status.state {
        ServerState::Pending => matches!(status.detail, Detail::Waiting { .. } | Detail::Final),
        _ => true,
    }
}

fn is_idle(status: &ServerStatus) -> bool {
    status.state == ServerState::Pending && status.detail == Detail::Idle
}
