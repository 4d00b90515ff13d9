//! Settings of entries and of connectors, as seen by real servers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::StreamExt as _;
use mcp_bridge::{
    Bridge, CallContext, FailureKind, RawJson, ServerConfig, ServerState, connect::DefaultConnector,
};
use mcp_config::{Remote, Transport};
#[cfg(unix)]
use mcp_config::{Stdio, model::InheritEnv};
use mcp_tests::soon;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::{
    Message,
    handshake::server::{Request, Response},
};

use super::{call, options, reached};

/// Answers JSON-RPC requests of a legacy client. `None`: no answer.
fn answer(request: &Value, tools: &Value) -> Option<Value> {
    let result = match request["method"].as_str()? {
        "initialize" => json!({"protocolVersion": "2025-11-25",
            "serverInfo": {"name": "s", "version": "1"}, "capabilities": {"tools": {}}}),
        "tools/list" => tools.clone(),
        "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
        _ => json!({}),
    };
    Some(json!({"jsonrpc": "2.0", "id": request.get("id")?, "result": result}))
}

/// A Streamable HTTP server that answers calls after `takes`. Records the values of the header `x-tenant`.
async fn http_server(tools: Value, takes: Duration) -> (String, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let post = move |headers: axum::http::HeaderMap, body: axum::body::Bytes| {
        if let Some(value) = headers.get("x-tenant") {
            noted.lock().unwrap().push(value.to_str().unwrap().to_owned());
        }
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer = answer(&request, &tools);
        async move {
            if request["method"] == "tools/call" {
                tokio::time::sleep(takes).await;
            }
            let (status, text) = match answer {
                Some(answer) => (200, answer.to_string()),
                None => (202, String::new()),
            };
            axum::http::Response::builder()
                .status(status)
                .header("content-type", "application/json")
                .body(axum::body::Body::from(text))
                .unwrap()
        }
    };
    let app = axum::Router::new().route("/mcp", axum::routing::post(post));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, seen)
}

async fn bridge(config: ServerConfig, connector: DefaultConnector) -> Bridge {
    let mut options = options();
    options.connector = Arc::new(connector);
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(config);
    soon("the start", bridge.start()).await;
    bridge
}

fn entry(transport: Transport) -> ServerConfig {
    let mut config = ServerConfig::new("srv".parse().unwrap(), transport);
    config.trust = true;
    config
}

fn one_tool() -> Value {
    json!({"tools": [{"name": "slow", "inputSchema": {"type": "object"}}]})
}

#[tokio::test]
async fn timeout_of_an_entry_limits_and_extends_calls_over_http() {
    let (url, _) = http_server(one_tool(), Duration::from_secs(2)).await;
    for (timeout, is_answered) in
        [(Duration::from_millis(300), false), (Duration::from_secs(60), true)]
    {
        let mut config = entry(Transport::Http(Remote::new(url.as_str())));
        config.timeouts.call = Some(timeout);
        let mut options = options();
        // The limits of the host are between those of the entries.
        options.client.call_idle_timeout = Duration::from_secs(1);
        options.client.call_total_timeout = Duration::from_secs(1);
        let bridge = Bridge::new(options);
        bridge.add_server_as_written(config);
        soon("the start", bridge.start()).await;
        let calling =
            bridge.call("mcp__srv__slow", RawJson::empty_object(), CallContext::default());
        let outcome = soon("the call", calling).await;
        let expected = (!is_answered).then_some(FailureKind::TimedOut);
        assert_eq!(outcome.failure_kind(), expected, "{timeout:?}: {outcome}");
    }
}

#[tokio::test]
async fn server_whose_list_has_no_array_is_connected_and_reported() {
    let (url, _) = http_server(json!({}), Duration::ZERO).await;
    let bridge = bridge(entry(Transport::Http(Remote::new(url.as_str()))), DefaultConnector::new());
    let bridge = bridge.await;
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert!(bridge.snapshot().tools().is_empty());
    let problems = bridge.quarantined("srv");
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[tokio::test]
async fn adjusted_http_options_apply_to_the_connection() {
    let (url, seen) = http_server(one_tool(), Duration::ZERO).await;
    let connector = DefaultConnector::new().adjust_http(|config, options| {
        options.headers.push(("x-tenant".into(), config.name.to_string()));
    });
    let bridge = bridge(entry(Transport::Http(Remote::new(url.as_str()))), connector).await;
    assert_eq!(call(&bridge, "mcp__srv__slow").await, "done");
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty() && seen.iter().all(|value| value == "srv"), "{seen:?}");
}

