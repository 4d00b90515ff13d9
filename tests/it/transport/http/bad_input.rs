//! Invalid responses: each fails its own request with a clear error and no other.

use std::{sync::Arc, time::Duration};

use mcp_client::{
    CallError, Client, ClientOptions, Delivery, diagnostics::ErrorClass, rpc::Failure,
};
use mcp_jsonrpc::UnmatchedMessages;
use mcp_transport::HttpOptions;
use serde_json::json;

use super::{
    server::{Done, Exchange, Server},
    speak::{answer, call, connect_with, modern, text, to},
};

const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
pub(super) const JSON: &str = "content-type: application/json\r\n";

/// A modern server whose tool `bad` runs `bad`; its other tools work.
pub(super) async fn with_a_bad_tool<F>(
    bad: impl Fn(Exchange) -> F + Send + Sync + 'static,
) -> Server
where
    F: Future<Output = Done> + Send + 'static,
{
    let bad = Arc::new(bad);
    Server::start(move |exchange| {
        let bad = bad.clone();
        async move {
            if exchange.params()["name"] == "bad" {
                bad(exchange).await
            } else {
                modern(exchange).await
            }
        }
    })
    .await
}

pub(super) fn options(server: &Server) -> HttpOptions {
    let mut options = to(server);
    options.max_message = 64 << 10;
    options.post_timeout = Duration::from_secs(10);
    options
}

/// Calls the bad tool, and checks that other calls before, during and after it succeed.
pub(super) async fn fails_alone(server: &Server) -> CallError {
    fails_alone_with(options(server)).await.0
}

pub(super) async fn fails_alone_with(options: HttpOptions) -> (CallError, Client) {
    let client = connect_with(options, ClientOptions::default()).await;
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    let (bad, good) = tokio::join!(call(&client, "bad"), call(&client, "echo"));
    assert_eq!(good.unwrap(), "hello");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    (bad.unwrap_err(), client)
}

pub(super) fn verdict(error: &CallError) -> (Delivery, ErrorClass) {
    (error.delivery(), error.class())
}

#[tokio::test]
async fn endless_header_fails_only_its_own_call() {
    let server = with_a_bad_tool(|exchange| async move {
        let mut head = b"HTTP/1.1 200 OK\r\nx-long: ".to_vec();
        head.resize(8 << 20, b'x');
        exchange.stall(&head).await
    })
    .await;
    let error = fails_alone(&server).await;
    assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Transient), "{error}");
    assert!(error.to_string().contains("/mcp: "), "{error}");
}

#[tokio::test]
async fn endless_number_of_headers_fails_only_its_own_call() {
    let server = with_a_bad_tool(|exchange| async move {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        (0..100_000).for_each(|n| head.extend_from_slice(format!("x-{n}: y\r\n").as_bytes()));
        exchange.stall(&head).await
    })
    .await;
    let error = fails_alone(&server).await;
    assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Transient), "{error}");
}

