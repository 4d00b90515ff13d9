//! Tests of HTTP sessions and streams without sockets, with a paused clock.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use mcp_jsonrpc::RawJson;
use mcp_tool::{ToolOutcome, ToolSpec};
use mcp_types::BoxFuture;
use tokio::time::{advance, sleep};

use super::{HttpBody, HttpServeOptions, HttpServer};
use crate::{Call, ServeError, ServeOptions, ServedTool, ToolServer};

/// A tool that takes twenty-five seconds.
struct Slow(ToolSpec);

impl ServedTool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: RawJson, _: Call) -> BoxFuture<'_, Result<ToolOutcome, ServeError>> {
        Box::pin(async {
            sleep(Duration::from_secs(25)).await;
            Ok(ToolOutcome::text("at last"))
        })
    }
}

fn server() -> (ToolServer, HttpServer) {
    let server = ToolServer::new(ServeOptions::new("s", "1"));
    server.add_served_tool(Arc::new(Slow(ToolSpec::new("slow", "A slow tool."))));
    let http = server.http(HttpServeOptions::default());
    (server, http)
}

async fn send(
    http: &HttpServer,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<HttpBody> {
    let mut request = Request::builder().method(method).uri("/mcp").header("host", "localhost");
    request = request.header("accept", "application/json, text/event-stream");
    request = request.header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    http.handle(request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()).await
}

async fn open(http: &HttpServer) -> String {
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let response = send(http, "POST", &[], hello).await;
    response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

async fn text(response: Response<HttpBody>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

async fn ping(http: &HttpServer, session: &str) -> u16 {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    send(http, "POST", &[("mcp-session-id", session)], ping).await.status().as_u16()
}

#[tokio::test(start_paused = true)]
async fn session_expires_only_when_idle() {
    let (_, http) = server();
    let session = open(&http).await;
    for _ in 0..3 {
        advance(Duration::from_secs(29 * 60)).await;
        assert_eq!(ping(&http, &session).await, 200);
    }
    let listening = send(&http, "GET", &[("mcp-session-id", &session)], "").await;
    advance(Duration::from_secs(24 * 60 * 60)).await;
    assert_eq!(ping(&http, &session).await, 200, "a reader keeps the session alive");
    drop(listening);
    advance(Duration::from_secs(31 * 60)).await;
    assert_eq!(ping(&http, &session).await, 404);
}

#[tokio::test(start_paused = true)]
async fn slow_response_is_streamed_with_keep_alives() {
    let (_, http) = server();
    let session = open(&http).await;
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}"#;
    let new = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "slow"),
    ];
    let requests = [(&[("mcp-session-id", session.as_str())][..], old), (&headers[..], new)];
    for (headers, body) in requests {
        let response = send(&http, "POST", headers, body).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = text(response).await;
        assert!(text.contains(": still here") && text.contains("at last"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn notifications_go_to_the_latest_general_stream_reader() {
    let (server, http) = server();
    let session = open(&http).await;
    let headers = [("mcp-session-id", session.as_str())];
    server.tools_changed();
    // Let the session process the change.
    tokio::task::yield_now().await;
    let mut first = send(&http, "GET", &headers, "").await.into_body();
    let mut read = String::new();
    while !read.contains("tools/list_changed") {
        let frame = first.frame().await.unwrap().unwrap();
        read.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    let second = send(&http, "GET", &headers, "").await;
    assert!(first.frame().await.is_none(), "the first reader was replaced");
    assert_eq!(send(&http, "DELETE", &headers, "").await.status(), 204);
    let rest = text(second).await;
    assert!(!rest.contains("list_changed"), "delivered once: {rest}");
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_does_not_keep_its_session_alive() {
    let (_, http) = server();
    let session = open(&http).await;
    let headers = [("mcp-session-id", session.as_str())];
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}"#;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let (called, cancelled) = futures::future::join(
        send(&http, "POST", &headers, call),
        send(&http, "POST", &headers, cancel),
    )
    .await;
    assert_eq!(cancelled.status(), 202);
    assert!(!text(called).await.contains("at last"));
    advance(Duration::from_secs(31 * 60)).await;
    assert_eq!(ping(&http, &session).await, 404, "the session has expired");
}
