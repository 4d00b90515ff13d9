//! The server under test in the official server scenarios, built on `ToolServer` alone.
//!
//! `mcp-conformance-server` listens on a free loopback port, prints the URL of its endpoint on one line, and serves
//! until stdin closes. With `--stdio` it serves stdin and stdout instead.

use std::{env, io};

use mcp_server::http::HttpServeOptions;
use mcp_tests::served;
use tokio::{io::AsyncReadExt as _, net::TcpListener};

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let server = served::everything();
    if env::args().any(|argument| argument == "--stdio") {
        return server.serve_stdio().await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(&format!("http://{}/mcp", listener.local_addr()?))?;
    let http = server.http(HttpServeOptions::default());
    let serving = tokio::spawn(async move { http.serve(listener).await });
    // The parent holds our stdin; exit when it is closed.
    let mut input = tokio::io::stdin();
    let mut nothing = [0_u8; 64];
    while input.read(&mut nothing).await? > 0 {}
    serving.abort();
    Ok(())
}

fn announce(url: &str) -> io::Result<()> {
    use io::Write as _;
    let mut output = io::stdout().lock();
    writeln!(output, "{url}")?;
    output.flush()
}
