//! HTTP behaviour of the server: authorization, sessions and invalid requests.

use mcp_client::{Client, ClientOptions, EraChoice};
use mcp_server::http::HttpServeOptions;
use mcp_tests::{served, soon};
use mcp_transport::{Http, HttpClient, HttpOptions, net::HttpClientOptions};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::listen;

pub(super) const BOTH: &str =
    "Accept: application/json, text/event-stream\r\nContent-Type: application/json";
const TOKEN: &str = "a-token-of-26-characters-x";
pub(super) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;

/// Sends one request verbatim, and returns the whole response.
pub(super) async fn send(url: &str, method: &str, headers: &str, body: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let given = headers.lines().any(|line| line.to_ascii_lowercase().starts_with("host:"));
    let host_line = if given { String::new() } else { format!("Host: {host}\r\n") };
    let separator = if headers.is_empty() { "" } else { "\r\n" };
    let text = format!(
        "{method} /{path} HTTP/1.1\r\n{host_line}{headers}{separator}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    // A server that rejects a body may close before it has read all of it.
    let _ = soon("a response", stream.read_to_end(&mut response)).await;
    String::from_utf8_lossy(&response).into_owned()
}

pub(super) fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or("none")
}

pub(super) fn session_of(response: &str) -> &str {
    let line = response.lines().find(|line| line.starts_with("mcp-session-id: "));
    line.and_then(|line| line.split(": ").nth(1)).expect("a session")
}

#[tokio::test]
async fn requests_with_a_foreign_host_or_origin_are_rejected() {
    let url = listen(&served::everything(), HttpServeOptions::default()).await;
    for (headers, expected) in [
        ("Host: evil.example.com", "403"),
        ("Host: localhost\r\nOrigin: http://evil.example.com", "403"),
        ("Host: localhost\r\nOrigin: null", "403"),
        ("Host: localhost\r\nOrigin: http://localhost:3000", "200"),
        ("Host: 127.0.0.1:99", "200"),
    ] {
        let response = send(&url, "POST", &format!("{headers}\r\n{BOTH}"), HELLO).await;
        assert_eq!(status(&response), expected, "{headers}");
    }
}

#[tokio::test]
async fn configured_token_is_required() {
    let mut options = HttpServeOptions::default();
    options.bearer = Some(TOKEN.parse().unwrap());
    let url = listen(&served::everything(), options).await;
    let refused = send(&url, "POST", BOTH, HELLO).await;
    assert_eq!(status(&refused), "401");
    assert!(refused.contains("www-authenticate: Bearer"), "{refused}");
    let wrong =
        send(&url, "POST", &format!("Authorization: Bearer {TOKEN}x\r\n{BOTH}"), HELLO).await;
    assert_eq!(status(&wrong), "401");
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let mut way = HttpOptions::new(&url);
        way.headers = vec![("authorization".into(), format!("Bearer {TOKEN}"))];
        let mut pool = HttpClientOptions::default();
        pool.proxy_from_environment = false;
        let way = Http::new(HttpClient::with_options(&pool).unwrap(), way);
        let mut options = ClientOptions::default();
        options.era = era;
        let client = Client::connect(&way, options).await.unwrap();
        assert!(client.call_tool("test_simple_text", &()).await.is_ok());
    }
}

#[tokio::test]
async fn invalid_requests_get_specific_statuses() {
    let url = listen(&served::everything(), HttpServeOptions::default()).await;
    let json = "Content-Type: application/json";
    let elsewhere = url.replace("/mcp", "/other");
    let large = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "x".repeat(5 << 20));
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let cases = [
        (&elsewhere, "POST", BOTH, HELLO, "404"),
        (&url, "PUT", BOTH, HELLO, "405"),
        (&url, "POST", "Accept: */*", HELLO, "415"),
        (&url, "POST", json, HELLO, "406"),
        (&url, "GET", "Accept: text/html", "", "406"),
        (&url, "GET", "Accept: text/event-stream", "", "400"),
        (&url, "GET", "Accept: text/event-stream\r\nMCP-Protocol-Version: 2026-07-28", "", "405"),
        (&url, "DELETE", "", "", "400"),
        (&url, "DELETE", "Mcp-Session-Id: guess", "", "404"),
        (&url, "POST", BOTH, "{", "400"),
        (&url, "POST", BOTH, "{}", "400"),
        (&url, "POST", BOTH, "[]", "400"),
        (&url, "POST", BOTH, "\u{0}", "400"),
        (&url, "POST", BOTH, large.as_str(), "413"),
        (&url, "POST", BOTH, list, "400"),
    ];
    for (url, method, headers, body, expected) in cases {
        let response = send(url, method, headers, body).await;
        assert_eq!(status(&response), expected, "{method} {headers}: {response}");
    }
    let unknown = format!("{BOTH}\r\nMcp-Session-Id: guess");
    assert_eq!(status(&send(&url, "POST", &unknown, list).await), "404");
    let header = format!("{BOTH}\r\nMCP-Protocol-Version: 1999-01-01");
    assert_eq!(status(&send(&url, "POST", &header, list).await), "400");
}