#[tokio::test]
async fn endless_event_fails_only_its_own_call() {
    let server = with_a_bad_tool(|exchange| async move {
        let id = exchange.id();
        let mut events = exchange.events().await;
        events.text(&format!(r#"data: {{"jsonrpc":"2.0","id":{id},"result":{{"x":""#)).await;
        for _ in 0..100 {
            events.text(&"x".repeat(10_000)).await;
        }
        events.text("\"}}\n\n").await;
        events.end().await
    })
    .await;
    let (error, client) = fails_alone_with(options(&server)).await;
    assert!(
        matches!(
            error,
            CallError::Failed {
                failure: Failure::TooLarge { size: 1_000_000.., limit: 65_536 },
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(client.diagnostics().too_large, 1);
}

#[tokio::test]
async fn unterminated_event_fails_only_its_own_call() {
    let server = with_a_bad_tool(|exchange| async move {
        let mut events = exchange.events().await;
        events.text("data: ").await;
        // Until the client disconnects.
        while events.text(&"x".repeat(10_000)).await {}
        events.cut()
    })
    .await;
    let client = connect_with(options(&server), ClientOptions::default()).await;
    let mut limits = mcp_client::CallOptions::default();
    limits.idle_timeout = Some(Duration::from_millis(200));
    let error = client.call_tool("bad", &()).with(limits).await.unwrap_err();
    assert!(matches!(error, CallError::Failed { failure: Failure::TimedOut(_), .. }), "{error}");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

/// An oversized message that is not the response does not fail the call.
#[tokio::test]
async fn oversized_notification_is_not_taken_for_the_response() {
    let server = with_a_bad_tool(|exchange| async move {
        let id = exchange.id();
        let note = json!({ "jsonrpc": "2.0", "method": "x/large", "params": { "x": "x".repeat(100_000) } });
        let mut events = exchange.events().await;
        events.message(&note).await;
        events.end_with(&format!("data: {}\n\n", answer(&id, &text("after all")))).await
    })
    .await;
    let client = connect_with(options(&server), ClientOptions::default()).await;
    assert_eq!(call(&client, "bad").await.unwrap(), "after all");
    assert_eq!(client.diagnostics().too_large, 1);
    assert_eq!(client.diagnostics().noise, UnmatchedMessages::default());
}

#[tokio::test]
async fn oversized_response_without_its_id_is_reported_as_too_large() {
    let server = with_a_bad_tool(|exchange| async move {
        let id = exchange.id();
        let filler = "x".repeat(100_000);
        let strange =
            format!(r#"{{"x":"{filler}","jsonrpc":"2.0","id":{id},"y":"{filler}","result":{{}}}}"#);
        exchange.events().await.end_with(&format!("data: {strange}\n\n")).await
    })
    .await;
    let error = fails_alone(&server).await;
    assert!(
        matches!(error, CallError::Failed { failure: Failure::TooLarge { limit: 65_536, .. }, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn body_with_an_oversized_content_length_is_rejected() {
    let server = with_a_bad_tool(|exchange| async move {
        // The body is not read.
        let head = format!("HTTP/1.1 200 OK\r\n{JSON}content-length: 99999999999\r\n\r\n");
        exchange.stall(head.as_bytes()).await
    })
    .await;
    let (error, client) = fails_alone_with(options(&server)).await;
    assert!(
        matches!(
            error,
            CallError::Failed {
                failure: Failure::TooLarge { size: 99_999_999_999, limit: 65_536 },
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(client.diagnostics().too_large, 1);
}

#[tokio::test]
async fn oversized_chunked_body_is_rejected() {
    for (pieces, size) in [(1, 70_000), (50, 10_000)] {
        let server = with_a_bad_tool(move |exchange| async move {
            let head = format!("HTTP/1.1 200 OK\r\n{JSON}transfer-encoding: chunked\r\n\r\n");
            let mut bytes = head.into_bytes();
            for _ in 0..pieces {
                bytes.extend_from_slice(format!("{size:x}\r\n{}\r\n", " ".repeat(size)).as_bytes());
            }
            let end = answer(&exchange.id(), &text("x")).to_string();
            bytes.extend_from_slice(format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len()).as_bytes());
            exchange.raw(&bytes).await
        })
        .await;
        let error = fails_alone(&server).await;
        assert!(
            matches!(
                error,
                CallError::Failed { failure: Failure::TooLarge { limit: 65_536, .. }, .. }
            ),
            "{pieces}: {error}"
        );
    }
}

#[tokio::test]
async fn oversized_single_chunk_is_rejected() {
    let server = with_a_bad_tool(|exchange| async move {
        let long = answer(&exchange.id(), &text(&"x".repeat(4_000))).to_string();
        let head = format!("HTTP/1.1 200 OK\r\n{JSON}transfer-encoding: chunked\r\n\r\n");
        exchange.raw(format!("{head}{:x}\r\n{long}\r\n0\r\n\r\n", long.len()).as_bytes()).await
    })
    .await;
    let mut options = options(&server);
    options.max_message = 2_000;
    let (error, _) = fails_alone_with(options).await;
    assert!(
        matches!(
            error,
            CallError::Failed { failure: Failure::TooLarge { size: 4_000.., limit: 2_000 }, .. }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn truncated_response_fails_only_its_own_call() {
    let half = format!("{EVENTS}ff\r\ndata: {{\"jsonrpc\"");
    let cases = [
        // In the middle of a chunk, of a body, of a head, and before the first byte.
        half,
        format!("HTTP/1.1 200 OK\r\n{JSON}content-length: 100\r\n\r\n{{\"json"),
        "HTTP/1.1 200 OK\r\ncontent-ty".to_owned(),
        String::new(),
    ];
    for bytes in cases {
        let shown = bytes.clone();
        let server = with_a_bad_tool(move |exchange| {
            let bytes = bytes.clone();
            async move { exchange.raw(bytes.as_bytes()).await }
        })
        .await;
        let error = fails_alone(&server).await;
        assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Transient), "{shown}: {error}");
        let words = error.to_string();
        assert!(words.starts_with("lost the connection to http://127.0.0.1:"), "{words}");
        // Our message, not that of an HTTP library.
        assert!(
            words.ends_with(": the server closed the connection before the response was complete"),
            "{words}"
        );
    }
}

#[tokio::test]
async fn stream_that_ends_without_a_response_fails_only_its_own_call() {
    let server =
        with_a_bad_tool(
            |exchange| async move { exchange.events().await.end_with(": sorry\n\n").await },
        )
        .await;
    let error = fails_alone(&server).await;
    assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Transient));
    assert_eq!(error.to_string(), "the stream ended before the response");
}

#[tokio::test]
async fn unexpected_content_type_is_reported() {
    for (head, says) in [
        ("content-type: text/plain\r\n", "of type text/plain"),
        ("content-type: text/html; charset=utf-8\r\n", "of type text/html"),
        ("content-type: application/jsonp\r\n", "of type application/jsonp"),
        ("content-type: \x7f\u{e4}\r\n", "of type"),
        ("", "without a content type"),
    ] {
        let server = with_a_bad_tool(move |exchange| async move {
            let answer = answer(&exchange.id(), &text("x"));
            exchange.answer(200, head, answer.to_string().as_bytes()).await
        })
        .await;
        let error = fails_alone(&server).await;
        if head.contains('\x7f') {
            // Not even a header.
            assert_eq!(error.delivery(), Delivery::Unknown, "{error}");
            continue;
        }
        assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Permanent));
        let expected = format!("the response has a body {says}, which is not MCP");
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn response_with_another_id_fails_only_its_own_call() {
    let server = with_a_bad_tool(|exchange| async move {
        exchange.json(200, answer(&json!(999_999), &text("for another id"))).await
    })
    .await;
    let (error, client) = fails_alone_with(options(&server)).await;
    assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Permanent));
    assert_eq!(error.to_string(), "the response does not match the request");
    assert_eq!(client.diagnostics().noise.unknown, 1);
}

#[tokio::test]
async fn second_response_is_ignored() {
    let server = with_a_bad_tool(|exchange| async move {
        let id = exchange.id();
        let (first, second) = (answer(&id, &text("first")), answer(&id, &text("second")));
        exchange.events().await.end_with(&format!("data: {first}\n\ndata: {second}\n\n")).await
    })
    .await;
    let client = connect_with(options(&server), ClientOptions::default()).await;
    assert_eq!(call(&client, "bad").await.unwrap(), "first");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    assert_eq!(client.diagnostics().noise.duplicate, 1);
}

#[tokio::test]
async fn response_without_an_id_belongs_to_its_request() {
    for id in ["", r#""id":null,"#] {
        let server = with_a_bad_tool(move |exchange| async move {
            let body = format!(
                r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"cannot read"}}}}"#
            );
            exchange.answer(400, JSON, body.as_bytes()).await
        })
        .await;
        let error = fails_alone(&server).await;
        assert!(
            matches!(&error, CallError::Failed { failure: Failure::Rejected(error), .. } if error.code == -32700),
            "{error}"
        );
    }
}

#[tokio::test]
async fn gzip_body_is_not_decompressed() {
    for encoding in ["gzip", "br", "deflate", "zstd", "identity, gzip"] {
        let server = with_a_bad_tool(move |exchange| async move {
            assert_eq!(exchange.seen.header("accept-encoding"), None);
            let head = format!("{JSON}content-encoding: {encoding}\r\n");
            exchange.answer(200, &head, &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]).await
        })
        .await;
        let error = fails_alone(&server).await;
        assert_eq!(error.class(), ErrorClass::Permanent);
        assert!(error.to_string().contains("encoded as"), "{error}");
    }
}

#[tokio::test]
async fn invalid_events_are_counted_and_the_response_arrives() {
    let server = with_a_bad_tool(|exchange| async move {
        let id = exchange.id();
        let mut events = exchange.events().await;
        for nonsense in [
            "data: hello\n\n",
            "data: {\"jsonrpc\":\n\n",
            "event: ping\ndata: 1\n\n",
            "id: 7\n\n",
            "data:\n\n",
        ] {
            events.text(nonsense).await;
        }
        events.text(&format!("data: [7, {}]\n\n", answer(&id, &text("found")))).await;
        events.end().await
    })
    .await;
    let client = connect_with(options(&server), ClientOptions::default()).await;
    assert_eq!(call(&client, "bad").await.unwrap(), "found");
    let diagnostics = client.diagnostics();
    assert_eq!(diagnostics.skipped_lines, 3, "{diagnostics:?}");
    assert_eq!(diagnostics.first_skipped.as_deref(), Some("hello"));
}

#[tokio::test]
async fn response_is_returned_before_its_stream_ends() {
    let (gone, mut went) = tokio::sync::mpsc::unbounded_channel();
    let server = with_a_bad_tool(move |exchange| {
        let gone = gone.clone();
        async move {
            let id = exchange.id();
            let mut events = exchange.events().await;
            events.message(&answer(&id, &text("at once"))).await;
            // Comments without an end.
            while events.text(": still here\n\n").await {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            gone.send(()).unwrap();
            events.cut()
        }
    })
    .await;
    let client = connect_with(options(&server), ClientOptions::default()).await;
    assert_eq!(call(&client, "bad").await.unwrap(), "at once");
    crate::client::support::soon("hanging up", went.recv()).await.unwrap();
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}
