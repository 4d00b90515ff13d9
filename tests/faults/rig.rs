//! The server under test and how to connect to it, with short limits and a canary as credential.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{self, Child, Command},
    sync::Arc,
    time::Duration,
};

use mcp_bridge::{
    BridgeOptions, ServerConfig,
    connect::{Connector, ServerRoute},
};
use mcp_client::ClientOptions;
use mcp_transport::{
    Connect, ConnectError, Http, HttpClient, HttpOptions, InProcess, InProcessOptions, Sse,
    StaticHeaders, Stdio, StdioOptions, Ws, WsOptions, net::HttpClientOptions,
};
use tempfile::TempDir;

use crate::{
    matrix::{Fault, Transport},
    script::Script,
    serve,
};

/// The credential. It must not appear outside of requests.
pub(crate) const CANARY: &str = "canary4f8a1c03b7e2d956";

pub(crate) const MAX_MESSAGE: usize = 256 << 10;
/// The shortest limit: a step that took less time did not run into a limit.
pub(crate) const LIMIT: Duration = Duration::from_secs(3);
/// The interval of WebSocket pings, and the time limit for a pong.
const HALF_LIMIT: Duration = Duration::from_millis(1500);
/// The limit for a call. As with the defaults, the limits of the transport expire first.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(4);

/// A host name that fails to resolve without network access: one label is too long.
const UNRESOLVABLE: &str =
    "nobody-has-a-name-that-is-longer-than-sixty-three-characters-in-one-single-part.invalid";

/// The server under test.
pub(crate) struct Rig {
    pub(crate) transport: Transport,
    pub(crate) fault: Fault,
    folder: TempDir,
    /// The process of a remote server.
    process: Option<Child>,
    port: u16,
    authority: Option<Vec<u8>>,
}

impl Rig {
    pub(crate) fn new(transport: Transport, fault: Fault) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let authority = (fault == Fault::Tls).then(|| serve::certificates(folder.path()));
        let mut rig = Self { transport, fault, folder, process: None, port: 0, authority };
        rig.restart();
        rig
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Turns the fault off, or on again.
    pub(crate) fn heal(&self, is_well: bool) {
        let path = self.folder().join("healed");
        if is_well {
            fs::write(path, "").expect("it is written");
        } else {
            fs::remove_file(path).expect("it was there");
        }
    }

    pub(crate) fn is_healed(&self) -> bool {
        self.folder().join("healed").exists()
    }

    /// Kills a remote server and restarts it on its port. Other servers are started by connecting.
    pub(crate) fn restart(&mut self) {
        if !self.transport.is_remote() {
            return;
        }
        self.end();
        let mut child = self.server().stdout(process::Stdio::piped()).spawn().expect("a server");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("a line");
        self.port = line.trim().parse().expect("a port");
        self.process = Some(child);
    }

