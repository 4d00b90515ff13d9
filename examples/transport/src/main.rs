//! A transport of your own: one JSON-RPC message a line over TCP.
//!
//! `Streams` makes a transport of anything that opens a byte stream: TCP here, a channel of SSH, a vsock or a pipe of
//! another program elsewhere. `serve_stream` is its other end.

use std::{error::Error, io, sync::Arc, time::Duration};

use mcp_host::{
    Bridge, BridgeOptions, CallContext, RawJson, ServerConfig,
    config::{Sdk, Transport},
    serve::{ServeOptions, ToolServer},
    servers::DefaultConnector,
    tool,
    transport::Streams,
};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = tokio::spawn(serve(listener));

    let tcp = Streams::new(move || async move { TcpStream::connect(address).await });
    let connector = DefaultConnector::new().register("far", Arc::new(tcp));
    let wait = Duration::from_secs(10);
    let options = BridgeOptions::default().with_connector(connector).with_queue_while_down(wait);
    let bridge = Bridge::new(options);
    let mut config = ServerConfig::new("far".parse()?, Transport::Sdk(Sdk::default()));
    config.trust = true;
    bridge.add_server_as_written(config);
    bridge.start().await;

    // A connection is opened anew whenever it is needed: that is all a transport has to do for reconnects.
    for _ in 0..2 {
        let outcome =
            bridge.call("mcp__far__where", RawJson::empty_object(), CallContext::default()).await;
        println!("{outcome}");
        assert_eq!(outcome.text_content(), "over TCP");
        bridge.reconnect("far")?;
    }
    bridge.shutdown().await;
    serving.abort();
    Ok(())
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    let server = ToolServer::new(ServeOptions::new("far", "1.0.0"));
    server.add_tool(
        tool("where", "Tells where it runs").read_only().run(|(), _ctx| async { Ok("over TCP") }),
    );
    loop {
        let (stream, _) = listener.accept().await?;
        let server = server.clone();
        tokio::spawn(async move { server.serve_stream(stream).await });
    }
}
