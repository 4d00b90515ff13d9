//! A host that makes requests with reqwest, with its defaults.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let bridge = mcp_host::Bridge::new(mcp_host::BridgeOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 1024]).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine").expect("a response");
    });
    let response =
        reqwest::Client::new().get(format!("http://{address}/")).send().await.expect("a response");
    assert_eq!(response.text().await.expect("its text"), "fine");
    server.join().expect("the server ended");
    bridge.shutdown().await;
}
