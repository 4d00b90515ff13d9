//! Well-behaved servers, and clients for them.

use std::time::Duration;

use mcp_client::{CallError, Client, ClientOptions, HandshakeError};
use mcp_transport::{Http, HttpClient, HttpOptions, net::HttpClientOptions};
use serde_json::{Value, json};

use super::server::{Done, Exchange, Server};
use crate::client::support::soon;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// Answers as a modern server.
pub(crate) async fn modern(exchange: Exchange) -> Done {
    match &*exchange.word() {
        "server/discover" => {
            let capabilities =
                json!({ "tools": { "listChanged": true }, "resources": {}, "prompts": {} });
            exchange
                .result(json!({
                    "resultType": "complete", "supportedVersions": [MODERN], "capabilities": capabilities,
                }))
                .await
        }
        "tools/list" => {
            let tool = json!({ "name": "echo", "inputSchema": { "type": "object" } });
            exchange.result(json!({ "resultType": "complete", "tools": [tool] })).await
        }
        "tools/call" => exchange.result(text("hello")).await,
        "GET" | "DELETE" => exchange.status(405).await,
        _ => exchange.error(404, json!({ "code": -32601, "message": "unknown method" })).await,
    }
}

/// Answers as a legacy server with sessions and without a stream.
pub(crate) async fn legacy(exchange: Exchange) -> Done {
    match &*exchange.word() {
        "server/discover" => exchange.status(400).await,
        "initialize" => {
            let answer =
                json!({ "jsonrpc": "2.0", "id": exchange.id(), "result": initialized(LEGACY) });
            let head = "content-type: application/json\r\nMcp-Session-Id: s3cret-session\r\n";
            exchange.answer(200, head, answer.to_string().as_bytes()).await
        }
        "tools/list" => {
            let tool = json!({ "name": "echo", "inputSchema": { "type": "object" } });
            exchange.result(json!({ "tools": [tool] })).await
        }
        "tools/call" => exchange.result(text("hello")).await,
        "GET" | "DELETE" => exchange.status(405).await,
        word if word == "answer" || word.starts_with("notifications/") => {
            exchange.status(202).await
        }
        _ => exchange.result(json!({})).await,
    }
}

pub(crate) fn initialized(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "scripted", "version": "1" },
    })
}

/// The result of a tool.
pub(crate) fn text(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

/// A complete response message.
pub(crate) fn answer(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// A separate connection pool that ignores the machine's proxies.
pub(crate) fn pool() -> HttpClient {
    let mut options = HttpClientOptions::default();
    options.proxy_from_environment = false;
    HttpClient::with_options(&options).unwrap()
}

pub(crate) fn http(options: HttpOptions) -> Http {
    Http::new(pool(), options)
}

pub(crate) fn to(server: &Server) -> HttpOptions {
    let mut options = HttpOptions::new(&server.url);
    // Tests do not wait for a graceful close.
    options.close_grace = Duration::from_millis(200);
    options
}

pub(crate) async fn try_connect(
    options: HttpOptions,
    client: ClientOptions,
) -> Result<Client, HandshakeError> {
    soon("the handshake", Client::connect(&http(options), client)).await
}

/// Connects to `server` in the era that it speaks.
pub(crate) async fn connect(server: &Server) -> Client {
    connect_with(to(server), ClientOptions::default()).await
}

pub(crate) async fn connect_with(options: HttpOptions, client: ClientOptions) -> Client {
    try_connect(options, client).await.unwrap_or_else(|error| panic!("{error}"))
}

/// Calls a tool without arguments and returns its text.
pub(crate) async fn call(client: &Client, tool: &str) -> Result<String, CallError> {
    call_with(client, tool, json!({})).await
}

pub(crate) async fn call_with(
    client: &Client,
    tool: &str,
    arguments: Value,
) -> Result<String, CallError> {
    let result = soon(tool, async { client.call_tool(tool, &arguments).await }).await;
    result.map(|result| result.text())
}
