//! Hostile text from servers and files is shown with visible characters only.

use std::{sync::Arc, time::Duration};

use mcp_bridge::{Bridge, CallContext, Event, Events, RawJson, ServerConfig};
use mcp_config::{
    Dialect, Environment, Layers, ReadOptions, Remote, Scope, ServerName, Stdio, Template,
    Transport, expand, expand::NoInputs, read, resolve,
};
use mcp_safe::text::is_visible;
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use crate::transport::http::{
    server::Server,
    speak::{MODERN, modern},
};

/// Text of which about half is invisible, or changes how the rest is displayed.
fn hostile() -> impl Strategy<Value = String> {
    let one = |from, to| prop::char::range(from, to).prop_map(String::from);
    let known = vec![
        "\u{61c}",
        "\u{34f}",
        "\u{115f}",
        "\u{3164}",
        "\u{ffa0}",
        "\u{feff}",
        "\u{1d173}",
        "\u{85}",
        "\u{1b}[2J",
        "\u{1b}]0;t\u{7}",
        "\r\n",
    ];
    let piece = prop_oneof![
        3 => "[ -~]{1,12}",
        2 => one('\0', '\u{1f}'),
        2 => one('\u{7f}', '\u{ad}'),
        2 => one('\u{2028}', '\u{202e}'),
        2 => one('\u{200b}', '\u{200f}'),
        2 => one('\u{2060}', '\u{206f}'),
        2 => one('\u{e0000}', '\u{e01ef}'),
        1 => one('\u{fe00}', '\u{fe0f}'),
        1 => one('\u{300}', '\u{36f}'),
        1 => any::<char>().prop_map(String::from),
        1 => prop::sample::select(known).prop_map(String::from),
        1 => "x{100,400}",
    ];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

/// Generates `count` of these texts, the same in every run.
fn hostile_texts(count: usize) -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let strategy = hostile();
    let mut next = || strategy.new_tree(&mut runner).unwrap().current();
    let texts: Vec<String> = (0..count).map(|_| next()).collect();
    assert!(texts.iter().filter(|text| !is_visible(text)).count() > count / 2);
    texts
}

#[track_caller]
fn assert_visible(what: &str, text: &str) {
    let hidden = |c: &char| !is_visible(c.encode_utf8(&mut [0; 4]));
    let found: String = text.chars().filter(hidden).flat_map(char::escape_unicode).collect();
    assert!(found.is_empty(), "{what} shows {found} in {text:?}");
}

/// Checks an error with all its causes.
#[track_caller]
fn assert_visible_error(what: &str, error: &dyn std::error::Error) {
    let mut cause = Some(error);
    while let Some(error) = cause {
        assert_visible(what, &error.to_string());
        cause = error.source();
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(64) })]

    #[test]
    fn configuration_errors_show_visible_text_only(text in hostile(), other in hostile()) {
        let entry = json!({
            "command": &text, "args": [&other, &text, "--pat", "x"], "cwd": &text, "type": &other,
            "env": { &text: &other }, &other: &text, "timeout": &text,
        });
        let url = format!("https://h/{text}");
        let remote = json!({ "type": "http", "url": url, "headers": { &other: &text } });
        let servers = json!({ &text: entry.clone(), "s": entry, "r": remote, "odd": &text });
        let files = [
            json!({ "mcpServers": &servers, &other: &text }).to_string(),
            json!({ "servers": &servers }).to_string(),
            text.clone(),
        ];
        for dialect in Dialect::ALL {
            for file in &files {
                assert_visible_configuration(file, dialect);
            }
        }
        if let Err(error) = text.parse::<ServerName>() {
            assert_visible_error("a name", &error);
        }
    }
}

fn assert_visible_configuration(file: &str, dialect: Dialect) {
    let mut options = ReadOptions::new("x.json");
    options.dialect = Some(dialect);
    let document = read(file.as_bytes(), &options);
    for diagnostic in &document.diagnostics {
        assert_visible("a diagnostic", &diagnostic.to_string());
    }
    let mut layers = Layers::new();
    layers.push(Scope::User, document);
    let resolution = resolve(&layers);
    for candidate in &resolution.candidates {
        let config = &candidate.entry.config;
        assert_visible("a name", config.name.as_str());
        assert_visible("an explanation", &resolution.explain(config.name.as_str()).to_string());
        if let Err(error) = expand(config, &Environment::empty(), &NoInputs) {
            assert_visible_error("an expansion", &error);
        }
    }
}

