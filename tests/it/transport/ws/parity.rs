//! The parity server behind a WebSocket.

use futures::{SinkExt as _, StreamExt as _};
use mcp_jsonrpc::wire::{Decoded, decode};
use mcp_transport::{
    WsOptions,
    testing::parity::{Action, Server},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::TcpSocket,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{Error, Message as Frame},
};

use super::{
    server::{agree, bytes_of, text_of},
    tls::{Authority, acceptor},
};

const BUFFER: u32 = 64 << 10;

/// Options for a parity server that serves a single connection. Socket buffers are small on both sides: bytes in them
/// count as sent, so they must not hold everything a scenario sends.
pub(crate) async fn parity_server(is_secure: bool) -> WsOptions {
    let authority = is_secure.then(Authority::new);
    let acceptor = authority.as_ref().map(|authority| acceptor(authority, None));
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(BUFFER).expect("a buffer");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let listener = socket.listen(64).expect("a listener");
    let scheme = if is_secure { "wss" } else { "ws" };
    let url = format!("{scheme}://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                match acceptor {
                    None => serve(stream).await,
                    Some(acceptor) => {
                        // The client may abandon an attempt at any point.
                        let Ok(stream) = acceptor.accept(stream).await else { return };
                        serve(stream).await;
                    }
                }
            });
        }
    });
    let mut options = WsOptions::new(url);
    options.send_buffer = Some(BUFFER);
    options.tls.extra_roots.extend(authority.map(|authority| authority.pem.into_bytes()));
    options
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(stream: S) {
    let Ok(mut socket) = accept_hdr_async(stream, agree).await else { return };
    let mut server = Server::default();
    // An error means that the host disconnected.
    while let Some(Ok(frame)) = socket.next().await {
        if !matches!(frame, Frame::Text(_) | Frame::Binary(_)) {
            continue;
        }
        let Ok(Decoded::One(message)) = decode(&frame.into_data()) else { continue };
        for action in server.receive(message) {
            match action {
                Action::Die => return die(socket).await,
                Action::StopReading => std::future::pending().await,
                action => {
                    if perform(action, &mut socket).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Ends without a close frame, like a killed process; data already written still arrives. The socket stays open for
/// reading, because closing it with unread bytes would discard the written ones.
async fn die<S: AsyncRead + AsyncWrite + Unpin>(mut socket: WebSocketStream<S>) {
    let _ = socket.get_mut().shutdown().await;
    std::future::pending::<()>().await;
}

async fn perform<S: AsyncRead + AsyncWrite + Unpin>(
    action: Action,
    socket: &mut WebSocketStream<S>,
) -> Result<(), Error> {
    match action {
        Action::Send(message) => socket.send(text_of(&message)).await,
        Action::SendTogether(messages) => {
            let mut text = b"[".to_vec();
            for message in &messages {
                if text.len() > 1 {
                    text.push(b',');
                }
                message.write(&mut text);
            }
            text.push(b']');
            socket.send(Frame::text(String::from_utf8(text).expect("text"))).await
        }
        Action::Flood { count, bytes } => {
            for n in 0..count {
                socket.feed(text_of(&Server::tick(n, bytes))).await?;
            }
            socket.flush().await
        }
        Action::Stray(bytes) => {
            for line in bytes.split(|byte| *byte == b'\n') {
                let frame = match std::str::from_utf8(line) {
                    Ok(text) => Frame::text(text),
                    Err(_) => Frame::Binary(bytes_of(line)),
                };
                socket.send(frame).await?;
            }
            Ok(())
        }
        Action::CloseOutput => Ok(socket.get_mut().shutdown().await?),
        _ => Ok(()),
    }
}
