//! WebSocket frames sent by servers.

use futures::{SinkExt as _, StreamExt as _};
use mcp_jsonrpc::{Failure, Message, RawJson, Response};
use mcp_transport::{Inbound, WsOptions, diagnostics::CloseReason};
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::{
    Message as Frame,
    handshake::derive_accept_key,
    protocol::frame::{
        Frame as RawFrame,
        coding::{Data, OpCode},
    },
};

use super::{
    end, hello, open, receive, receive_all, request,
    server::{bytes_of, head, header, listen, serving},
    soon,
};

/// One fragment of a message.
fn piece(kind: Data, is_final: bool, bytes: &[u8]) -> Frame {
    Frame::Frame(RawFrame::message(bytes_of(bytes), OpCode::Data(kind), is_final))
}

/// A server that sends these frames and then waits for the client to close.
async fn sending(frames: Vec<Frame>) -> String {
    serving(move |mut socket| {
        let frames = frames.clone();
        Box::pin(async move {
            for frame in frames {
                socket.send(frame).await.expect("it is sent");
            }
            while let Some(Ok(_)) = socket.next().await {}
        })
    })
    .await
}

fn notification(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

#[tokio::test]
async fn binary_frame_with_a_message_is_accepted_and_others_are_counted() {
    let url = sending(vec![
        Frame::Binary(bytes_of(notification("binary").as_bytes())),
        Frame::Binary(bytes_of(b"\x00\xff\x00")),
        Frame::text("hello?"),
        Frame::text(" \n"),
        Frame::text(notification("text")),
    ])
    .await;
    let mut link = open(WsOptions::new(url)).await;
    assert_eq!(receive_all(&mut link, 2).await, [hello("binary"), hello("text")]);
    let diagnostics = link.outlet.diagnostics();
    assert_eq!((diagnostics.skipped_lines, diagnostics.skipped_bytes), (2, 9));
    assert_eq!(diagnostics.first_skipped.as_deref(), Some("\0\u{fffd}\0"));
}

#[tokio::test]
async fn fragmented_message_with_a_ping_in_between_is_reassembled() {
    let text = notification("joined");
    let (first, rest) = text.split_at(5);
    let url = sending(vec![
        piece(Data::Text, false, first.as_bytes()),
        Frame::Ping(bytes_of(b"there?")),
        piece(Data::Continue, false, b""),
        piece(Data::Continue, true, rest.as_bytes()),
    ])
    .await;
    let mut link = open(WsOptions::new(url)).await;
    assert_eq!(receive_all(&mut link, 1).await, [hello("joined")]);
}

#[tokio::test]
async fn oversized_websocket_message_fails_only_its_own_call() {
    let filler = "x".repeat(10_000);
    let answer = |id: i64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{filler}"}}"#);
    let (whole, pieces) = (answer(1), answer(2));
    let (first, rest) = pieces.split_at(800);
    let url = sending(vec![
        Frame::text(whole.clone()),
        piece(Data::Text, false, first.as_bytes()),
        Frame::Ping(bytes_of(b"")),
        piece(Data::Continue, true, rest.as_bytes()),
        Frame::text(r#"{"jsonrpc":"2.0","id":3,"result":3}"#),
    ])
    .await;
    let mut options = WsOptions::new(url);
    options.max_message = 1000;
    let mut link = open(options).await;
    let lost = |id: i64| {
        let failure = Failure::TooLarge { size: whole.len(), limit: 1000 };
        Inbound::Lost { id: id.into(), failure }
    };
    let three = RawJson::parse("3".to_owned()).expect("JSON");
    let three = Response { id: Some(3.into()), outcome: Ok(three) };
    let expected = [lost(1), lost(2), Inbound::Message(Message::Response(three))];
    assert_eq!(receive_all(&mut link, 3).await, expected);
    assert_eq!(link.outlet.diagnostics().too_large, 2);
}

#[tokio::test]
async fn ping_of_the_server_is_answered() {
    let url = serving(|mut socket| {
        Box::pin(async move {
            socket.send(Frame::Ping(bytes_of(b"42"))).await.expect("it is sent");
            let pong = socket.next().await.expect("a frame").expect("a valid one");
            assert_eq!(pong, Frame::Pong(bytes_of(b"42")));
            socket.send(Frame::text(notification("pong"))).await.expect("it is sent");
            while let Some(Ok(_)) = socket.next().await {}
        })
    })
    .await;
    let mut link = open(WsOptions::new(url)).await;
    assert_eq!(receive_all(&mut link, 1).await, [hello("pong")]);
}

#[tokio::test]
async fn frames_after_the_upgrade_are_read_and_protocol_errors_end_the_link() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let head = head(&mut stream).await;
        let accept =
            derive_accept_key(header(&head, "sec-websocket-key").expect("a key").as_bytes());
        let text = notification("early");
        let mut answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n\
             Connection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        )
        .into_bytes();
        answer.extend([0x81, u8::try_from(text.len()).expect("short")]);
        answer.extend(text.as_bytes());
        // A continuation frame without a first fragment.
        answer.extend([0x80, 0]);
        stream.write_all(&answer).await.expect("it is sent");
        // The reply: a masked close frame with status 1002, https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1
        let mut goodbye = [0; 8];
        tokio::io::AsyncReadExt::read_exact(&mut stream, &mut goodbye).await.expect("a frame");
        let code = [goodbye[6] ^ goodbye[2], goodbye[7] ^ goodbye[3]];
        assert_eq!((goodbye[0], goodbye[1], u16::from_be_bytes(code)), (0x88, 0x82, 1002));
    });
    let mut link = open(WsOptions::new(url)).await;
    assert_eq!(receive(&mut link).await.expect("a message"), [hello("early")]);
    let (_, report) = end(&mut link).await;
    assert_eq!(
        report.to_string(),
        "the connection failed: the server violated the WebSocket protocol: a continuation frame without a message"
    );
    assert!(matches!(report.reason, CloseReason::Failed { .. }));
    soon(server).await.expect("the server is content");
}

#[tokio::test]
async fn large_messages_are_sent_completely() {
    let url = serving(|mut socket| {
        Box::pin(async move {
            while let Some(Ok(frame)) = socket.next().await {
                if frame.is_text() {
                    let size = frame.len();
                    socket
                        .send(Frame::text(notification(&size.to_string())))
                        .await
                        .expect("it is sent");
                }
            }
        })
    })
    .await;
    let mut link = open(WsOptions::new(url)).await;
    for size in [100, 125, 126, 70_000, 3 << 20] {
        let params = format!(r#"{{"x":"{}"}}"#, "y".repeat(size));
        let params = RawJson::parse(params).expect("JSON");
        let message = Message::Notification(mcp_jsonrpc::Notification::new("big", Some(params)));
        let mut text = Vec::new();
        message.write(&mut text);
        link.outlet.send(message).expect("room");
        let arrived = receive_all(&mut link, 1).await;
        let Inbound::Message(Message::Notification(notification)) = &arrived[0] else {
            panic!("{arrived:?}")
        };
        assert_eq!(notification.method, text.len().to_string());
    }
    request(&link, 1);
}
