//! The servers under load: cheap but real. Each has a number, and its answers depend on it.

use std::{
    io::{self, Write as _},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use mcp_bridge::{
    CallContext, RawJson, Tool, ToolOutcome, ToolSpec,
    tool::{BoxFuture, Hints},
};
use mcp_server::{ServeOptions, ToolServer, http::HttpServeOptions};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpListener,
    sync::watch,
    task::JoinHandle,
};

use crate::{proof::Question, socket};

/// More than any client has in flight, so that the server's limit is not measured.
const MOST_CALLS: usize = 4_096;

/// The state of one server, for any transport.
struct Desk {
    number: u32,
    answered: AtomicU64,
    /// Calls that are held, and how often they have been released.
    held: AtomicU64,
    freed: watch::Sender<u64>,
    /// Whether the extra tool is listed.
    grown: AtomicBool,
}

struct DeskTool {
    spec: ToolSpec,
    desk: Arc<Desk>,
    server: std::sync::Weak<ToolServerCell>,
}

/// The server that its tools notify of changes.
#[derive(Default)]
struct ToolServerCell(std::sync::OnceLock<ToolServer>);

impl Tool for DeskTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            match self.spec.name.as_str() {
                "held" => ToolOutcome::text(self.desk.held.load(Ordering::SeqCst).to_string()),
                "answered" => {
                    ToolOutcome::text(self.desk.answered.load(Ordering::SeqCst).to_string())
                }
                "free" => {
                    self.desk.freed.send_modify(|times| *times += 1);
                    ToolOutcome::text("free")
                }
                "change" => {
                    self.desk.grown.fetch_xor(true, Ordering::SeqCst);
                    let server = self.server.upgrade();
                    if let Some(server) = server.as_ref().and_then(|cell| cell.0.get()) {
                        server.tools_changed();
                    }
                    ToolOutcome::text("changed")
                }
                "pid" => ToolOutcome::text(std::process::id().to_string()),
                name => {
                    if name == "hold" {
                        self.hold().await;
                    }
                    let Some(question) = Question::read(&arguments) else {
                        return ToolOutcome::error("no question");
                    };
                    self.desk.answered.fetch_add(1, Ordering::SeqCst);
                    ToolOutcome::text(question.answer(self.desk.number))
                }
            }
        })
    }
}

impl DeskTool {
    async fn hold(&self) {
        let mut freed = self.desk.freed.subscribe();
        let times = *freed.borrow_and_update();
        self.desk.held.fetch_add(1, Ordering::SeqCst);
        // The desk owns the sender, so this ends when calls are released or the desk is dropped.
        let _ = freed.wait_for(|now| *now > times).await;
        self.desk.held.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Builds server `number`.
pub(crate) fn server(number: u32) -> ToolServer {
    let desk = Arc::new(Desk {
        number,
        answered: AtomicU64::new(0),
        held: AtomicU64::new(0),
        freed: watch::Sender::new(0),
        grown: AtomicBool::new(false),
    });
    let cell = Arc::new(ToolServerCell::default());
    let known = cell.clone();
    let mut options = ServeOptions::new("load", "1");
    options.max_calls = MOST_CALLS;
    let server = ToolServer::of(options, move || {
        let more = desk.grown.load(Ordering::SeqCst).then_some("more");
        let names = ["mix", "hold", "held", "free", "answered", "change", "pid"];
        let tool = |name: &str| {
            let mut spec = ToolSpec::new(name, format!("Does {name}."));
            spec.hints = Hints::reading();
            let server = Arc::downgrade(&known);
            Arc::new(DeskTool { spec, desk: desk.clone(), server }) as Arc<dyn Tool>
        };
        names.into_iter().chain(more).map(tool).collect()
    });
    // A server that references itself is never freed; there is one of each for the life of the process.
    let _ = cell.0.set(server.clone());
    server
}

/// Serves server `number` over stdin and stdout.
pub(crate) fn stdio(number: u32) -> io::Result<()> {
    runtime()?.block_on(async { server(number).serve_stdio().await })
}

/// The transport of servers on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Net {
    Http,
    Ws,
}

/// Runs `count` servers on loopback ports and prints their URLs. A line `restart 3` on stdin makes the fourth drop
/// all connections and sessions. Ends when stdin closes.
pub(crate) fn net(net: Net, first: u32, count: u32) -> io::Result<()> {
    runtime()?.block_on(async {
        let mut running = Vec::new();
        for number in first..first + count {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let listener = listener.into_std()?;
            announce(&listener.local_addr()?.to_string())?;
            let server = server(number);
            let task = accept(net, &server, &listener)?;
            running.push((listener, server, task));
        }
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Some(line) = lines.next_line().await? {
            let at = line.strip_prefix("restart ").and_then(|at| at.parse::<usize>().ok());
            if let Some((listener, server, task)) = at.and_then(|at| running.get_mut(at)) {
                task.abort();
                *task = accept(net, server, listener)?;
            }
        }
        Ok(())
    })
}

/// Serves every connection until aborted. The listener stays open, so that connections are not refused.
fn accept(
    net: Net,
    server: &ToolServer,
    listener: &std::net::TcpListener,
) -> io::Result<JoinHandle<()>> {
    let listener = TcpListener::from_std(listener.try_clone()?)?;
    let server = server.clone();
    Ok(tokio::spawn(async move {
        match net {
            Net::Http => {
                let mut options = HttpServeOptions::default();
                options.max_connections = MOST_CALLS;
                options.max_connections_per_peer = MOST_CALLS;
                let _ = server.http(options).serve(listener).await;
            }
            Net::Ws => socket::serve(server, listener).await,
        }
    }))
}

fn announce(address: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{address}")?;
    output.flush()
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