    /// Kills the running server; the next one offers other tools.
    pub(crate) fn replace(&mut self) {
        fs::write(self.folder().join("other"), "").expect("it is written");
        for pid in self.servers() {
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        self.restart();
    }

    /// Undoes [`Rig::replace`].
    pub(crate) fn restore(&mut self) {
        let _ = fs::remove_file(self.folder().join("other"));
        self.restart();
    }

    /// The server processes that are still running.
    pub(crate) fn servers(&self) -> Vec<nix::unistd::Pid> {
        let names = fs::read_dir(self.folder()).expect("the folder").flatten();
        let pids = names.filter_map(|entry| {
            entry.file_name().to_str()?.strip_prefix("pid-")?.parse::<i32>().ok()
        });
        let alive = |pid: &nix::unistd::Pid| nix::sys::signal::kill(*pid, None).is_ok();
        pids.map(nix::unistd::Pid::from_raw).filter(alive).collect()
    }

    /// A connector that remembers nothing about earlier connections.
    pub(crate) fn connect(&self) -> Arc<dyn Connect> {
        let url = |scheme: &str| {
            let host = if self.fault == Fault::Dns { UNRESOLVABLE } else { "127.0.0.1" };
            let secure = if self.fault == Fault::Tls { "s" } else { "" };
            format!("{scheme}{secure}://{host}:{}/mcp?key={CANARY}", self.port)
        };
        match self.transport {
            Transport::Stdio => {
                let mut options = StdioOptions::new(env::current_exe().expect("this program"));
                let serve = self.server();
                options.args = serve.get_args().map(Into::into).collect();
                options.env.insert("API_KEY".into(), CANARY.into());
                options.max_message = MAX_MESSAGE;
                options.shutdown.after_eof = HALF_LIMIT / 4;
                options.shutdown.after_term = HALF_LIMIT / 4;
                Arc::new(Stdio::new(options))
            }
            Transport::Modern | Transport::Legacy | Transport::Sse => {
                let mut pool = HttpClientOptions::default();
                pool.connect_timeout = LIMIT;
                pool.proxy_from_environment = false;
                pool.tls.extra_roots.extend(self.authority.clone());
                let pool = HttpClient::with_options(&pool).expect("a pool");
                let mut options = HttpOptions::new(url("http"));
                options.authorizer = Some(Arc::new(StaticHeaders::bearer(CANARY)));
                options.max_message = MAX_MESSAGE;
                options.post_timeout = LIMIT;
                options.endpoint_timeout = LIMIT;
                options.close_grace = HALF_LIMIT / 4;
                if self.transport == Transport::Sse {
                    Arc::new(Sse::new(pool, options))
                } else {
                    Arc::new(Http::new(pool, options))
                }
            }
            Transport::Ws => {
                let mut options = WsOptions::new(url("ws"));
                options.authorizer = Some(Arc::new(StaticHeaders::bearer(CANARY)));
                options.tls.extra_roots.extend(self.authority.clone());
                options.max_message = MAX_MESSAGE;
                options.connect_timeout = LIMIT;
                options.ping_interval = Some(HALF_LIMIT);
                options.pong_deadline = HALF_LIMIT;
                options.close_timeout = HALF_LIMIT / 4;
                Arc::new(Ws::new(options))
            }
            Transport::InProcess => {
                let mut options = InProcessOptions::default();
                options.max_message = MAX_MESSAGE;
                options.after_close = HALF_LIMIT / 4;
                let (transport, fault) = (self.transport, self.fault);
                let folder = self.folder().to_owned();
                let serve = move |link| {
                    serve::in_process::serve(Script::new(transport, fault, folder.clone()), link)
                };
                Arc::new(InProcess::with_options(serve, options))
            }
        }
    }

    /// The command that starts the server.
    fn server(&self) -> Command {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.args(["--serve", self.transport.name(), &self.fault.to_string()]);
        command.arg(self.folder()).arg(self.port.to_string());
        command
    }

    fn end(&mut self) {
        if let Some(mut child) = self.process.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn client_options() -> ClientOptions {
    let mut options = ClientOptions::default();
    options.handshake_timeout = CALL_LIMIT;
    options.probe_timeout = LIMIT;
    options.request_timeout = LIMIT;
    options.call_idle_timeout = CALL_LIMIT;
    options.call_total_timeout = CALL_LIMIT * 2;
    options
}

/// Options for a bridge with this one server.
pub(crate) fn bridge_options(rig: &Rig) -> BridgeOptions {
    struct Only(Arc<dyn Connect>);
    impl Connector for Only {
        fn open(&self, _: &ServerConfig) -> Result<ServerRoute, ConnectError> {
            Ok(ServerRoute::new(self.0.clone()))
        }
    }
    let mut options = BridgeOptions::default();
    options.connector = Arc::new(Only(rig.connect()));
    options.client = client_options();
    options.tool_search = false;
    options.backoff.delays = vec![Duration::from_millis(100)];
    options
}