#[tokio::test]
async fn adjusted_websocket_options_apply_to_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/mcp", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(None));
    let noted = seen.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        #[expect(clippy::result_large_err, reason = "the signature is that of the crate")]
        let note = |request: &Request, mut response: Response| {
            let header = request.headers().get("x-tenant");
            *noted.lock().unwrap() = header.map(|value| value.to_str().unwrap().to_owned());
            if let Some(protocol) = request.headers().get("sec-websocket-protocol") {
                response.headers_mut().insert("sec-websocket-protocol", protocol.clone());
            }
            Ok(response)
        };
        let mut socket = tokio_tungstenite::accept_hdr_async(stream, note).await.unwrap();
        while let Some(Ok(Message::Text(text))) = socket.next().await {
            let request: Value = serde_json::from_str(&text).unwrap();
            if let Some(answer) = answer(&request, &one_tool()) {
                let answer = Message::Text(answer.to_string().into());
                futures::SinkExt::send(&mut socket, answer).await.unwrap();
            }
        }
    });
    let connector = DefaultConnector::new().adjust_ws(|config, options| {
        options.headers.push(("x-tenant".into(), config.name.to_string()));
    });
    let bridge = bridge(entry(Transport::Ws(Remote::new(url.as_str()))), connector).await;
    assert_eq!(call(&bridge, "mcp__srv__slow").await, "done");
    assert_eq!(seen.lock().unwrap().as_deref(), Some("srv"));
}

/// A shell that prints a variable to stderr and ends. Without braces, because those would be expanded in the entry.
#[cfg(unix)]
fn prints(variable: &str) -> Stdio {
    let mut program = Stdio::new("sh");
    let script = format!("echo \"value=[${variable}]\" >&2; exit 3");
    program.args = ["-c".into(), script.as_str().into()].into();
    program
}

/// The evidence of why the server did not start, in one text.
#[cfg(unix)]
async fn evidence(config: ServerConfig, connector: DefaultConnector) -> String {
    let bridge = bridge(config, connector).await;
    bridge.explain("srv").unwrap().evidence.join("\n")
}

#[cfg(unix)]
#[tokio::test]
async fn adjusted_stdio_options_apply_to_the_process() {
    let connector = DefaultConnector::new().adjust_stdio(|config, options| {
        options.env.insert("TENANT".into(), config.name.as_str().into());
    });
    let seen = evidence(entry(Transport::Stdio(prints("TENANT"))), connector).await;
    assert!(seen.contains("value=[srv]"), "{seen}");
}

/// Set in the child process of a test that needs variables.
#[cfg(unix)]
const ALONE: &str = "MCP_TESTS_ALONE";

/// Runs a test of this file again, in a process with this variable: variables are those of the whole process. Returns
/// whether this is that process.
#[cfg(unix)]
fn is_alone_with(test: &str, variable: &str, value: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let name = format!("bridge::effects::{test}");
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", &name]).env(ALONE, "1").env(variable, value);
    let output = alone.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

#[cfg(unix)]
#[tokio::test]
async fn inherit_env_all_passes_every_variable_to_the_process() {
    const TEST: &str = "inherit_env_all_passes_every_variable_to_the_process";
    const OWN: &str = "OWN_VARIABLE";
    if !is_alone_with(TEST, OWN, "mine") {
        return;
    }
    for (inherit, expected) in [(InheritEnv::All, "mine"), (InheritEnv::Safe, "")] {
        let mut program = prints(OWN);
        program.inherit_env = inherit;
        let seen = evidence(entry(Transport::Stdio(program)), DefaultConnector::new()).await;
        assert!(seen.contains(&format!("value=[{expected}]")), "{inherit:?}: {seen}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn explanation_of_a_failed_start_names_variables_that_were_not_passed() {
    const TEST: &str = "explanation_of_a_failed_start_names_variables_that_were_not_passed";
    const SOCKET: &str = "SSH_AUTH_SOCK";
    if !is_alone_with(TEST, SOCKET, "/agent") {
        return;
    }
    let config = entry(Transport::Stdio(prints(SOCKET)));
    let seen = evidence(config, DefaultConnector::new()).await;
    assert!(seen.contains("value=[]"), "{seen}");
    assert!(seen.contains("not passed to it: SSH_AUTH_SOCK (`envPass`"), "{seen}");
    let mut passed = prints(SOCKET);
    passed.env_pass = vec![SOCKET.into()];
    let seen = evidence(entry(Transport::Stdio(passed)), DefaultConnector::new()).await;
    assert!(seen.contains("value=[/agent]") && !seen.contains("not passed"), "{seen}");
}
