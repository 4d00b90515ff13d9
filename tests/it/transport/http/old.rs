//! HTTP with SSE (2024-11-05): one stream carries all messages of the server.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_client::{Client, ClientOptions, Delivery, diagnostics::ErrorClass};
use mcp_transport::{Connect as _, HttpOptions, Sse, StaticHeaders, diagnostics::CloseReason};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    server::{Done, Exchange, Server},
    speak::{answer, call, initialized, pool, text, to},
};
use crate::client::support::{Host, soon};

type Says = Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>;

/// The message a 2024-11-05 server sends on its stream for `seen`. `None` ends the stream.
fn reply(seen: &Value) -> Option<String> {
    let (id, params) = (&seen["id"], &seen["params"]);
    let result = match (seen["method"].as_str(), params["name"].as_str()) {
        (Some("initialize"), _) => initialized("2024-11-05"),
        (Some("tools/call"), Some("die")) => return None,
        (Some("tools/call"), Some("ask")) => {
            return Some(json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list" }).to_string());
        }
        (Some("tools/call"), _) => text("hello"),
        (None, _) => return Some(answer(id, &text("thanks")).to_string()),
        _ => return Some(String::new()),
    };
    Some(answer(id, &result).to_string())
}

async fn old(exchange: Exchange, says: Says, first: &'static str) -> Done {
    if exchange.seen.verb == "GET" {
        let (say, mut said) = mpsc::unbounded_channel();
        *says.lock().unwrap() = Some(say);
        let mut events = exchange.events().await;
        events.text(first).await;
        while let Some(text) = said.recv().await {
            events.text(&format!("event: message\ndata: {text}\n\n")).await;
        }
        return events.end().await;
    }
    if exchange.params()["name"] == "refuse" {
        return exchange.status(400).await;
    }
    match reply(&exchange.seen.message()) {
        Some(text) if !text.is_empty() => {
            let say = says.lock().unwrap().clone();
            say.unwrap().send(text).unwrap();
        }
        Some(_) => {}
        None => *says.lock().unwrap() = None,
    }
    exchange.answer(202, "content-type: text/plain\r\n", b"Accepted").await
}

async fn server(first: &'static str) -> Server {
    let says = Says::default();
    Server::start(move |exchange| old(exchange, says.clone(), first)).await
}

const ENDPOINT: &str = "event: endpoint\ndata: /messages?session=1\n\n";

async fn connect(options: HttpOptions, client: ClientOptions) -> Client {
    let sse = Sse::new(pool(), options);
    soon("the handshake", Client::connect(&sse, client))
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

fn legacy() -> ClientOptions {
    let mut options = ClientOptions::default();
    options.era = mcp_client::EraChoice::Legacy;
    options
}

#[tokio::test]
async fn messages_arrive_on_the_stream_and_are_posted_to_the_endpoint() {
    let server = server(ENDPOINT).await;
    let (host, mut diary) = Host::new();
    let mut options = to(&server);
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
    let mut client = host.options();
    client.era = mcp_client::EraChoice::Legacy;
    let client = connect(options, client).await;
    assert_eq!(client.server().version.as_str(), "2024-11-05");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    assert_eq!(call(&client, "ask").await.unwrap(), "thanks");
    diary.is_asked("roots").await;
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), Some("Bearer s3cret"), "{}", seen.word());
        // This header did not exist in 2024-11-05.
        assert_eq!(seen.header("mcp-protocol-version"), None);
        assert_eq!(seen.header("mcp-session-id"), None);
        let expected = if seen.verb == "GET" { "/mcp" } else { "/messages?session=1" };
        assert_eq!(seen.path, expected);
    }
    assert_eq!(client.close().await.reason, CloseReason::Requested);
    assert!(server.all("DELETE").is_empty());
}

#[tokio::test]
async fn relative_and_absolute_endpoints_are_resolved() {
    for first in [
        ENDPOINT,
        "event: endpoint\r\ndata: messages?session=1\r\n\r\n",
        ": hello\n\nretry: 10\nid: 1\n\nevent: hello\n\nevent: endpoint\ndata: /messages?session=1\n\n",
    ] {
        let server = server(first).await;
        let client = connect(to(&server), legacy()).await;
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    }
}

#[tokio::test]
async fn endpoint_at_another_origin_gets_no_request() {
    let other = Server::start(|exchange| exchange.status(202)).await;
    let origin = other.url.trim_end_matches("/mcp");
    for elsewhere in [
        format!("event: endpoint\ndata: {origin}/messages\n\n"),
        format!("event: endpoint\ndata: //{}/messages\n\n", origin.trim_start_matches("http://")),
        "event: endpoint\ndata: https://127.0.0.1/messages\n\n".into(),
        "event: endpoint\ndata: file:///etc/passwd\n\n".into(),
    ] {
        let server = server(elsewhere.leak()).await;
        let mut options = to(&server);
        options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
        let error = soon("connecting", Sse::new(pool(), options).connect()).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Permanent);
        assert!(error.to_string().starts_with("the endpoint it names is refused: "), "{error}");
        assert_eq!(server.words(), ["GET"]);
    }
    assert_eq!(other.accepted(), 0);
}

#[tokio::test]
async fn other_servers_are_rejected_with_a_reason() {
    let no_stream = Server::start(|exchange| async move {
        exchange.answer(200, "content-type: text/html\r\n", b"<h1>hi</h1>").await
    })
    .await;
    let other_words = server("data: {}\n\n").await;
    let silent = server(": nothing\n\n").await;
    let down = Server::start(|exchange| exchange.answer(503, "Retry-After: 3\r\n", b"")).await;
    for (server, says, class) in [
        (no_stream, "the response is not an event stream", ErrorClass::Permanent),
        (
            other_words,
            "the stream of events does not begin with an endpoint",
            ErrorClass::Permanent,
        ),
        (silent, "the stream of events named no endpoint within 1s", ErrorClass::Transient),
        (down, "/mcp answered with status 503 Service Unavailable", ErrorClass::Transient),
    ] {
        let mut options = to(&server);
        options.endpoint_timeout = Duration::from_secs(1);
        let error = soon("connecting", Sse::new(pool(), options).connect()).await.unwrap_err();
        assert!(error.to_string().ends_with(says), "{error}");
        assert_eq!(error.class(), class);
    }
}

#[tokio::test]
async fn empty_stream_is_a_transient_failure() {
    let server = Server::start(|exchange| async { exchange.events().await.end().await }).await;
    let error = Sse::new(pool(), HttpOptions::new(&server.url)).connect().await.unwrap_err();
    // For example a server that is just starting behind a proxy.
    assert_eq!(error.class(), ErrorClass::Transient);
    assert_eq!(error.to_string(), "the stream of events ended before it named an endpoint");
}

#[tokio::test]
async fn refused_message_fails_only_its_own_call() {
    let server = server(ENDPOINT).await;
    let client = connect(to(&server), legacy()).await;
    let error = call(&client, "refuse").await.unwrap_err();
    assert_eq!((error.delivery(), error.class()), (Delivery::NotSent, ErrorClass::Permanent));
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn end_of_the_stream_ends_the_link() {
    let server = server(ENDPOINT).await;
    let client = connect(to(&server), legacy()).await;
    let error = call(&client, "die").await.unwrap_err();
    assert_eq!((error.delivery(), error.class()), (Delivery::Unknown, ErrorClass::Transient));
    assert_eq!(soon("the end", client.closed()).await.reason, CloseReason::Ended);
    let client = connect(to(&server), legacy()).await;
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}
