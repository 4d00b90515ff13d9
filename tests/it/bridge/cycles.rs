//! Nothing grows: what there is before many connections is what there is after them, and what a hostile
//! server sends is not kept. The host under test is a process of its own, whose memory is nobody else's.

use std::{process::Stdio, time::Duration};

use mcp_tests::soon;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::transport::http_server::{Exchange, Server, legacy};

/// For a thousand processes, on a machine with other things to do.
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
    // A connection takes over ten KiB: a thousand that stay would be ten MiB.
    assert!(of("after", "kib") < of("before", "kib") + (4 << 10), "{measured}");
}

#[tokio::test]
async fn a_thousand_connections_in_process_leave_nothing_behind() {
    nothing_grew(&measured(&["in-process", "1000"]).await);
}

#[tokio::test]
async fn a_thousand_processes_leave_no_file_no_orphan_and_no_memory_behind() {
    let server = env!("CARGO_BIN_EXE_tool-server");
    let measured = measured(&["processes", server, "1000"]).await;
    nothing_grew(&measured);
    assert!(measured["after"]["children"].as_u64().unwrap() <= 1, "{measured}");
}

fn unharmed(measured: &Value, limit_kib: u64) {
    assert_eq!(measured["kind"], "Some(TooLarge)", "{measured}");
    assert!(measured["text"].as_str().unwrap().starts_with("message too large"), "{measured}");
    assert_eq!(measured["said"], json!(["hello", "hello"]), "the server is of use: {measured}");
    assert_eq!((&measured["connects"], &measured["problems"]), (&json!(1), &json!(0)));
    assert_eq!(measured["letters"], 1, "it is kept for inspection: {measured}");
    assert!(measured["grown_kib"].as_u64().unwrap() < limit_kib, "{measured}");
}

/// What may be held of a message that turns out to be too large: the limit of 64 MiB, and a copy while a
/// buffer grows.
const HELD: u64 = 160 << 10;

#[tokio::test]
async fn a_result_of_a_gigabyte_over_stdio_costs_its_call_and_little_memory() {
    unharmed(&measured(&["gigabyte", env!("CARGO_BIN_EXE_scripted-server")]).await, HELD);
}

#[tokio::test]
async fn a_result_of_a_gigabyte_over_http_costs_its_call_and_little_memory() {
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
