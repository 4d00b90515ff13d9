//! [`App`], the state shared by all commands.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use clap::ArgMatches;
use mcp_bridge::{
    Bridge, BridgeOptions, Logins, OutputLimits, ServerConfig, ServerStatus, connect::Connector,
    error::CustomToolError,
};
use mcp_gateway::{Gateway, GatewayOptions};
#[cfg(unix)]
use mcp_transport::diagnostics::Diagnostics;

#[cfg(unix)]
use crate::host::background::{attach::AttachingConnector, place::HostPlace};
use crate::{
    exit::{Exit, Problem, chain},
    host::{
        adhoc,
        config::{Config, NO_SERVERS},
        connect,
        failures::Failures,
        login,
        recordings::Recordings,
        secrets::StoredSecrets,
        starts::{Starts, TimedConnector},
    },
    terminal::{
        approver::{Answers, Terminal},
        interrupt::Interrupt,
        out::{Out, brief},
        progress::Waiting,
    },
};

/// The configuration, terminal, logins and connections of one command.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) out: Out,
    pub(crate) config: Config,
    pub(crate) interrupt: Interrupt,
    pub(crate) terminal: Arc<Terminal>,
    pub(crate) logins: Logins,
    /// Resolves `${secret:NAME}` in entries.
    pub(crate) secrets: Arc<StoredSecrets>,
    /// The limit for starting a server or finishing a call, from `--timeout`.
    pub(crate) timeout: Option<Duration>,
    /// Records every connection, for `mcp record -- COMMAND`.
    pub(crate) recordings: Option<Arc<Recordings>>,
    /// When each server was last started.
    starts: Arc<Starts>,
    /// Bridges to shut down before the command ends.
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
        let answers = match (matches.get_flag("yes"), matches.get_flag("deny")) {
            (true, _) => Answers::Yes,
            (_, true) => Answers::No,
            _ => Answers::Ask,
        };
        let timeout =
            matches.get_one::<u64>("timeout").map(|seconds| Duration::from_secs(*seconds));
        let spec = matches.get_one::<String>("server-spec").cloned();
        if let Some(spec) = spec.as_deref().filter(|spec| adhoc::entry(spec).is_none()) {
            return Err(Problem::usage(format!("not a server: `{}`", brief(spec, 100)))
                .hint("--server takes a URL, or a command line in quotation marks"));
        }
        let config = Config::read(only, spec);
        config.check_named(out)?;
        if let Some(file) = &config.migrated {
            out.remark(format!("the local servers of this project are now in {}", file.display()));
        }
        let secrets = config.places.state.as_ref().map(|state| state.join("auth"));
        Ok(Self {
            logins: login::logins(secrets, &config.project, out),
            secrets: Arc::default(),
            config,
            terminal: Arc::new(Terminal::new(answers, out)),
            out,
            interrupt,
            timeout,
            starts: Arc::default(),
            recordings: Recordings::from_environment(),
            bridges: Mutex::default(),
        })
    }

    /// Loads the secrets that entries refer to, before any connection is made.
    pub(crate) async fn load_secrets(&self) -> Result<(), Problem> {
        let store = self.logins.vault().store().clone();
        let Config { resolution, environment, .. } = &self.config;
        let loaded = self.wait(self.secrets.load(resolution, environment, &*store)).await?;
        if let Err(error) = loaded {
            self.out.remark(format!("the secret store cannot be read: {}", chain(&error)));
        }
        Ok(())
    }

    /// Returns the bridge options of this command.
    pub(crate) fn options(&self) -> BridgeOptions {
        let mut options = connect::options(&self.config, &self.terminal, self.out);
        options.connector = self.connector();
        if self.recordings.is_some() {
            // A recording without the lists that the catalogue knows could not be played.
            options.catalogue = None;
        }
        options
    }

    /// Returns a connector for every transport, with the user's logins. It uses the servers of the background host, if
    /// one is running.
    pub(crate) fn connector(&self) -> Arc<dyn Connector> {
        let inner = self.direct_connector();
        // A recording must contain the whole session, so it does not share connections.
        #[cfg(unix)]
        if let Some(place) = HostPlace::new(&self.config).filter(|_| self.recordings.is_none()) {
            return Arc::new(AttachingConnector {
                inner,
                socket: place.socket(),
                environment: self.config.environment.clone(),
                secrets: self.secrets.clone(),
                out: self.out,
                refused: Arc::default(),
            });
        }
        inner
    }

    /// Like [`App::connector`], but starts every server for this command instead of using the background host.
    pub(crate) fn direct_connector(&self) -> Arc<dyn Connector> {
        let connector = connect::connector(&self.config, &self.logins, &self.secrets);
        let mut connector: Arc<dyn Connector> =
            Arc::new(TimedConnector { inner: Arc::new(connector), starts: self.starts.clone() });
        if let Some(recordings) = &self.recordings {
            connector = recordings.around(connector);
        }
        connector
    }

    /// Returns the connector of the background host, and the folder in which its next server starts.
    #[cfg(unix)]
    pub(crate) fn host_connector(&self) -> (Arc<dyn Connector>, Arc<Mutex<PathBuf>>) {
        let start_in = Arc::new(Mutex::new(self.config.project.clone()));
        let folder = start_in.clone();
        let connector = connect::connector(&self.config, &self.logins, &self.secrets);
        let connector = connector.adjust_stdio(move |_, options| {
            let folder = folder.lock().unwrap_or_else(PoisonError::into_inner);
            options.cwd.get_or_insert_with(|| folder.clone());
        });
        (Arc::new(connector), start_in)
    }

    /// Returns where the background host for this configuration listens.
    ///
    /// # Errors
    /// Fails without a state folder.
    #[cfg(unix)]
    pub(crate) fn host_place(&self) -> Result<HostPlace, Problem> {
        HostPlace::new(&self.config).ok_or_else(|| {
            Problem::new(Exit::Config, "cannot create a socket without a home directory")
                .hint("set HOME or XDG_STATE_HOME")
        })
    }

    /// Returns a bridge with every server, none of them started.
    pub(crate) fn bridge(&self) -> Bridge {
        self.bridge_with(self.options())
    }

    /// Like [`App::bridge`], but reports no problems of files. Used for completions.
    pub(crate) fn quiet_bridge(&self) -> Bridge {
        let bridge = self.bridge_of(self.options(), self.config.servers());
        for tool in self.config.custom_tools() {
            let _ = bridge.add_custom(tool);
        }
        bridge
    }

    /// Like [`App::bridge`], with the given options.
    pub(crate) fn bridge_with(&self, options: BridgeOptions) -> Bridge {
        self.config.report_diagnostics(self.out);
        let bridge = self.bridge_of(options, self.config.servers());
        let refused = self.config.custom_tools().into_iter().map(|tool| bridge.add_custom(tool));
        self.report_skipped_tools(&refused.filter_map(Result::err).collect::<Vec<_>>());
        bridge
    }

    /// Returns a bridge with only these servers.
    pub(crate) fn bridge_of(&self, options: BridgeOptions, servers: Vec<ServerConfig>) -> Bridge {
        let bridge = Bridge::new(self.limited(without_limits(options)));
        for server in servers {
            bridge.add_server_as_written(server);
        }
        self.keep(&bridge);
        bridge
    }

    /// Returns a gateway in front of every server.
    pub(crate) fn gateway(&self, bridge: BridgeOptions, options: GatewayOptions) -> Gateway {
        self.config.report_diagnostics(self.out);
        let gateway = Gateway::new(self.limited(bridge), options, self.config.servers());
        self.keep(gateway.bridge());
        self.report_skipped_tools(&gateway.set_custom_tools(self.config.custom_tools()));
        gateway
    }

    fn limited(&self, mut options: BridgeOptions) -> BridgeOptions {
        if let Some(limit) = self.timeout {
            options.client.handshake_timeout = limit;
            options.client.probe_timeout = options.client.probe_timeout.min(limit);
            options.start_limit = limit;
            options.client.request_timeout = options.client.request_timeout.min(limit);
        }
        options
    }

    fn keep(&self, bridge: &Bridge) {
        self.bridges.lock().unwrap_or_else(PoisonError::into_inner).push(bridge.clone());
    }

    /// Reports custom tools that cannot be offered.
    pub(crate) fn report_skipped_tools(&self, refused: &[CustomToolError]) {
        for error in refused {
            self.out.remark(format!("custom tool skipped: {error}"));
        }
    }

    /// Whether any server is configured.
    pub(crate) fn has_servers(&self) -> bool {
        self.config.resolution.servers().next().is_some()
    }

    /// Prints why a list is empty: no servers, or else `reason`.
    pub(crate) fn explain_empty(&self, reason: &str) {
        self.out.remark(if self.has_servers() { reason } else { NO_SERVERS });
    }

    /// Connects these servers and waits until each has settled. Shows on a terminal which are still pending.
    ///
    /// # Errors
    /// Fails if the user interrupts it.
    pub(crate) async fn settle(
        &self,
        bridge: &Bridge,
        names: &[String],
    ) -> Result<Vec<(String, Duration)>, Problem> {
        let waiting = Waiting::new(names);
        let begun = tokio::time::Instant::now();
        for name in names {
            let _ = bridge.connect(name);
        }
        let mut took = Vec::new();
        let mut tasks = tokio::task::JoinSet::new();
        for name in names.iter().cloned() {
            let bridge = bridge.clone();
            tasks.spawn(async move {
                bridge.wait_for(&name, ServerStatus::is_settled).await;
                name
            });
        }
        // The timeout applies to all servers together, although they may have to take turns.
        let deadline = self.timeout.map(|limit| begun + limit);
        loop {
            let next = match self.interrupt.or(until(deadline, tasks.join_next())).await {
                Ok(next) => next,
                Err(interrupted) => {
                    // The user has waited in vain. The next command does not make them wait again.
                    if begun.elapsed() >= IN_VAIN {
                        self.failures().note(bridge, names);
                    }
                    return Err(interrupted);
                }
            };
            match next.flatten() {
                Some(Ok(name)) => {
                    waiting.arrived(&name);
                    // Exclude the time spent waiting for other servers to start.
                    let start = self.starts.of(&name).unwrap_or(begun).max(begun);
                    took.push((name, start.elapsed()));
                }
                Some(Err(_)) => {}
                None => {
                    self.failures().note(bridge, names);
                    return Ok(took);
                }
            }
        }
    }

    /// Returns the stderr and the frames of a connected server that this process started.
    #[cfg(unix)]
    pub(crate) fn diagnostics(&self, server: &str) -> Option<Diagnostics> {
        self.starts.diagnostics(server)
    }

    /// Returns the remembered failures.
    pub(crate) fn failures(&self) -> Failures<'_> {
        Failures::new(&self.config)
    }

    /// Returns those of `names` that did not fail in the last minutes, and reports the others.
    pub(crate) fn without_failed(&self, names: Vec<String>) -> Vec<String> {
        // A server on the command line is wanted now.
        if self.config.spec().is_some() {
            return names;
        }
        let failures = self.failures();
        let (failed, rest): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| failures.of(name).is_some());
        if let Some(first) = failed.first() {
            self.out.remark(format!(
                "skipped because it failed a few minutes ago: {} (`mcp explain {first}` tries again)",
                failed.join(", ")
            ));
        }
        rest
    }

    /// Builds the error for a denial, with a hint if the user could not be asked.
    pub(crate) fn denied(&self, message: String) -> Problem {
        let problem = Problem::new(Exit::Denied, message);
        if self.terminal.was_unable_to_ask() {
            return problem.hint("run it in a terminal, or allow it with --yes");
        }
        problem
    }

    /// Waits for a server operation, until an interrupt or `--timeout`.
    ///
    /// # Errors
    /// Fails if it was interrupted or timed out.
    pub(crate) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        let deadline = self.timeout.map(|limit| tokio::time::Instant::now() + limit);
        let done = self.interrupt.or(until(deadline, work)).await?;
        done.ok_or_else(|| {
            let seconds = self.timeout.unwrap_or_default().as_secs();
            Problem::new(Exit::Unavailable, format!("no response within {seconds} s"))
                .hint("use --timeout to wait longer")
        })
    }

    /// Shuts down every server. After a timeout the grace period is short, because the user has waited long enough.
    pub(crate) async fn close(&self, exit: Exit) {
        let bridges =
            std::mem::take(&mut *self.bridges.lock().unwrap_or_else(PoisonError::into_inner));
        let is_late = self.timeout.is_some() && exit == Exit::Unavailable;
        let deadline = is_late.then(|| tokio::time::Instant::now() + LATE_CLOSE);
        let ended = async {
            for bridge in bridges {
                bridge.shutdown().await;
            }
        };
        until(deadline, ended).await;
        if let Some(recordings) = &self.recordings {
            recordings.write(&self.config, &self.secrets, self.out);
        }
    }
}

/// Removes limits on results. They protect models; a user may write results to a file.
fn without_limits(mut options: BridgeOptions) -> BridgeOptions {
    options.output = OutputLimits::unlimited();
    options
}

/// A server that is still starting when the user interrupts the wait after this time counts as failed.
const IN_VAIN: Duration = Duration::from_secs(2);

/// The time servers have to stop after a timeout.
const LATE_CLOSE: Duration = Duration::from_secs(1);

/// Waits for `work`. Returns `None` if the deadline passes first.
async fn until<T>(
    deadline: Option<tokio::time::Instant>,
    work: impl Future<Output = T>,
) -> Option<T> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, work).await.ok(),
        None => Some(work.await),
    }
}
