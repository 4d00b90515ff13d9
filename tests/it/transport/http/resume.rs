//! Resumption of legacy event streams that end too early.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use mcp_client::{Delivery, diagnostics::ErrorClass};
use mcp_transport::diagnostics::CloseReason;
use serde_json::json;

use super::{
    server::{Done, Exchange, Server},
    speak::{LEGACY, answer, call, connect, legacy, notification, text},
};
use crate::client::support::soon;

/// Answers a tool call in two parts: `first` on the stream of the POST, and `second` on the GET.
async fn in_two_parts<F>(
    first: &'static str,
    second: impl Fn(Exchange, serde_json::Value) -> F + Send + Sync + 'static,
) -> Server
where
    F: Future<Output = Done> + Send + 'static,
{
    let asked = Arc::new(std::sync::Mutex::new(serde_json::Value::Null));
    let second = Arc::new(second);
    Server::start(move |exchange| {
        let (asked, second) = (asked.clone(), second.clone());
        async move {
            let resumes = exchange.seen.header("last-event-id").is_some();
            match &*exchange.word() {
                "tools/call" => {
                    *asked.lock().unwrap() = exchange.id();
                    let mut events = exchange.events().await;
                    events.text(first).await;
                    if first.ends_with("cut\n\n") { events.cut() } else { events.end().await }
                }
                "GET" if resumes => {
                    let id = asked.lock().unwrap().clone();
                    second(exchange, id).await
                }
                _ => legacy(exchange).await,
            }
        }
    })
    .await
}

async fn the_rest(exchange: Exchange, id: serde_json::Value) -> Done {
    let events = exchange.events().await;
    events.end_with(&format!("id: 9\ndata: {}\n\n", answer(&id, &text("resumed")))).await
}

#[tokio::test]
async fn interrupted_stream_is_resumed_after_the_retry_delay() {
    // With or without a clean end; the first event only sets the last event id.
    for first in
        ["id: e1\nretry: 300\ndata:\n\n", "id: e0\n\nid: e1\nretry: 300\ndata:\n\n: cut\n\n"]
    {
        let server = in_two_parts(first, the_rest).await;
        let client = connect(&server).await;
        let begun = Instant::now();
        assert_eq!(call(&client, "slow").await.unwrap(), "resumed");
        assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
        let [get] = &server
            .all("GET")
            .into_iter()
            .filter(|get| get.header("last-event-id").is_some())
            .collect::<Vec<_>>()[..]
        else {
            panic!("{:?}", server.words())
        };
        assert_eq!(get.header("last-event-id"), Some("e1"));
        assert_eq!(get.header("mcp-session-id"), Some("s3cret-session"));
        assert_eq!(get.header("mcp-protocol-version"), Some(LEGACY));
        // The tool call itself is not repeated.
        assert_eq!(server.all("tools/call").len(), 1);
        assert_eq!(client.diagnostics().skipped_lines, 0);
    }
}

#[tokio::test]
async fn stream_without_event_ids_is_not_resumed() {
    for first in [": nothing\n\n", ": nothing, cut\n\n"] {
        let server = in_two_parts(first, the_rest).await;
        let client = connect(&server).await;
        let error = call(&client, "slow").await.unwrap_err();
        assert_eq!((error.delivery(), error.class()), (Delivery::Unknown, ErrorClass::Transient));
        assert_eq!(server.all("tools/call").len(), 1);
        assert_eq!(call(&client, "slow").await.unwrap_err().delivery(), Delivery::Unknown);
        assert!(!client.is_closed());
    }
}

#[tokio::test]
async fn failed_resumption_fails_only_its_own_call() {
    let server =
        in_two_parts("id: e1\nretry: 1\ndata:\n\n", |exchange, _| exchange.status(405)).await;
    let client = connect(&server).await;
    let error = call(&client, "slow").await.unwrap_err();
    assert_eq!((error.delivery(), error.class()), (Delivery::Unknown, ErrorClass::Transient));
    assert!(
        error.to_string().starts_with("the response was interrupted and could not be resumed: "),
        "{error}"
    );
    client.list_tools().await.unwrap();
}

#[tokio::test]
async fn empty_resumed_stream_is_given_up() {
    let server = in_two_parts("id: e1\nretry: 0\ndata:\n\n", |exchange, _| async {
        exchange.events().await.end_with(": nothing\n\n").await
    })
    .await;
    let client = connect(&server).await;
    let begun = Instant::now();
    let error = call(&client, "slow").await.unwrap_err();
    assert!(error.to_string().contains("5 attempts"), "{error}");
    // The client has a minimum delay, even if the server's `retry` is shorter.
    assert!(begun.elapsed() >= Duration::from_millis(500), "{:?}", begun.elapsed());
}

/// A server stream that ends is reopened after its last event; a status of 404 then ends the session.
#[tokio::test]
async fn server_stream_is_resumed_until_the_session_ends() {
    // 404 is the specified status; servers that do not know the session may send 400.
    for gone in [404, 400] {
        until_the_session_is_gone(gone).await;
    }
}

async fn until_the_session_is_gone(gone: u16) {
    let gets = Arc::new(AtomicUsize::new(0));
    let server = Server::start(move |exchange| {
        let gets = gets.clone();
        async move {
            if exchange.seen.verb != "GET" {
                return legacy(exchange).await;
            }
            match gets.fetch_add(1, Ordering::SeqCst) {
                0 => {
                    let events = exchange.events().await;
                    let changed = notification("notifications/tools/list_changed", &json!({}));
                    events.end_with(&format!("id: g1\nretry: 150\ndata: {changed}\n\n")).await
                }
                1 => exchange.answer(503, "Retry-After: 0\r\n", b"").await,
                2 => exchange.events().await.end().await,
                _ => exchange.status(gone).await,
            }
        }
    })
    .await;
    let client = connect(&server).await;
    let report = soon("the end", client.closed()).await;
    assert_eq!(report.reason, CloseReason::SessionLost);
    let ids: Vec<_> = server
        .all("GET")
        .iter()
        .map(|get| get.header("last-event-id").map(str::to_owned))
        .collect();
    assert_eq!(ids, [None, Some("g1".into()), Some("g1".into()), Some("g1".into())]);
}
