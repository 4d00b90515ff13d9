//! The WebSocket server.

#[expect(dead_code, reason = "the scripted server of the other tests, which use all of it")]
#[path = "../../it/transport/ws/server.rs"]
mod wire;

use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, tungstenite::Message as Frame};

use super::{
    BETWEEN_BYTES, die, freeze,
    http::wire::Stream,
    tls::{Doors, listen},
};
use crate::script::{Say, Script};

type Socket = WebSocketStream<Box<dyn Stream>>;

pub(crate) async fn serve(script: Script, port: u16, doors: Option<Doors>) {
    let mut streams = listen(script.clone(), port, doors).await;
    while let Some(mut stream) = streams.recv().await {
        let script = script.clone();
        tokio::spawn(async move {
            if let Some(Say::Status(status, after)) = script.upgrade() {
                let head = read_head(&mut stream).await;
                let body =
                    head.lines().find(|line| line.to_lowercase().starts_with("authorization"));
                let body = body.unwrap_or_default();
                let length = body.len();
                let after = after.map(|after| format!("retry-after: {after}\r\n"));
                let head = format!("{}content-length: {length}", after.unwrap_or_default());
                let answer = format!("HTTP/1.1 {status} No\r\n{head}\r\n\r\n{body}");
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
                return;
            }
            // The client may disconnect at any time.
            let Ok(socket) = accept_hdr_async(stream, wire::agree).await else { return };
            let _ = converse(&script, socket).await;
        });
    }
}

async fn read_head(stream: &mut Box<dyn Stream>) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { break };
        head.push(byte);
    }
    String::from_utf8_lossy(&head).into_owned()
}

async fn converse(
    script: &Script,
    mut socket: Socket,
) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    let mut held = Vec::new();
    while let Some(frame) = socket.next().await {
        let Frame::Text(text) = frame? else { continue };
        let Ok(message) = serde_json::from_str(&text) else { continue };
        for say in script.hear(&message) {
            match say {
                Say::Message(message) => {
                    socket.send(Frame::text(message.to_string())).await?;
                    for later in held.drain(..) {
                        socket.send(later).await?;
                    }
                }
                Say::Garbage(bytes) => {
                    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                        socket.send(Frame::binary(wire::bytes_of(line))).await?;
                    }
                }
                Say::Drip(message) => {
                    let text = message.to_string();
                    let mut frame = header(text.len());
                    frame.extend(text.into_bytes());
                    drip(&mut socket, frame.into_iter()).await?;
                }
                Say::EndlessDrip => {
                    let frame = header(128 << 10).into_iter().chain(std::iter::repeat(b' '));
                    drip(&mut socket, frame).await?;
                }
                Say::Silence | Say::Status(..) => {}
                Say::Hold(message) => held.push(Frame::text(message.to_string())),
                Say::HangUp => return Ok(()),
                Say::Die => die(),
                Say::Freeze => freeze(),
            }
        }
    }
    Ok(())
}

/// The header of a text frame of this length.
fn header(length: usize) -> Vec<u8> {
    match u16::try_from(length) {
        Ok(short @ ..126) => vec![0x81, short.to_be_bytes()[1]],
        Ok(middling) => [&[0x81, 126][..], &middling.to_be_bytes()].concat(),
        Err(_) => [&[0x81, 127][..], &(length as u64).to_be_bytes()].concat(),
    }
}

async fn drip(socket: &mut Socket, bytes: impl Iterator<Item = u8>) -> std::io::Result<()> {
    for byte in bytes {
        socket.get_mut().write_all(&[byte]).await?;
        socket.get_mut().flush().await?;
        tokio::time::sleep(BETWEEN_BYTES).await;
    }
    Ok(())
}
