//! What is only seen of a server over HTTP: who is let in, what becomes of sessions, and of bytes that make no sense.

use mcp_bridge::HttpServeOptions;
use mcp_client::{Client, ClientOptions, EraChoice};
use mcp_tests::{served, soon};
use mcp_transport::{Http, HttpClient, HttpClientOptions, HttpOptions};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::listen;

const BOTH: &str = "Accept: application/json, text/event-stream\r\nContent-Type: application/json";
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;

/// Sends one request as it is written, and returns the whole response.
async fn send(url: &str, method: &str, headers: &str, body: &str) -> String {
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
    // A server that refuses a body may close before it has read it all.
    let _ = soon("a response", stream.read_to_end(&mut response)).await;
    String::from_utf8_lossy(&response).into_owned()
}

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or("none")
}

fn session_of(response: &str) -> &str {
    let line = response.lines().find(|line| line.starts_with("mcp-session-id: "));
    line.and_then(|line| line.split(": ").nth(1)).expect("a session")
}

#[tokio::test]
async fn strangers_are_turned_away() {
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
async fn a_token_is_asked_for_where_there_is_one() {
    let mut options = HttpServeOptions::default();
    options.bearer = Some("s3cret".into());
    let url = listen(&served::everything(), options).await;
    let refused = send(&url, "POST", BOTH, HELLO).await;
    assert_eq!(status(&refused), "401");
    assert!(refused.contains("www-authenticate: Bearer"), "{refused}");
    let wrong = send(&url, "POST", &format!("Authorization: Bearer s3cre\r\n{BOTH}"), HELLO).await;
    assert_eq!(status(&wrong), "401");
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let mut way = HttpOptions::new(&url);
        way.headers = vec![("authorization".into(), "Bearer s3cret".into())];
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
async fn what_makes_no_sense_has_a_status_of_its_own() {
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
async fn a_session_ends_when_its_client_says_so_and_there_are_only_so_many() {
    let mut options = HttpServeOptions::default();
    options.max_sessions = 1;
    let url = listen(&served::everything(), options).await;
    let opened = send(&url, "POST", BOTH, HELLO).await;
    let id = session_of(&opened);
    assert!(id.len() >= 32 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
    let full = send(&url, "POST", BOTH, HELLO).await;
    assert_eq!(status(&full), "503");
    assert!(full.contains("retry-after: "), "{full}");
    let headers = format!("{BOTH}\r\nMcp-Session-Id: {id}");
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(status(&send(&url, "POST", &headers, ping).await), "200");
    assert_eq!(status(&send(&url, "DELETE", &headers, "").await), "204");
    assert_eq!(status(&send(&url, "POST", &headers, ping).await), "404");
    assert_eq!(status(&send(&url, "POST", BOTH, HELLO).await), "200");
}

#[tokio::test]
async fn a_stream_that_was_left_goes_on_where_it_was() {
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
    // Once more, as if the answer had been lost on the way.
    let again = send(&url, "GET", &back, "").await;
    assert!(again.contains("Reconnection test completed"), "{again}");
    let unknown = format!("Accept: text/event-stream\r\n{session}\r\nLast-Event-ID: 99.0");
    assert_eq!(status(&send(&url, "GET", &unknown, "").await), "400");
}

#[tokio::test]
async fn batches_are_for_the_one_revision_that_has_them() {
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
async fn a_state_works_once_and_only_for_its_own_request() {
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
