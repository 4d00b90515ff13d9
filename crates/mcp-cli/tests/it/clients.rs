//! The gateway with third-party clients. `cargo xtask test` installs them; without them, these tests are skipped.

mod one_shot;

use std::{path::PathBuf, process::Command};

use insta::assert_snapshot;
use mcp_skip::kit;
use serde_json::{Value, json};

use crate::{
    support::{MCP, Machine, has_python},
    wire::Gateway,
};

/// Runs a client script against the gateway in both modes.
fn play(mut client: impl FnMut() -> Command) -> String {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["list"]).code, 0);
    let mut all = String::new();
    for mode in ["all", "search"] {
        let mut command = client();
        machine.set_up(&mut command);
        command.args([MCP, "serve", "--trust-host", "--mode", mode]);
        let ran = machine.finish(command, "");
        assert_eq!(ran.code, 0, "{mode}: {}", ran.stderr);
        all.push_str(&ran.stdout);
    }
    all
}

#[test]
fn python_client_uses_both_modes() {
    let Some(kit) = kit("MCP_PYREF") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/clients/client.py");
    let said = play(|| {
        let mut command = Command::new(kit.join("python"));
        command.arg(script);
        command
    });
    assert_snapshot!(said, @r"
    tools mcp__demo__weekday
    2020-01-01 is a Wednesday
    resources 1
    tools tool_call
    2020-01-01 is a Wednesday
    resources 1
    ");
}

/// Returns a machine with a server that returns a result with an output schema, longer than the limit for models.
fn with_long_result() -> Option<Machine> {
    if !has_python() {
        return None;
    }
    let machine = Machine::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/clients/long_result.py");
    let added = machine.run(["add", "-s", "user", "files", "--", "python3", script]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    Some(machine)
}

#[test]
fn long_result_with_an_output_schema_is_not_truncated() {
    let Some(machine) = with_long_result() else { return };
    let mut gateway = Gateway::start(&machine, &["--trust-host", "--mode", "all"], &json!({}));
    let result = gateway.call("mcp__files__read", &json!({}));
    let content = result["content"].as_array().unwrap();
    assert_eq!(content.len(), 1);
    assert_eq!(content[0]["text"].as_str().unwrap().chars().count(), 2_125_000);
    assert_eq!(result["structuredContent"]["content"], content[0]["text"]);
    gateway.end();
}

/// Runs a Python client that prints the number of content parts, and the lengths of the text and of its copy.
fn play_long_result(kit: &std::path::Path, script: &str) {
    let Some(machine) = with_long_result() else { return };
    let mut command = Command::new(kit.join("python"));
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/clients/").to_owned() + script);
    machine.set_up(&mut command);
    command.args([MCP, "serve", "--trust-host", "--mode", "all"]);
    let ran = machine.finish(command, "");
    assert_eq!((ran.code, ran.stdout.trim()), (0, "1 2125000 2125000"), "{}", ran.stderr);
}

#[test]
fn python_client_accepts_a_long_result_with_an_output_schema() {
    let Some(kit) = kit("MCP_PYREF") else { return };
    play_long_result(&kit, "long_client.py");
}

#[test]
fn fastmcp_accepts_a_long_result_with_an_output_schema() {
    let Some(kit) = kit("MCP_PYFAST") else { return };
    play_long_result(&kit, "long_fastmcp.py");
}

#[test]
fn typescript_client_uses_both_modes() {
    let Some(kit) = kit("MCP_REFSERVERS") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/clients/client.mjs");
    let sdk = kit.join("../@modelcontextprotocol/sdk/dist/esm");
    let said = play(|| {
        let mut command = Command::new("node");
        command.arg(script).arg(&sdk);
        command
    });
    assert_snapshot!(said, @r"
    tools mcp__demo__weekday
    2020-01-01 is a Wednesday
    resources 1
    tools tool_call
    2020-01-01 is a Wednesday
    resources 1
    ");
}

/// Returns the Node.js that was installed with the clients, or else the one on `PATH`.
fn node(kit: &std::path::Path) -> PathBuf {
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let own = kit.join(format!("node-linux-{machine}/bin/node"));
    if own.exists() { own } else { "node".into() }
}

/// Runs the newest TypeScript client with one protocol era, over both transports and in both modes.
fn play_newest(era: &str) -> Option<String> {
    let kit = kit("MCP_CLIENTS")?;
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["list"]).code, 0);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/clients/client2.mjs");
    let mut all = String::new();
    for mode in ["all", "search"] {
        let served = machine.listen(&["--trust-host", "--mode", mode]);
        let pipe = [MCP, "serve", "--trust-host", "--mode", mode];
        let said = [&pipe[..], &[&served.url]].map(|target| {
            let mut command = Command::new(node(&kit));
            command.arg(script).arg(kit.join("@modelcontextprotocol/client")).arg(era);
            machine.set_up(&mut command);
            command.args(target).env("NO_PROXY", "127.0.0.1");
            let ran = machine.finish(command, "");
            assert_eq!(ran.code, 0, "{mode}: {}", ran.stderr);
            ran.stdout
        });
        assert_eq!(said[0], said[1], "over a pipe and over HTTP");
        all.push_str(&said[0]);
    }
    Some(all)
}

#[test]
fn newest_typescript_client_gets_the_same_results_in_both_eras() {
    let said = [("legacy", "2025-11-25"), ("modern", "2026-07-28")].map(|(era, version)| {
        Some(play_newest(era)?.replace(&format!("{era} {version}\n"), "ERA\n"))
    });
    let [Some(old), Some(new)] = said else { return };
    assert_eq!(old, new);
    assert_snapshot!(old, @r"
    ERA
    tools mcp__demo__weekday
    text 2020-01-01 is a Wednesday
    error a date looks like 1969-07-20
    text 25 primes up to 100; the largest: 97, 89, 83
    progress true
    asked kind count
    text nothing was ordered
    resource demo://guide
    Convert units, count words, find primes, keep notes, order pizza.
    prompt mcp__demo__haiku
    Write a haiku about x.
    ERA
    tools tool_search tool_list tool_call tool_read
    found mcp__demo__weekday
    text 2020-01-01 is a Wednesday
    error a date looks like 1969-07-20
    text 25 primes up to 100; the largest: 97, 89, 83
    progress true
    asked kind count
    text nothing was ordered
    resource demo://guide
    Convert units, count words, find primes, keep notes, order pizza.
    prompt mcp__demo__haiku
    Write a haiku about x.
    ");
}

#[test]
fn subscriber_is_notified_of_resource_changes_behind_the_gateway() {
    let Some(kit) = kit("MCP_REFSERVERS") else { return };
    let machine = Machine::new();
    let program = kit.join("mcp-server-everything");
    let added = machine.run(["add", "-s", "user", "everything", "--", program.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let mut gateway = Gateway::start(&machine, &["--trust-host", "--mode", "all"], &json!({}));
    let uri = "demo://resource/dynamic/text/1";
    assert!(gateway.ask("resources/subscribe", &json!({"uri": uri}))["result"].is_object());
    gateway.call("mcp__everything__toggle_subscriber_updates", &json!({}));
    let is_update = |message: &Value| message["method"] == "notifications/resources/updated";
    assert_eq!(gateway.hear_until(is_update)["params"]["uri"], uri);
    assert!(gateway.ask("resources/unsubscribe", &json!({"uri": uri}))["result"].is_object());
    gateway.end();
}
