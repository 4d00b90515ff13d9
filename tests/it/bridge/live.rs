//! Published servers and scripts on the official SDKs, with a host's configuration.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use mcp_bridge::{Bridge, BridgeOptions, CallContext, RawJson, ServerConfig, ToolOutcome};
use mcp_config::{Remote, Stdio, Transport};
use mcp_skip::kit;
use mcp_tests::{listening, soon};
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    task::JoinSet,
};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/servers");

/// The folders in which `cargo xtask test` installed servers.
pub(crate) struct Kits {
    node: PathBuf,
    python: PathBuf,
    legacy_python: PathBuf,
}

impl Kits {
    /// `None` (a recorded skip) if servers are not installed.
    pub(crate) fn find() -> Option<Self> {
        Some(Self {
            node: kit("MCP_REFSERVERS")?,
            python: kit("MCP_PYREF")?,
            legacy_python: kit("MCP_PYLEGACY")?,
        })
    }

    pub(crate) fn everything(&self, name: &str) -> ServerConfig {
        local(name, &self.node.join("mcp-server-everything"), &["stdio"])
    }

    pub(crate) fn filesystem(&self, name: &str, folder: &Path) -> ServerConfig {
        local(name, &self.node.join("mcp-server-filesystem"), &[&folder.display().to_string()])
    }

    pub(crate) fn memory(&self, name: &str, folder: &Path) -> ServerConfig {
        let mut config = local(name, &self.node.join("mcp-server-memory"), &[]);
        let file = folder.join("memory.jsonl").display().to_string();
        set(&mut config, "MEMORY_FILE_PATH", &file);
        config
    }

    pub(crate) fn time(&self, name: &str) -> ServerConfig {
        local(name, &self.python.join("mcp-server-time"), &[])
    }

    pub(crate) fn git(&self, name: &str, repository: &Path) -> ServerConfig {
        let repository = repository.display().to_string();
        local(name, &self.python.join("mcp-server-git"), &["--repository", &repository])
    }
}

/// A trusted local server.
fn local(name: &str, program: &Path, args: &[&str]) -> ServerConfig {
    let mut stdio = Stdio::new(&*program.display().to_string());
    stdio.args = args.iter().map(|arg| (*arg).into()).collect();
    let mut config = ServerConfig::new(name.parse().unwrap(), Transport::Stdio(stdio));
    config.trust = true;
    config
}

/// Sets an environment variable of a local server.
pub(crate) fn set(config: &mut ServerConfig, name: &str, value: &str) {
    let Transport::Stdio(program) = &mut config.transport else { panic!("not a stdio server") };
    program.env.insert(name, value.into());
}

/// The kinds of remote servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// `server-everything`, which speaks the legacy era only.
    EverythingHttp,
    EverythingSse,
    /// A script on the Python SDK 2.x, which speaks both eras.
    Mcp2Http,
    /// A script on the last Python SDK with WebSocket support.
    WebSocket,
}

/// A remote server whose URL stays the same when it is killed and restarted.
pub(crate) struct Away {
    kind: Kind,
    door: Door,
    process: Option<Child>,
}

impl Away {
    pub(crate) async fn start(kits: &Kits, kind: Kind) -> Self {
        let mut away = Self { kind, door: Door::open().await, process: None };
        away.restart(kits).await;
        away
    }

    /// Starts a new process behind the same URL.
    pub(crate) async fn restart(&mut self, kits: &Kits) {
        self.kill().await;
        let everything = |transport: &str| {
            let mut command = Command::new(kits.node.join("mcp-server-everything"));
            command.arg(transport);
            command
        };
        let script = |python: &Path, script: &str| {
            let mut command = Command::new(python.join("python"));
            // Python servers log long messages about unknown requests.
            command.arg(format!("{SCRIPTS}/{script}")).stderr(std::process::Stdio::null());
            command
        };
        let started = match self.kind {
            Kind::EverythingHttp => listening::published(everything("streamableHttp"), "mcp").await,
            Kind::EverythingSse => listening::published(everything("sse"), "sse").await,
            Kind::Mcp2Http => {
                let mut command = script(&kits.python, "mcp2.py");
                command.arg("http");
                listening::script(command).await
            }
            Kind::WebSocket => listening::script(script(&kits.legacy_python, "websocket.py")).await,
        };
        let (process, url) = started.unwrap_or_else(|problem| panic!("{:?} {problem}", self.kind));
        self.process = Some(process);
        let port = url.rsplit(':').next().unwrap().split('/').next().unwrap();
        self.door.lead_to(Some(port.parse().unwrap()));
    }

