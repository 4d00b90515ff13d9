//! Starts servers and connects to them.

use std::{
    env,
    fs::{self, File},
    path::PathBuf,
    sync::Arc,
};

use mcp_tests::listening;
use mcp_transport::{
    Connect, Http, HttpClient, HttpOptions, Sse, Stdio, StdioOptions, Ws, WsOptions,
};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// The folders in which `cargo xtask conformance` installed servers.
pub(crate) struct Kits {
    refservers: PathBuf,
    pyref: PathBuf,
    pyfast: PathBuf,
    pylegacy: PathBuf,
    scripts: PathBuf,
}

impl Kits {
    pub(crate) fn from_environment() -> Result<Self, String> {
        let folder = |name: &str| {
            let missing = || format!("{name} is not set; `cargo xtask conformance` sets it");
            env::var_os(name).map(PathBuf::from).ok_or_else(missing)
        };
        Ok(Self {
            refservers: folder("MCP_REFSERVERS")?,
            pyref: folder("MCP_PYREF")?,
            pyfast: folder("MCP_PYFAST")?,
            pylegacy: folder("MCP_PYLEGACY")?,
            scripts: folder("MCP_SERVERS")?,
        })
    }
}

/// The program of a server.
#[derive(Clone, Copy)]
pub(crate) enum Program {
    /// A published server from npm.
    Node(&'static str),
    /// A published server from the Python index.
    Python(&'static str),
    /// A script of ours on the newest Python SDK, on `fastmcp`, or on the last SDK before 2.x.
    Script(&'static str),
    FastScript(&'static str),
    LegacyScript(&'static str),
    /// A script of ours for node.
    NodeScript(&'static str),
}

/// The transport of a server.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reach {
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with SSE, as configured.
    Sse,
    /// HTTP with SSE, as detected.
    Found,
    WebSocket,
}

/// How to start a server.
#[derive(Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) program: Program,
    pub(crate) args: &'static [&'static str],
    pub(crate) reach: Reach,
}

/// A running server. A remote one ends when this is dropped.
pub(crate) struct Server {
    pub(crate) connect: Arc<dyn Connect>,
    /// An empty repository for the server: `{folder}` in its arguments.
    pub(crate) folder: TempDir,
    process: Option<Child>,
}

impl Server {
    pub(crate) async fn start(launch: &Launch, kits: &Kits) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder: {error}"))?;
        let made = Command::new("git").args(["init", "-q"]).arg(folder.path()).status().await;
        if !made.is_ok_and(|status| status.success()) {
            return Err("no repository: `git init` fails".into());
        }
        let (program, mut args) = launch.program.resolve(kits);
        let place = folder.path().display().to_string();
        args.extend(launch.args.iter().map(|arg| arg.replace("{folder}", &place)));
        if launch.reach == Reach::Stdio {
            let mut options = StdioOptions::new(program);
            options.args = args.into_iter().map(Into::into).collect();
            let memory = folder.path().join("memory.jsonl");
            options.env.insert("MEMORY_FILE_PATH".into(), memory.into());
            let connect = Arc::new(Stdio::new(options));
            return Ok(Self { connect, folder, process: None });
        }
        let mut command = Command::new(program);
        let words = folder.path().join("stderr.txt");
        let stderr = File::create(&words).map_err(|error| format!("no file: {error}"))?;
        command.args(args).stderr(stderr);
        let path = if launch.reach == Reach::Http { "mcp" } else { "sse" };
        let started = match launch.program {
            Program::Node(_) => listening::published(command, path).await,
            _ => listening::script(command).await,
        };
        let (process, url) = started.map_err(|error| {
            let words = fs::read_to_string(&words).unwrap_or_default();
            format!("{error}; its stderr: {}", words.trim())
        })?;
        Ok(Self { connect: remote(launch.reach, &url)?, folder, process: Some(process) })
    }
}

impl Server {
    /// Waits until a remote server has exited. A stdio server is a new process for every connection.
    pub(crate) async fn over(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.wait().await;
        }
    }
}

impl Program {
    fn resolve(self, kits: &Kits) -> (PathBuf, Vec<String>) {
        let script = |name: &str| vec![kits.scripts.join(name).display().to_string()];
        match self {
            Program::Node(name) => (kits.refservers.join(name), Vec::new()),
            Program::Python(name) => (kits.pyref.join(name), Vec::new()),
            Program::Script(name) => (kits.pyref.join("python"), script(name)),
            Program::FastScript(name) => (kits.pyfast.join("python"), script(name)),
            Program::LegacyScript(name) => (kits.pylegacy.join("python"), script(name)),
            Program::NodeScript(name) => ("node".into(), script(name)),
        }
    }
}

/// Connects to a remote server.
fn remote(reach: Reach, url: &str) -> Result<Arc<dyn Connect>, String> {
    let client = || HttpClient::new().map_err(|error| error.to_string());
    match reach {
        Reach::Stdio => Err("a process has no address".into()),
        Reach::Http | Reach::Found => Ok(Arc::new(Http::new(client()?, HttpOptions::new(url)))),
        Reach::Sse => Ok(Arc::new(Sse::new(client()?, HttpOptions::new(url)))),
        Reach::WebSocket => Ok(Arc::new(Ws::new(WsOptions::new(url)))),
    }
}
