//! Puts marked secrets in every place that takes one, causes every kind of failure, and searches all output for the
//! mark. Only the wire may carry it.
//!
//! The logins of `mcp-auth` and the output of the `mcp` command have similar tests in those crates.

use std::{fs, path::Path, sync::Arc, time::Duration};

use mcp_auth::{Secret, Source, StaticAuth};
use mcp_bridge::{
    Bridge, CallContext, RawJson, ServerConfig, ServerState,
    connect::{Connector as _, DefaultConnector, Identify, Identity},
    output::Spill,
    trust::ToolApprovals,
};
use mcp_client::{Client, ClientOptions};
use mcp_config::{Remote, SecretText, Stdio, Transport};
use mcp_transport::{ConnectError, record::Recorder};
use serde_json::json;

use super::{CANARY, Record, leak};
use crate::transport::http::{
    server::{Done, Exchange, Server},
    speak::{MODERN, modern, text},
};

fn secret(name: &str) -> String {
    format!("{CANARY}-{name}")
}

/// A server that echoes the credentials of each request in headers and bodies.
async fn gossip(exchange: Exchange) -> Done {
    let told = exchange.seen.header("x-api-key").unwrap_or_default().to_owned();
    let echo = format!("x-echo: {told}\r\nset-cookie: k={told}\r\n");
    match exchange.params()["name"].as_str() {
        Some("login") => {
            let head = format!("{echo}www-authenticate: Bearer error_description=\"{told}\"\r\n");
            exchange.answer(401, &head, told.as_bytes()).await
        }
        Some("forbidden") => exchange.answer(403, &echo, told.as_bytes()).await,
        Some("broken") => exchange.answer(500, &echo, told.as_bytes()).await,
        Some("busy") => exchange.answer(429, "retry-after: 1\r\n", told.as_bytes()).await,
        Some("page") => {
            let page = format!("<html>{told}</html>");
            exchange.answer(200, "content-type: text/html\r\n", page.as_bytes()).await
        }
        Some("elsewhere") => {
            let to = format!("{echo}location: http://127.0.0.1:9/?k={told}\r\n");
            exchange.answer(307, &to, b"").await
        }
        Some("cut") => exchange.raw(format!("HTTP/1.1 200 OK\r\nx: {told}").as_bytes()).await,
        Some("long") => exchange.result(text(&"long ".repeat(40_000))).await,
        _ if exchange.word() == "tools/list" => {
            let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
            let tools: Vec<_> = TOOLS.iter().copied().map(tool).collect();
            exchange.result(json!({ "resultType": "complete", "tools": tools })).await
        }
        _ => modern(exchange).await,
    }
}

const TOOLS: &[&str] =
    &["echo", "login", "forbidden", "broken", "busy", "page", "elsewhere", "cut", "long"];

fn named(name: &str, transport: Transport) -> ServerConfig {
    let mut config = ServerConfig::new(name.parse().unwrap(), transport);
    config.trust = true;
    config
}

/// A remote entry with a secret user, password, query, header and variable.
fn remote(url: &str) -> Remote {
    let (scheme, rest) = url.split_once("://").unwrap();
    let userinfo = format!("{}:{}", secret("user"), secret("password"));
    let query = format!("key={}&v=${{MCP_NEVER_SET:-{}}}", secret("query"), secret("variable"));
    let mut remote = Remote::new(&*format!("{scheme}://{userinfo}@{rest}?{query}"));
    remote.headers.insert("x-api-key", SecretText::literal(secret("header")));
    remote
}

/// The same without a user, which `ws` rejects.
fn bare(url: &str) -> Remote {
    let mut remote = Remote::new(&*format!("{url}?key={}", secret("query")));
    remote.headers.insert("x-api-key", SecretText::literal(secret("header")));
    remote
}

fn program(script: &str) -> Stdio {
    let mut program = Stdio::new("sh");
    program.args = vec!["-c".into(), script.into()];
    program.env.insert("SERVICE_TOKEN", SecretText::literal(secret("env")));
    program
}

