//! The legacy era: sessions, and the server's own event stream.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use mcp_client::{
    CallError, ClientOptions, Delivery, ServerEvent, diagnostics::ErrorClass, rpc::Failure,
    types::Era,
};
use mcp_transport::diagnostics::CloseReason;
use serde_json::json;

use super::{
    server::Server,
    speak::{
        LEGACY, answer, call, connect, connect_with, initialized, legacy, notification, text, to,
    },
};
use crate::client::support::{Host, soon};

/// Gives an unexpected request time to arrive.
async fn settled() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn session_id_is_sent_with_every_request_and_deleted_on_close() {
    let server = Server::start(legacy).await;
    let client = connect(&server).await;
    assert_eq!((client.era(), client.server().version.as_str()), (Era::Legacy, LEGACY));
    client.list_tools().await.unwrap();
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    // Servers need not offer a stream.
    server.sees("GET", 1).await;
    client.ping().await.unwrap();
    let report = client.close().await;
    assert_eq!(report.reason, CloseReason::Requested);
    let words = server.words();
    assert_eq!(words[..3], ["server/discover", "initialize", "notifications/initialized"]);
    assert_eq!(words.last().unwrap(), "DELETE");
    for seen in server.seen().into_iter().skip(2) {
        let word = seen.word();
        assert_eq!(seen.header("mcp-session-id"), Some("s3cret-session"), "{word}");
        assert_eq!(seen.header("mcp-protocol-version"), Some(LEGACY), "{word}");
        let accept = if seen.verb == "GET" {
            "text/event-stream"
        } else {
            "application/json, text/event-stream"
        };
        assert!(seen.verb == "DELETE" || seen.header("accept") == Some(accept), "{word}");
        assert_eq!(seen.header("mcp-method"), None, "{word}");
    }
    assert_eq!(server.all("GET").len(), 1);
}

#[tokio::test]
async fn negotiated_version_is_sent_and_a_session_is_optional() {
    let server = Server::start(|exchange| async move {
        match &*exchange.word() {
            "initialize" => exchange.result(initialized("2025-03-26")).await,
            _ => legacy(exchange).await,
        }
    })
    .await;
    let client = connect(&server).await;
    call(&client, "echo").await.unwrap();
    client.close().await;
    let seen = server.only("tools/call");
    assert_eq!(seen.header("mcp-protocol-version"), Some("2025-03-26"));
    assert_eq!(seen.header("mcp-session-id"), None);
    assert!(server.all("DELETE").is_empty());
}

