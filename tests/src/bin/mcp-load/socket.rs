//! A WebSocket in front of a [`ToolServer`], with one message per text frame.

use futures::{SinkExt as _, StreamExt as _};
use mcp_jsonrpc::wire::{Decoded, decode};
use mcp_server::ToolServer;
use mcp_transport::{Inbound, Link, pair};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Bytes, Message as Frame,
        handshake::server::{ErrorResponse, Request, Response},
    },
};

/// Serves every connection until it is dropped.
pub(crate) async fn serve(server: ToolServer, listener: TcpListener) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let server = server.clone();
        connections.spawn(async move {
            let _ = stream.set_nodelay(true);
            let Ok(socket) = accept_hdr_async(stream, agree).await else { return };
            let (near, far) = pair();
            tokio::select! {
                () = server.serve_link(far) => {}
                () = carry(socket, near) => {}
            }
        });
    }
}

#[expect(
    clippy::result_large_err,
    clippy::unnecessary_wraps,
    reason = "the signature is given by tungstenite"
)]
fn agree(request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    if let Some(wanted) = request.headers().get("sec-websocket-protocol") {
        response.headers_mut().insert("sec-websocket-protocol", wanted.clone());
    }
    Ok(response)
}

/// Forwards messages in both directions until one side closes.
async fn carry(mut socket: WebSocketStream<TcpStream>, mut link: Link) {
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            frame = socket.next() => match frame {
                Some(Ok(Frame::Text(text))) => {
                    let text = Bytes::copy_from_slice(text.as_bytes());
                    if let Ok(Decoded::One(message)) = decode(&text) {
                        let _ = link.outlet.send(message);
                    }
                }
                Some(Ok(_)) => {}
                _ => return,
            },
            more = std::future::poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)) => {
                for inbound in batch.drain(..).map(Inbound::read) {
                    let Inbound::Message(message) = inbound else { continue };
                    let mut text = Vec::new();
                    message.write(&mut text);
                    let Ok(text) = String::from_utf8(text) else { return };
                    if socket.feed(Frame::text(text)).await.is_err() {
                        return;
                    }
                }
                if socket.flush().await.is_err() || more.is_err() {
                    return;
                }
            }
        }
    }
}