/// An entry for every kind of configuration and failure.
fn configs(http: &str, dead: &str) -> Vec<ServerConfig> {
    let tools = env!("CARGO_BIN_EXE_tool-server");
    vec![
        named("http", Transport::Http(remote(http))),
        named("refused", Transport::Http(remote(dead))),
        named("nowhere", Transport::Http(remote("http://no-such-host.invalid/mcp"))),
        named("plain", Transport::Http(remote(&http.replace("http://", "https://")))),
        named("no-sse", Transport::Sse(remote(http))),
        named("no-ws", Transport::Ws(bare(&http.replace("http://", "ws://")))),
        named("bad-ws", Transport::Ws(remote(&http.replace("http://", "ws://")))),
        named("bad-url", Transport::Http(remote("http://a:b:c/mcp"))),
        named("no-url", Transport::Http(Remote::new(&*format!("http//x?key={}", secret("query"))))),
        named("stdio", Transport::Stdio(program(&format!("exec {tools}")))),
        named("dies", Transport::Stdio(program("echo starting >&2; exit 3"))),
        named("mute", Transport::Stdio(program("echo not json; exit 0"))),
        named("missing", {
            let mut missing = program("");
            missing.command = "no-such-program-anywhere".into();
            Transport::Stdio(missing)
        }),
        named("unset", {
            let mut unset = remote(http);
            unset.headers.insert("x-other", SecretText::parse("${MCP_NEVER_SET}"));
            Transport::Http(unset)
        }),
    ]
}

/// Records everything a host can show about a bridge.
fn show(record: &Record, bridge: &Bridge) {
    record.debug(bridge);
    for status in bridge.status() {
        record.debug(&status);
        let explained = bridge.explain(&status.name).unwrap();
        record.debug(&explained);
        record.text(&explained);
        record.debug(&bridge.quarantined(&status.name));
    }
    record.debug(&bridge.explain_all());
    record.debug(&bridge.counters());
    record.debug(&bridge.failed_calls());
    record.debug(&bridge.conversation().statistics());
    record.debug(&bridge.conversation().summaries());
    for tool in bridge.snapshot().tools() {
        record.debug(&tool.spec());
    }
}

/// The contents of all files below `folder`, as text.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            let bytes = fs::read(entry.path()).unwrap();
            let name = entry.path().display().to_string();
            found.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}

