//! The audit log of a real gateway, and `mcp audit`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use crate::{support::Machine, wire::Gateway};

const LOG: &str = ".local/state/mcp/audit/audit.jsonl";

fn machine() -> Machine {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["trust", "demo", "--yes"]).code, 0);
    machine
}

/// Calls a tool of the demo server through a gateway that ends afterwards.
fn call_once(machine: &Machine, args: &[&str]) {
    let mut gateway = Gateway::start(machine, args, &json!({}));
    gateway.call("mcp__demo__weekday", &json!({"date": "1969-07-20"}));
    gateway.end();
}

#[test]
fn gateway_records_calls_and_the_log_verifies() {
    let machine = machine();
    call_once(&machine, &[]);
    let verified = machine.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    assert!(verified.stdout.starts_with("intact: "), "{}", verified.stdout);
    let log = machine.read(LOG);
    assert!(!log.contains("1969-07-20"), "{log}");
    let events: Vec<String> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().into())
        .collect();
    assert_eq!(events.first().map(String::as_str), Some("host.start"));
    for event in ["server.start", "call", "server.stop", "host.stop"] {
        assert!(events.iter().any(|one| one == event), "no {event} in {events:?}");
    }
    let shown = machine.run(["audit", "show", "--event", "call", "--json"]).stdout;
    let call: Value = serde_json::from_str(shown.trim()).unwrap();
    assert_eq!((&call["client"], &call["server"]), (&json!("by hand 1"), &json!("demo")));
    assert_eq!((&call["decision"], &call["outcome"]), (&json!("allow"), &json!("ok")));
    let table = machine.run(["audit", "show", "--of", "demo", "--last", "2"]).stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
    assert_eq!(machine.run(["audit", "show", "--since", "2999", "--json"]).stdout, "");
}

#[test]
fn changed_line_and_removed_end_are_found() {
    let machine = machine();
    call_once(&machine, &[]);
    let log = machine.read(LOG);
    machine.write(LOG, &log.replacen("\"allow\"", "\"deny!\"", 1));
    let changed = machine.run(["audit", "verify"]);
    assert_eq!(changed.code, 1, "{}", changed.stdout);
    assert!(changed.stdout.contains(" was changed\n"), "{}", changed.stdout);
    let last = log.trim_end().rfind('\n').unwrap();
    machine.write(LOG, &log[..=last]);
    let removed = machine.run(["audit", "verify", "--json"]).json();
    assert_eq!((&removed["intact"], &removed["count"]), (&json!(false), &json!(1)));
    // The checkpoint beside the key also detects that all files are gone.
    fs::remove_dir_all(machine.home().join(".local/state/mcp/audit")).unwrap();
    fs::create_dir(machine.home().join(".local/state/mcp/audit")).unwrap();
    assert_eq!(machine.run(["audit", "verify"]).code, 1);
}

#[test]
fn killed_gateway_loses_no_call_that_was_answered() {
    let machine = machine();
    let mut command = machine.command(["serve"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut gateway: Child = command.spawn().unwrap();
    let mut input = gateway.stdin.take().unwrap();
    let mut output = BufReader::new(gateway.stdout.take().unwrap()).lines();
    let mut ask = |id: u64, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").unwrap();
        loop {
            let line = output.next().expect("a response").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    };
    ask(
        0,
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"}}),
    );
    for id in 1..=20 {
        let params = json!({"name": "mcp__demo__weekday", "arguments": {"date": "1969-07-20"}});
        let answer = ask(id, "tools/call", params);
        assert!(answer["result"]["content"].is_array(), "{answer}");
    }
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    let verified = machine.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    let calls = machine.run(["audit", "show", "--event", "call", "--json"]).stdout;
    assert_eq!(calls.lines().count(), 20, "{calls}");
}

#[test]
fn log_can_be_switched_off_or_hold_contents() {
    let machine = machine();
    call_once(&machine, &["--no-audit"]);
    assert!(!machine.home().join(LOG).exists());
    let absent = machine.run(["audit", "verify"]);
    assert_eq!(absent.code, 4, "{}", absent.stderr);
    call_once(&machine, &["--audit-contents"]);
    assert!(machine.read(LOG).contains("1969-07-20"));
}

#[test]
fn entry_cannot_refer_to_the_key() {
    let machine = machine();
    call_once(&machine, &[]);
    assert_eq!(machine.run(["secret", "list", "--json"]).json(), json!({"secrets": []}));
}
