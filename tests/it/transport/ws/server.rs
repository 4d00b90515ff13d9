//! Helpers for the WebSocket servers of these tests.

use std::sync::Arc;

use futures::{SinkExt as _, StreamExt as _, future::BoxFuture};
use mcp_jsonrpc::wire::{Decoded, decode};
use mcp_transport::{Connect as _, Inbound, Stdio, StdioOptions};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message as Frame,
        handshake::server::{Request, Response},
    },
};

pub(super) type Socket = WebSocketStream<TcpStream>;

pub(super) async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("ws://{}/mcp", listener.local_addr().expect("an address"));
    (listener, url)
}

/// Accepts the subprotocol.
#[expect(
    clippy::result_large_err,
    clippy::unnecessary_wraps,
    reason = "the signature is given by tungstenite"
)]
pub(super) fn agree(
    request: &Request,
    mut response: Response,
) -> Result<Response, tokio_tungstenite::tungstenite::handshake::server::ErrorResponse> {
    if let Some(wanted) = request.headers().get("sec-websocket-protocol") {
        response.headers_mut().insert("sec-websocket-protocol", wanted.clone());
    }
    Ok(response)
}

pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(stream: S) -> WebSocketStream<S> {
    accept_hdr_async(stream, agree).await.expect("an upgrade")
}

/// A server that runs this for every connection. Returns its URL.
pub(super) async fn serving(
    serve: impl Fn(Socket) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> String {
    let (listener, url) = listen().await;
    let serve = Arc::new(serve);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let serve = serve.clone();
            tokio::spawn(async move { serve(accept(stream).await).await });
        }
    });
    url
}

/// A server that reads the head of the `n`th connection, answers with these bytes, and closes.
pub(super) async fn answering(
    answer: impl Fn(usize, &str) -> String + Send + Sync + 'static,
) -> String {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let mut count = 0;
        while let Ok((mut stream, _)) = listener.accept().await {
            let head = head(&mut stream).await;
            // The client may have given up.
            let _ = stream.write_all(answer(count, &head).as_bytes()).await;
            let _ = stream.shutdown().await;
            count += 1;
        }
    });
    url
}

/// Reads the head of a request as text.
pub(super) async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a request"));
    }
    String::from_utf8(head).expect("text")
}

/// The value of a header.
pub(super) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// A WebSocket server in front of a stdio server, with a new process for each connection.
pub(crate) async fn bridge(program: StdioOptions) -> String {
    serving(move |mut socket| {
        let stdio = Stdio::new(program.clone());
        Box::pin(async move {
            let mut link = stdio.connect().await.expect("the program");
            loop {
                let mut batch = Vec::new();
                tokio::select! {
                    frame = socket.next() => match frame {
                        Some(Ok(Frame::Text(text))) => {
                            let text = bytes_of(text.as_bytes());
                            if let Ok(Decoded::One(message)) = decode(&text) {
                                let _ = link.outlet.send(message);
                            }
                        }
                        Some(Ok(_)) => {}
                        _ => return,
                    },
                    more = std::future::poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)) => {
                        for inbound in batch.into_iter().map(Inbound::read) {
                            let Inbound::Message(message) = inbound else { continue };
                            if socket.send(text_of(&message)).await.is_err() {
                                return;
                            }
                        }
                        if more.is_err() {
                            return;
                        }
                    }
                }
            }
        })
    })
    .await
}

pub(super) fn bytes_of(bytes: &[u8]) -> tokio_tungstenite::tungstenite::Bytes {
    tokio_tungstenite::tungstenite::Bytes::copy_from_slice(bytes)
}

/// A message as a text frame.
pub(super) fn text_of(message: &mcp_jsonrpc::Message) -> Frame {
    let mut text = Vec::new();
    message.write(&mut text);
    Frame::text(String::from_utf8(text).expect("text"))
}