#[tokio::test]
async fn configured_secrets_appear_on_the_wire_only() {
    let record = Record::default();
    let logging = tracing::subscriber::set_default(record.clone());
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(gossip).await;
    let dead = Server::start(modern).await.url.clone();

    let mut options = crate::bridge::options();
    options.catalogue = Some(folder.path().join("catalogue"));
    let approvals = ToolApprovals::load(folder.path().join("tools.json")).unwrap();
    options.approvals = Arc::new(approvals);
    options.output.spill = Some(Arc::new(Spill::new(folder.path().join("spill"))));
    options.backoff = mcp_bridge::lifecycle::Backoff::five_attempts();
    options.backoff.delays = vec![Duration::from_secs(3600)];
    record.debug(&options);
    let bridge = Bridge::new(options);
    let mut events = bridge.events();
    for config in configs(&server.url, &dead) {
        record.debug(&config);
        bridge.add_server_as_written(config);
    }
    mcp_tests::soon("the start", bridge.start()).await;
    show(&record, &bridge);
    for working in ["http", "stdio"] {
        crate::bridge::reached(&bridge, working, ServerState::is_connected).await;
    }
    for tool in TOOLS {
        let name = format!("mcp__http__{tool}");
        let arguments = RawJson::parse(r#"{"a":1}"#.to_owned()).unwrap();
        let calling = bridge.call(&name, arguments, CallContext::default());
        let outcome = mcp_tests::soon(tool, calling).await;
        record.debug(&outcome);
        record.text(&outcome);
    }
    record.text(&crate::bridge::call(&bridge, "mcp__stdio__echo").await);
    show(&record, &bridge);
    mcp_tests::soon("the end", bridge.shutdown()).await;
    while let Some(event) = events.try_next() {
        record.debug(&event);
    }
    drop(logging);

    let seen = server.seen();
    assert!(seen.iter().any(|seen| seen.path.contains(&secret("variable"))), "nothing was sent");
    let called = server.all("tools/call");
    assert!(called.iter().all(|seen| seen.header("x-api-key") == Some(&*secret("header"))));
    let text = record.all();
    for expected in ["ServerError", "ToolResult", "127.0.0.1", "unavailable", "exit status 3"] {
        assert!(text.contains(expected), "nothing was recorded of {expected}");
    }
    assert_eq!(leak(&text), None);
    let files = files(folder.path());
    assert!(files.iter().any(|(name, _)| name.contains("catalogue")), "{files:?}");
    assert!(files.iter().any(|(name, _)| name.contains("spill")), "{files:?}");
    for (name, text) in files {
        assert_eq!(leak(&text), None, "{name}");
    }
}

/// Authorizes with a given token, and with one of the wrong kind.
struct Tokens(&'static str);

impl Identify for Tokens {
    fn identify(&self, config: &ServerConfig) -> Result<Identity, ConnectError> {
        let url = config.transport.remote().map(|remote| remote.url.expose().to_owned());
        let token = Source::Value(Secret::new(format!("{}{}", secret("bearer"), self.0)));
        let mut identity = Identity::default();
        identity.authorizer = Some(Arc::new(StaticAuth::bearer(url.unwrap_or_default(), token)));
        Ok(identity)
    }
}

#[tokio::test]
async fn bearer_token_is_not_in_recordings_errors_or_logs() {
    for (end, works) in [("", true), ("\n", false)] {
        let record = Record::default();
        let logging = tracing::subscriber::set_default(record.clone());
        let server = Server::start(gossip).await;
        let connector = DefaultConnector::new().identify(Arc::new(Tokens(end)));
        let config = named("http", Transport::Http(Remote::new(&*server.url)));
        let way = connector.open(&config).unwrap();
        record.debug(&way);
        let recorder = Recorder::new(way.connect.clone());
        let connecting = Client::connect(&recorder, ClientOptions::default());
        match mcp_tests::soon("the handshake", connecting).await {
            Ok(client) => {
                record.debug(&client);
                for tool in TOOLS {
                    let calling = async { client.call_tool(tool, &json!({})).await };
                    let called = mcp_tests::soon(tool, calling).await;
                    if let Err(error) = called {
                        record.error(&error);
                    }
                }
                record.debug(&client.diagnostics());
                let report = client.close().await;
                record.debug(&report);
                record.text(&report);
                let sent = server.seen();
                let header = format!("Bearer {}", secret("bearer"));
                assert!(sent.iter().all(|seen| seen.header("authorization") == Some(&*header)));
                assert!(works);
            }
            Err(error) => {
                record.error(&error);
                assert!(!works, "{error}");
            }
        }
        let cassette = recorder.cassette();
        record.debug(&cassette);
        record.text(&cassette);
        drop(logging);
        let text = record.all();
        assert!(!works || text.contains(MODERN), "nothing was recorded");
        assert_eq!(leak(&text), None, "{end:?}");
    }
}

#[test]
fn leak_search_finds_a_planted_secret() {
    for hidden in [CANARY.to_owned(), format!("x{CANARY}")] {
        assert!(leak(&format!("a {hidden} b")).is_some());
    }
    for encoded in
        ["Q0FOQVJZLTlmODZkMDgxenp6", "eENBTkFSWS05Zjg2ZDA4MXp6eg==", "eHhDQU5BUlktOWY4NmQwODF6eno="]
    {
        assert!(leak(encoded).is_some(), "{encoded}");
    }
    assert_eq!(leak("nothing"), None);
}
