//! A transport of your own: one JSON-RPC message a line over TCP, and over the pipes of a process.
//!
//! `Streams` makes a transport of anything that opens a byte stream: TCP here, a channel of SSH, a vsock or a pipe of
//! another program elsewhere. `serve_stream` is its other end.

use std::{env, error::Error, io, process::Stdio, sync::Arc, time::Duration};

use mcp_host::{
    Bridge, BridgeOptions, CallContext, RawJson, ServerConfig,
    config::{Sdk, Transport},
    serve::{ServeOptions, ToolServer},
    servers::DefaultConnector,
    tool,
    transport::Streams,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    process::Command,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("serve") {
        return Ok(server("over pipes").serve_stdio().await?);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = tokio::spawn(serve(listener));

    let tcp = Streams::new(move || async move { TcpStream::connect(address).await });
    let connector = DefaultConnector::new()
        .register("far", Arc::new(tcp))
        .register("near", Arc::new(Streams::new(|| async { start() })));
    let wait = Duration::from_secs(10);
    let options = BridgeOptions::default().with_connector(connector).with_queue_while_down(wait);
    let bridge = Bridge::new(options);
    for name in ["far", "near"] {
        let config = ServerConfig::new(name.parse()?, Transport::Sdk(Sdk::default()));
        bridge.add_server_as_written(config.with_trust(true));
    }
    bridge.start().await;

    // A connection is opened anew whenever it is needed: that is all a transport has to do for reconnects.
    for _ in 0..2 {
        for (name, expected) in [("far", "over TCP"), ("near", "over pipes")] {
            let tool = format!("mcp__{name}__where");
            let outcome = bridge.call(&tool, RawJson::empty_object(), CallContext::default()).await;
            println!("{name}: {outcome}");
            assert_eq!(outcome.text_content(), expected);
            bridge.reconnect(name)?;
        }
    }
    bridge.shutdown().await;
    serving.abort();
    Ok(())
}

/// The pipes of a process, as another library might start it. The process is this program with the argument `serve`.
fn start() -> io::Result<impl AsyncRead + AsyncWrite> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("serve").kill_on_drop(true);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let pipes = child.stdout.take().zip(child.stdin.take());
    let (stdout, stdin) = pipes.ok_or_else(|| io::Error::other("the process has no pipes"))?;
    // Holds the process until it ends, which it does after its input.
    tokio::spawn(async move { child.wait().await });
    Ok(tokio::io::join(stdout, stdin))
}

fn server(place: &'static str) -> ToolServer {
    let server = ToolServer::new(ServeOptions::new("where", "1.0.0"));
    server.add_tool(
        tool("where", "Tells where it runs")
            .read_only()
            .run(move |(), _ctx| async move { Ok(place) }),
    );
    server
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    let server = server("over TCP");
    loop {
        let (stream, _) = listener.accept().await?;
        let server = server.clone();
        tokio::spawn(async move { server.serve_stream(stream).await });
    }
}
