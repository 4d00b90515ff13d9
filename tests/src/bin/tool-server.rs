//! A server built on [`ToolServer`] that echoes, waits, reports its pid, and adds a tool. With `--http` it listens on a
//! port and prints its URL.

use std::{
    io::Write as _,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_bridge::{
    CallContext, RawJson, Tool, ToolOutcome, ToolSpec,
    tool::{BoxFuture, Hints},
};
use mcp_server::{ServeOptions, ToolServer, http::HttpServeOptions};

static GROWN: AtomicUsize = AtomicUsize::new(0);
static SERVER: OnceLock<ToolServer> = OnceLock::new();

struct Scripted(ToolSpec);

impl Tool for Scripted {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            match self.0.name.as_str() {
                "pid" => ToolOutcome::text(std::process::id().to_string()),
                "wait" => {
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                    ToolOutcome::text("waited")
                }
                "grow" => {
                    GROWN.fetch_add(1, Ordering::SeqCst);
                    if let Some(server) = SERVER.get() {
                        server.tools_changed();
                    }
                    ToolOutcome::text("grown")
                }
                _ => ToolOutcome::text(arguments.as_str()),
            }
        })
    }
}

fn tools() -> Vec<Arc<dyn Tool>> {
    let grown = (0..GROWN.load(Ordering::SeqCst)).map(|n| format!("grown_{n}"));
    let names = ["echo", "pid", "wait", "grow"].map(str::to_owned).into_iter().chain(grown);
    names
        .map(|name| {
            let mut spec = ToolSpec::new(&name, format!("Does {name}."));
            spec.hints = Hints::reading();
            Arc::new(Scripted(spec)) as Arc<dyn Tool>
        })
        .collect()
}

fn main() -> std::process::ExitCode {
    // Tests of sandboxes use this program as the launcher too.
    if let Some(code) = mcp_sandbox::launcher::run() {
        return code;
    }
    match serve() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tool-server: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> std::io::Result<()> {
    let server = ToolServer::of(ServeOptions::new("tool-server", "1"), tools);
    let _ = SERVER.set(server.clone());
    if !std::env::args().any(|argument| argument == "--http") {
        return server.serve_stdio().await;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    server.http(HttpServeOptions::default()).serve(listener).await
}