#[tokio::test]
async fn sessions_are_limited_and_end_on_delete() {
    let mut options = HttpServeOptions::default();
    options.max_sessions = 1;
    let url = listen(&served::everything(), options).await;
    let opened = send(&url, "POST", BOTH, HELLO).await;
    let id = session_of(&opened);
    assert!(id.len() >= 32 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
    let headers = format!("{BOTH}\r\nMcp-Session-Id: {id}");
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(status(&send(&url, "POST", &headers, initialized).await), "202");
    let full = send(&url, "POST", BOTH, HELLO).await;
    assert_eq!(status(&full), "503");
    assert!(full.contains("retry-after: "), "{full}");
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(status(&send(&url, "POST", &headers, ping).await), "200");
    assert_eq!(status(&send(&url, "DELETE", &headers, "").await), "204");
    assert_eq!(status(&send(&url, "POST", &headers, ping).await), "404");
    assert_eq!(status(&send(&url, "POST", BOTH, HELLO).await), "200");
}

#[tokio::test]
async fn stream_is_resumed_after_its_last_event() {
    let url = listen(&served::everything(), HttpServeOptions::default()).await;
    let opened = send(&url, "POST", BOTH, HELLO).await;
    let session = format!("Mcp-Session-Id: {}", session_of(&opened));
    let call =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_reconnection"}}"#;
    let left = send(&url, "POST", &format!("{BOTH}\r\n{session}"), call).await;
    assert!(left.contains("content-type: text/event-stream") && left.contains("retry: 1000"));
    assert!(!left.contains("Reconnection test completed"), "{left}");
    let id = left.lines().find_map(|line| line.strip_prefix("id: ")).expect("a priming event");
    let back = format!("Accept: text/event-stream\r\n{session}\r\nLast-Event-ID: {id}");
    let rest = send(&url, "GET", &back, "").await;
    assert!(rest.contains("Reconnection test completed"), "{rest}");
    // Once more, as if the response had been lost.
    let again = send(&url, "GET", &back, "").await;
    assert!(again.contains("Reconnection test completed"), "{again}");
    let unknown = format!("Accept: text/event-stream\r\n{session}\r\nLast-Event-ID: 99.0");
    assert_eq!(status(&send(&url, "GET", &unknown, "").await), "400");
}

#[tokio::test]
async fn batches_are_accepted_in_2025_03_26_only() {
    let url = listen(&served::everything(), HttpServeOptions::default()).await;
    let pings =
        r#"[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]"#;
    for (version, expected) in [("2025-03-26", "200"), ("2025-11-25", "400")] {
        let opened = send(&url, "POST", BOTH, &HELLO.replace("2025-11-25", version)).await;
        let headers = format!("{BOTH}\r\nMcp-Session-Id: {}", session_of(&opened));
        let response = send(&url, "POST", &headers, pings).await;
        assert_eq!(status(&response), expected, "{response}");
        if expected == "200" {
            assert_eq!(response.matches("\"result\":{}").count(), 2, "{response}");
        }
    }
}

#[tokio::test]
async fn request_state_works_once_and_only_for_its_own_request() {
    let url = listen(&served::everything(), HttpServeOptions::default()).await;
    let ask = async |tool: &str, rest: &str| {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{}},{meta}{rest}}}}}"#
        );
        let headers = format!(
            "{BOTH}\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}"
        );
        send(&url, "POST", &headers, &body).await
    };
    let tool = "test_input_required_result_request_state";
    let asked = ask(tool, "").await;
    let state = asked.split(r#""requestState":""#).nth(1).and_then(|rest| rest.split('"').next());
    let state = state.expect("a state");
    let answer = r#","inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}}"#;
    let with = |state: &str| format!(r#"{answer},"requestState":"{state}""#);
    let other = ask("test_input_required_result_tampered_state", &with(state)).await;
    assert!(other.contains("-32602"), "another tool's state: {other}");
    let forged = ask(tool, &with(&format!("{state}x"))).await;
    assert!(forged.contains("-32602"), "{forged}");
    assert!(ask(tool, &with(state)).await.contains("state-ok"));
    assert!(ask(tool, &with(state)).await.contains("-32602"), "used twice");
}
