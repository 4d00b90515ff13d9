//! Memory, files and processes do not grow over many connections, and oversized messages are not kept. The host under
//! test is a separate process, so that its memory can be measured.

use std::{process::Stdio, time::Duration};

use mcp_tests::soon;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::transport::http_server::{Exchange, Server, legacy};

/// Time limit for a thousand processes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

async fn measured(arguments: &[&str]) -> Value {
    let mut host = Command::new(env!("CARGO_BIN_EXE_measured-host"));
    host.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, host.output()).await.expect("it ends").unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let measured = serde_json::from_slice(&output.stdout).unwrap();
    eprintln!("{measured}");
    measured
}

fn nothing_grew(measured: &Value) {
    let of = |when: &str, what: &str| measured[when][what].as_u64().unwrap();
    assert_eq!(measured["connects"], 1_100, "{measured}");
    assert_eq!(of("before", "files"), of("after", "files"), "{measured}");
    assert_eq!(of("before", "children"), of("after", "children"), "{measured}");
    // A connection takes over 10 KiB: a thousand leaked ones would be 10 MiB.
    assert!(of("after", "kib") < of("before", "kib") + (4 << 10), "{measured}");
}

#[tokio::test]
async fn thousand_in_process_connections_leak_nothing() {
    nothing_grew(&measured(&["in-process", "1000"]).await);
}

#[tokio::test]
async fn thousand_processes_leak_no_files_orphans_or_memory() {
    let server = env!("CARGO_BIN_EXE_tool-server");
    let measured = measured(&["processes", server, "1000"]).await;
    nothing_grew(&measured);
    assert!(measured["after"]["children"].as_u64().unwrap() <= 1, "{measured}");
}

fn unharmed(measured: &Value, limit_kib: u64) {
    assert_eq!(measured["kind"], "Some(TooLarge)", "{measured}");
    assert!(measured["text"].as_str().unwrap().starts_with("message too large"), "{measured}");
    assert_eq!(measured["said"], json!(["hello", "hello"]), "the server still works: {measured}");
    assert_eq!((&measured["connects"], &measured["problems"]), (&json!(1), &json!(0)));
    assert_eq!(measured["letters"], 1, "it is kept for inspection: {measured}");
    assert!(measured["grown_kib"].as_u64().unwrap() < limit_kib, "{measured}");
}

/// Memory that an oversized message may take, in KiB: the limit of 64 MiB, plus a copy while the buffer grows.
const HELD: u64 = 160 << 10;

#[tokio::test]
async fn gigabyte_result_over_stdio_fails_only_its_own_call() {
    unharmed(&measured(&["gigabyte", env!("CARGO_BIN_EXE_scripted-server")]).await, HELD);
}

#[tokio::test]
async fn gigabyte_result_over_http_fails_only_its_own_call() {
    for form in ["application/json", "text/event-stream"] {
        let server = Server::start(move |exchange: Exchange| async move {
            let id = exchange.id();
            match (&*exchange.word(), exchange.params()["name"].as_str()) {
                ("tools/list", _) => {
                    let tools = json!([{"name": "echo"}, {"name": "gigabyte"}]);
                    exchange.result(json!({ "tools": tools })).await
                }
                (_, Some("gigabyte")) => {
                    let data = if form == "text/event-stream" { "data: " } else { "" };
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: {form}\r\nconnection: close\r\n\r\n\
                         {data}{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":\
                         [{{\"type\":\"text\",\"text\":\""
                    );
                    exchange.repeated(&head, 1 << 10, "\"}]}}\n\n").await
                }
                _ => legacy(exchange).await,
            }
        })
        .await;
        let measured = soon("a gigabyte", measured(&["gigabyte", &server.url])).await;
        unharmed(&measured, HELD);
    }
}