/// Checks everything that a bridge shows to a host, a user or a model.
fn assert_visible_bridge(bridge: &Bridge, events: &mut Events) {
    for explanation in bridge.explain_all() {
        assert_visible("an explanation", &explanation.to_string());
    }
    for said in bridge.instructions(100_000) {
        assert_visible("instructions", &said.text);
    }
    for tool in bridge.snapshot().tools() {
        let spec = tool.spec();
        assert_visible("a tool's name", &spec.name);
        assert_visible("a description", &spec.description);
        assert_visible("a title", spec.title.as_deref().unwrap_or_default());
        assert_visible("a schema", spec.input_schema.as_str());
    }
    while let Some(event) = events.try_next() {
        match event {
            Event::ServerError { problem, .. } => assert_visible("an event", &problem),
            Event::Quarantined { reason, .. } => assert_visible("a reason", &reason),
            Event::ToolCall { tool, .. } | Event::ToolResult { tool, .. } => {
                assert_visible("an event", &tool);
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn tool_errors_show_visible_text_only() {
    let texts = Arc::new(hostile_texts(60));
    let said = texts.clone();
    let server = Server::start(move |exchange| {
        let texts = said.clone();
        async move {
            match &*exchange.word() {
                "server/discover" => {
                    let discovered = json!({
                        "resultType": "complete", "supportedVersions": [MODERN],
                        "capabilities": { "tools": {} }, "instructions": texts.concat(),
                        "serverInfo": { "name": &texts[0], "version": &texts[1] },
                    });
                    exchange.result(discovered).await
                }
                "tools/list" => {
                    let tool = |(index, text): (usize, &String)| {
                        // Every other tool has a hostile name, too.
                        let name = if index % 2 == 0 { format!("t{index}") } else { text.clone() };
                        json!({ "name": name, "title": text, "description": text,
                            "inputSchema": { "type": "object", "properties": { "a": { "description": text } } },
                            "annotations": { "readOnlyHint": true, "title": text } })
                    };
                    let tools: Vec<Value> = texts.iter().enumerate().map(tool).collect();
                    exchange.result(json!({ "resultType": "complete", "tools": tools })).await
                }
                "tools/call" => {
                    let name = exchange.params()["name"].to_string();
                    let text = &texts[name.len() % texts.len()];
                    exchange.error(200, json!({ "code": -32000, "message": text })).await
                }
                _ => modern(exchange).await,
            }
        }
    })
    .await;
    let bridge = Bridge::new(crate::bridge::options());
    let mut events = bridge.events();
    let transport = Transport::Http(Remote::new(&*server.url));
    let mut config = ServerConfig::new("s".parse().unwrap(), transport);
    config.trust = true;
    bridge.add_server_as_written(config);
    mcp_tests::soon("the start", bridge.start()).await;
    let snapshot = bridge.snapshot();
    assert!(snapshot.tools().len() > 30, "{} tools", snapshot.tools().len());
    for tool in snapshot.tools() {
        let name = &tool.spec().name;
        let called = snapshot.call(name, RawJson::empty_object(), CallContext::default());
        let outcome = mcp_tests::soon(name, called).await;
        assert!(outcome.failure_kind().is_some(), "{outcome}");
        assert_visible("a failure", &outcome.to_string());
        assert_visible("a failure's text", &outcome.text_content());
    }
    assert_visible_bridge(&bridge, &mut events);
    mcp_tests::soon("the end", bridge.shutdown()).await;
}

#[tokio::test]
async fn hostile_responses_are_explained_in_visible_text() {
    for text in hostile_texts(12) {
        let server = Server::start(move |exchange| {
            let body = text.clone();
            async move {
                let status = if body.len() % 2 == 0 { 200 } else { 500 };
                exchange.answer(status, "content-type: text/html\r\n", body.as_bytes()).await
            }
        })
        .await;
        explained(Transport::Http(Remote::new(&*server.url))).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn hostile_program_output_is_explained_in_visible_text() {
    for text in hostile_texts(12) {
        let text = text.replace('\0', "");
        explained(Transport::Stdio(Stdio::new(Template::literal(&*text)))).await;
        let mut program = Stdio::new("sh");
        // On stderr and on stdout.
        let script = r#"printf '%s\n' "$1" >&2; printf '%s\n' "$1"; exit 3"#;
        program.args = ["-c", script, "sh", &text].map(Template::literal).to_vec();
        explained(Transport::Stdio(program)).await;
        let mut program = Stdio::new("sh");
        program.cwd = Some(Template::literal(format!("/nowhere/{text}")));
        explained(Transport::Stdio(program)).await;
    }
}

async fn explained(transport: Transport) {
    let mut options = crate::bridge::options();
    options.backoff.delays = vec![Duration::from_secs(3600)];
    let bridge = Bridge::new(options);
    let mut events = bridge.events();
    bridge.add_server_as_written(ServerConfig::new("s".parse().unwrap(), transport));
    mcp_tests::soon("the start", bridge.start()).await;
    assert_visible_bridge(&bridge, &mut events);
    mcp_tests::soon("the end", bridge.shutdown()).await;
}