#[tokio::test]
async fn requests_do_not_overtake_the_initialized_notification() {
    let ready = Arc::new(AtomicBool::new(false));
    let server = Server::start(move |exchange| {
        let ready = ready.clone();
        async move {
            match &*exchange.word() {
                "notifications/initialized" => {
                    settled().await;
                    ready.store(true, Ordering::SeqCst);
                }
                "tools/call" if !ready.load(Ordering::SeqCst) => return exchange.status(400).await,
                _ => {}
            }
            legacy(exchange).await
        }
    })
    .await;
    let client = connect(&server).await;
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

/// Responses that servers may send to a notification.
#[tokio::test]
async fn endless_acknowledgement_does_not_block_requests() {
    for head in [
        "HTTP/1.1 202 Accepted\r\ncontent-length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n{",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n",
        "HTTP/1.1 500 Oops\r\ncontent-length: 5\r\n\r\n",
    ] {
        let server = Server::start(move |exchange| async move {
            match &*exchange.word() {
                "notifications/initialized" => exchange.stall(head.as_bytes()).await,
                _ => legacy(exchange).await,
            }
        })
        .await;
        let client = connect(&server).await;
        let begun = Instant::now();
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
        assert!(begun.elapsed() < Duration::from_secs(5), "{head}");
        client.close().await;
    }
}

/// A server whose stream sends `says` and then waits for the client to disconnect.
async fn with_stream(says: &'static str) -> Server {
    Server::start(move |exchange| async move {
        if exchange.seen.verb != "GET" {
            return legacy(exchange).await;
        }
        let mut events = exchange.events().await;
        events.text(says).await;
        events.gone().await
    })
    .await
}

#[tokio::test]
async fn stream_notifications_arrive_in_order() {
    let changed =
        |what: &str| notification(&format!("notifications/{what}/list_changed"), &json!({}));
    let says = ["tools", "prompts", "resources", "tools"]
        .map(|what| format!("data: {}\n\n", changed(what)));
    let server = with_stream(says.concat().leak()).await;
    let (host, mut diary) = Host::new();
    let client = connect_with(to(&server), host.options()).await;
    for expected in [
        ServerEvent::ToolsChanged,
        ServerEvent::PromptsChanged,
        ServerEvent::ResourcesChanged,
        ServerEvent::ToolsChanged,
    ] {
        diary
            .hears("an event", |event| {
                assert_eq!(*event, expected);
                true
            })
            .await;
    }
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn request_on_the_stream_is_answered_by_a_post() {
    let server =
        with_stream("data: {\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"method\":\"roots/list\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n").await;
    let (host, mut diary) = Host::new();
    let client = connect_with(to(&server), host.options()).await;
    diary.is_asked("roots").await;
    server.sees("answer", 2).await;
    let mut answers: Vec<_> =
        server.all("answer").iter().map(|seen| seen.message().to_string()).collect();
    answers.sort();
    assert_eq!(
        answers,
        [
            r#"{"id":"q1","jsonrpc":"2.0","result":{"roots":[]}}"#,
            r#"{"id":7,"jsonrpc":"2.0","result":{}}"#
        ]
    );
    let seen = &server.all("answer")[0];
    assert_eq!(
        (seen.verb.as_str(), seen.header("mcp-session-id")),
        ("POST", Some("s3cret-session"))
    );
    assert_eq!(seen.header("mcp-protocol-version"), Some(LEGACY));
    client.close().await;
}

#[tokio::test]
async fn request_within_a_response_stream_is_answered() {
    let answered = Arc::new(tokio::sync::Notify::new());
    let server = Server::start(move |exchange| {
        let answered = answered.clone();
        async move {
            match &*exchange.word() {
                "tools/call" => {
                    let id = exchange.id();
                    let mut events = exchange.events().await;
                    events
                        .message(&json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" }))
                        .await;
                    answered.notified().await;
                    events.end_with(&format!("data: {}\n\n", answer(&id, &text("thanks")))).await
                }
                "answer" => {
                    answered.notify_one();
                    legacy(exchange).await
                }
                _ => legacy(exchange).await,
            }
        }
    })
    .await;
    let (host, _diary) = Host::new();
    let client = connect_with(to(&server), host.options()).await;
    assert_eq!(call(&client, "ask").await.unwrap(), "thanks");
}

#[tokio::test]
async fn dropped_call_sends_a_cancellation() {
    let server = Server::start(|exchange| async move {
        match exchange.params()["name"].as_str() {
            Some("never") => exchange.events().await.gone().await,
            _ => legacy(exchange).await,
        }
    })
    .await;
    let client = connect(&server).await;
    let given_up = tokio::select! {
        _ = async { client.call_tool("never", &()).await } => false,
        _ = server.sees("tools/call", 1) => true,
    };
    assert!(given_up);
    let cancelled = server.sees("notifications/cancelled", 1).await;
    let id = server.only("tools/call").message()["id"].clone();
    assert_eq!(cancelled.message()["params"]["requestId"], id);
    assert_eq!(cancelled.header("mcp-session-id"), Some("s3cret-session"));
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn lost_session_ends_the_link_with_its_own_reason() {
    let server = Server::start(|exchange| async move {
        match exchange.params()["name"].as_str() {
            Some("never") => exchange.events().await.gone().await,
            Some("forget") => {
                exchange.error(404, json!({ "code": -32001, "message": "no session" })).await
            }
            _ => legacy(exchange).await,
        }
    })
    .await;
    let client = connect(&server).await;
    let (waiting, forgotten) = tokio::join!(call(&client, "never"), async {
        server.sees("tools/call", 1).await;
        call(&client, "forget").await
    });
    let forgotten = forgotten.unwrap_err();
    assert_eq!((forgotten.delivery(), forgotten.class()), (Delivery::NotSent, ErrorClass::Session));
    assert_eq!(forgotten.to_string(), "the session no longer exists on the server");
    let waiting = waiting.unwrap_err();
    assert!(matches!(waiting, CallError::Failed { failure: Failure::Closed(_), .. }), "{waiting}");
    assert_eq!(waiting.class(), ErrorClass::Session);
    let report = soon("the end", client.closed()).await;
    assert_eq!(report.reason, CloseReason::SessionLost);
    // There is no session left to delete.
    settled().await;
    assert!(server.all("DELETE").is_empty());
    // Connecting again begins a new session.
    assert_eq!(call(&connect(&server).await, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn status_400_for_a_missing_session_ends_the_link() {
    let server = Server::start(|exchange| async move {
        let words = match exchange.params()["name"].as_str() {
            // The response of `server-everything` 2026.8.31 after a restart.
            Some("forget") => "Bad Request: No valid session ID provided",
            Some("wrong") => "Bad Request: no such argument",
            _ => return legacy(exchange).await,
        };
        exchange.error(400, json!({ "code": -32000, "message": words })).await
    })
    .await;
    let client = connect(&server).await;
    let wrong = call(&client, "wrong").await.unwrap_err();
    assert!(matches!(wrong, CallError::Failed { failure: Failure::Rejected(_), .. }), "{wrong:?}");
    assert!(!client.is_closed(), "other refusals do not end the link");
    let forgotten = call(&client, "forget").await.unwrap_err();
    assert_eq!((forgotten.delivery(), forgotten.class()), (Delivery::NotSent, ErrorClass::Session));
    let report = soon("the end", client.closed()).await;
    assert_eq!(report.reason, CloseReason::SessionLost);
}

#[tokio::test]
async fn statuses_for_a_missing_stream_are_accepted() {
    for (status, head) in [
        (405, ""),
        (404, ""),
        (400, ""),
        (501, ""),
        (200, "content-type: text/html\r\n"),
        (204, ""),
    ] {
        let server = Server::start(move |exchange| async move {
            match &*exchange.seen.verb {
                "GET" => {
                    exchange
                        .answer(status, head, if status == 200 { b"<h1>hi</h1>" } else { b"" })
                        .await
                }
                _ => legacy(exchange).await,
            }
        })
        .await;
        let client = connect(&server).await;
        server.sees("GET", 1).await;
        assert_eq!(call(&client, "echo").await.unwrap(), "hello", "{status}");
        assert!(!client.is_closed(), "{status}");
    }
}

#[tokio::test]
async fn batches_of_2025_03_26_are_split() {
    let server = Server::start(|exchange| async move {
        match &*exchange.word() {
            "initialize" => exchange.result(initialized("2025-03-26")).await,
            "tools/call" => {
                let changed = notification("notifications/tools/list_changed", &json!({}));
                let answer = answer(&exchange.id(), &text("batched"));
                exchange.json(200, json!([changed, answer])).await
            }
            _ => legacy(exchange).await,
        }
    })
    .await;
    let (host, mut diary) = Host::new();
    let client = connect_with(to(&server), host.options()).await;
    assert_eq!(call(&client, "echo").await.unwrap(), "batched");
    diary.hears("the change", |event| *event == ServerEvent::ToolsChanged).await;
}

#[tokio::test]
async fn close_does_not_wait_for_a_silent_server() {
    let server = Server::start(|exchange| async move {
        match &*exchange.seen.verb {
            "GET" | "DELETE" => exchange.stall(b"").await,
            _ if exchange.params()["name"] == "never" => exchange.stall(b"").await,
            _ => legacy(exchange).await,
        }
    })
    .await;
    // A stream that never opens does not block either.
    let client = connect_with(to(&server), ClientOptions::default()).await;
    let (pending, report) = tokio::join!(call(&client, "never"), async {
        server.sees("tools/call", 1).await;
        soon("closing", client.close()).await
    });
    assert_eq!(report.reason, CloseReason::Requested);
    assert_eq!(pending.unwrap_err().delivery(), Delivery::Unknown);
    server.sees("DELETE", 1).await;
}