    /// Kills the server with `SIGKILL`. Connections to its URL are refused afterwards.
    pub(crate) async fn kill(&mut self) {
        self.door.lead_to(None);
        if let Some(mut process) = self.process.take() {
            process.kill().await.unwrap();
        }
    }

    pub(crate) fn config(&self, name: &str) -> ServerConfig {
        let at = |scheme: &str, path: &str| {
            Remote::new(&*format!("{scheme}://127.0.0.1:{}/{path}", self.door.port))
        };
        let transport = match self.kind {
            Kind::EverythingHttp | Kind::Mcp2Http => Transport::Http(at("http", "mcp")),
            Kind::EverythingSse => Transport::Sse(at("http", "sse")),
            Kind::WebSocket => Transport::Ws(at("ws", "ws")),
        };
        let mut config = ServerConfig::new(name.parse().unwrap(), transport);
        config.trust = true;
        config
    }
}

/// A port that stays open while the server behind it changes: the port of a killed process may be taken by
/// another one.
struct Door {
    port: u16,
    behind: Arc<Mutex<Option<u16>>>,
    _tasks: JoinSet<()>,
}

impl Door {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let behind = Arc::<Mutex<Option<u16>>>::default();
        let mut tasks = JoinSet::new();
        let way = behind.clone();
        tasks.spawn(async move {
            let mut visits = JoinSet::new();
            while let Ok((mut visitor, _)) = listener.accept().await {
                let port = *way.lock().unwrap();
                visits.spawn(async move {
                    let Some(port) = port else { return };
                    if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
                        let _ = server.set_nodelay(true);
                        let _ = visitor.set_nodelay(true);
                        let _ = tokio::io::copy_bidirectional(&mut visitor, &mut server).await;
                    }
                });
                while visits.try_join_next().is_some() {}
            }
        });
        Self { port, behind, _tasks: tasks }
    }

    fn lead_to(&self, port: Option<u16>) {
        *self.behind.lock().unwrap() = port;
    }
}

/// Marks the processes of one test with an environment variable, to find them among all processes.
pub(crate) struct Mark(String);

impl Mark {
    const NAME: &str = "MCP_SCENARIO";

    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}-{count}", std::process::id()))
    }

    /// Adds the mark to a configuration.
    pub(crate) fn on(&self, mut config: ServerConfig) -> ServerConfig {
        let sign = format!("{}-{}", self.0, config.name.as_str());
        set(&mut config, Self::NAME, &sign);
        config
    }

    /// The marked processes of one server, or of all.
    pub(crate) fn processes(&self, server: Option<&str>) -> Vec<i32> {
        let sign = match server {
            Some(server) => format!("{}={}-{server}\0", Self::NAME, self.0),
            None => format!("{}={}-", Self::NAME, self.0),
        };
        let pids = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let is_marked = |pid: &i32| {
            let all = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&all).contains(&sign)
        };
        pids.filter(is_marked).collect()
    }

    /// Polls until all of these processes have ended.
    pub(crate) async fn gone(&self, server: Option<&str>) {
        let going = async {
            while !self.processes(server).is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon("every process is gone", going).await;
    }
}

/// Options with generous time limits for busy machines and immediate reconnects.
pub(crate) fn options() -> BridgeOptions {
    let mut options = super::options();
    options.client.handshake_timeout = Duration::from_secs(60);
    options.client.request_timeout = Duration::from_secs(60);
    options
}

pub(crate) async fn call(bridge: &Bridge, tool: &str, arguments: &Value) -> ToolOutcome {
    let arguments = RawJson::encode(arguments).unwrap();
    soon(tool, bridge.call(tool, arguments, CallContext::default())).await
}

/// The text of a result that is not an error.
pub(crate) async fn text(bridge: &Bridge, tool: &str, arguments: &Value) -> String {
    let outcome = call(bridge, tool, arguments).await;
    assert!(!outcome.is_error, "{tool}: {outcome}");
    outcome.text_content()
}
