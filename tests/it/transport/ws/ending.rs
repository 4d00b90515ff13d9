//! How a WebSocket link ends, and how the end is detected.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use mcp_transport::{ErrorClass, WsOptions, diagnostics::CloseReason};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{
    Message as Frame,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use super::{
    end, hello, open, receive_all, request,
    server::{accept, bytes_of, listen, serving},
    soon,
};

#[tokio::test]
async fn close_codes_are_reported_and_answered() {
    for (code, class, text) in [
        (1000, ErrorClass::Transient, "the server ended the connection"),
        (1001, ErrorClass::Transient, "the server ended the connection"),
        (
            1008,
            ErrorClass::Permanent,
            "the server refused: policy violation (close code 1008): because",
        ),
        (
            1009,
            ErrorClass::Transient,
            "the connection failed: message too large for the server (close code 1009): because",
        ),
        (
            1013,
            ErrorClass::Transient,
            "the connection failed: the server is overloaded (close code 1013): because",
        ),
        (
            3000,
            ErrorClass::Auth,
            "the server refused: other credentials required (close code 3000): because",
        ),
    ] {
        let (told, mut answers) = mpsc::unbounded_channel();
        let url = serving(move |mut socket| {
            let told = told.clone();
            Box::pin(async move {
                let hello = r#"{"jsonrpc":"2.0","method":"last words"}"#;
                socket.send(Frame::text(hello)).await.expect("it is sent");
                let frame = CloseFrame { code: code.into(), reason: "because".into() };
                socket.close(Some(frame)).await.expect("it is sent");
                while let Some(Ok(frame)) = socket.next().await {
                    told.send(frame).expect("the test lives");
                }
            })
        })
        .await;
        let mut link = open(WsOptions::new(url)).await;
        let (before, report) = end(&mut link).await;
        assert_eq!(before, [hello("last words")]);
        assert_eq!(report.to_string(), text);
        assert_eq!(report.reason.class(), class, "{code}");
        assert_eq!(report.diagnostics.close_code, Some(code));
        let answer = soon(answers.recv()).await.expect("an answer");
        let Frame::Close(Some(answer)) = answer else { panic!("{answer:?}") };
        assert_eq!(answer.code, CloseCode::from(code));
    }
}

#[tokio::test]
async fn server_without_pongs_is_given_up() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let held = accept(stream).await;
        // The TCP connection stays open, but nothing answers.
        std::future::pending::<()>().await;
        drop(held);
    });
    let mut options = WsOptions::new(url);
    options.ping_interval = Some(Duration::from_millis(10));
    options.pong_deadline = Duration::from_millis(40);
    let mut link = open(options).await;
    let (_, report) = end(&mut link).await;
    assert_eq!(
        report.to_string(),
        "the connection failed: the server did not answer a ping within 40ms"
    );
    assert_eq!(report.reason.class(), ErrorClass::Transient);
}

#[tokio::test]
async fn server_with_pongs_is_kept() {
    let url = serving(|mut socket| {
        Box::pin(async move {
            let mut pings = 0;
            while let Some(Ok(frame)) = socket.next().await {
                pings += usize::from(frame.is_ping());
                if pings == 3 {
                    let text = r#"{"jsonrpc":"2.0","method":"three"}"#;
                    socket.send(Frame::text(text)).await.expect("it is sent");
                }
            }
        })
    })
    .await;
    let mut options = WsOptions::new(url);
    options.ping_interval = Some(Duration::from_millis(10));
    let mut link = open(options).await;
    assert_eq!(receive_all(&mut link, 1).await, [hello("three")]);
}

#[tokio::test]
async fn close_frame_follows_all_sent_messages() {
    let (told, mut heard) = mpsc::unbounded_channel();
    let url = serving(move |mut socket| {
        let told = told.clone();
        Box::pin(async move {
            while let Some(Ok(frame)) = socket.next().await {
                told.send(frame).expect("the test lives");
            }
        })
    })
    .await;
    let mut link = open(WsOptions::new(url)).await;
    let tickets: Vec<u64> = (1..=50).map(|id| request(&link, id)).collect();
    link.outlet.close();
    let (_, report) = end(&mut link).await;
    assert_eq!(report.reason, CloseReason::Requested);
    assert_eq!(report.diagnostics.close_code, Some(1000));
    assert!(report.flushed >= tickets[49]);
    for _ in 0..50 {
        assert!(soon(heard.recv()).await.expect("a frame").is_text());
    }
    let last = soon(heard.recv()).await.expect("a frame");
    assert!(matches!(last, Frame::Close(Some(CloseFrame { code: CloseCode::Normal, .. }))));
}

#[tokio::test]
async fn close_does_not_wait_for_a_missing_close_frame() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let held = accept(stream).await;
        std::future::pending::<()>().await;
        drop(held);
    });
    let mut options = WsOptions::new(url);
    options.close_timeout = Duration::from_millis(20);
    let mut link = open(options).await;
    let ticket = request(&link, 1);
    link.outlet.close();
    let (_, report) = end(&mut link).await;
    assert_eq!(report.reason, CloseReason::Requested);
    assert!(report.flushed >= ticket, "it was flushed");
}

#[tokio::test]
async fn dropped_inlet_closes_the_websocket() {
    let (told, mut heard) = mpsc::unbounded_channel();
    let url = serving(move |mut socket| {
        let told = told.clone();
        Box::pin(async move {
            let _ = socket.send(Frame::Ping(bytes_of(b""))).await;
            while let Some(Ok(_)) = socket.next().await {}
            told.send(()).expect("the test lives");
        })
    })
    .await;
    let link = open(WsOptions::new(url)).await;
    let outlet = link.outlet.clone();
    drop(link.inlet);
    soon(heard.recv()).await.expect("the server notices");
    // Senders must not wait for room that will never be available.
    soon(std::future::poll_fn(|cx| outlet.poll_ready(cx))).await;
}
