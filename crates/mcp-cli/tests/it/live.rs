//! A gateway while it runs: files change, signals come, and calls in flight go on.

use std::{fs, io::Read, process::Stdio};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    support::{MCP, Machine},
    wire::{Gateway, lines},
};

/// Where the servers of the user are.
const FILE: &str = ".config/mcp/mcp.json";

fn machine() -> Machine {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["list"]).code, 0);
    machine
}

/// A gateway whose client can ask its user, and a call that waits for the user. The question is the
/// client's to answer: the call is in flight for exactly as long as the test wants.
fn waiting_call(machine: &Machine) -> (Gateway, u64, Value) {
    let mut gateway =
        Gateway::start(machine, &["--trust-host"], &json!({"elicitation": {"form": {}}}));
    let call =
        gateway.begin("tools/call", &json!({"name": "mcp__demo__order_pizza", "arguments": {}}));
    let question = gateway.hear_until(|message| message["method"] == "elicitation/create");
    assert_eq!(question["params"]["message"], "Which pizza shall it be?");
    (gateway, call, question["id"].clone())
}

/// Answers the question, and checks that the call came to its end.
fn finish(gateway: &mut Gateway, call: u64, question: &Value) {
    let answer = json!({"action": "accept", "content": {"kind": "funghi", "count": 2}});
    gateway.send(&json!({"jsonrpc": "2.0", "id": question, "result": answer}));
    let result = gateway.answer(call);
    assert_eq!(result["result"]["content"][0]["text"], "ordered: 2 funghi", "{result}");
}

/// The entry, with a variable more: another entry.
fn changed(machine: &Machine) -> String {
    machine.read(FILE).replace("\"args\"", "\"env\": {\"CHANGED\": \"1\"}, \"args\"")
}

#[test]
fn a_server_whose_entry_changes_ends_its_calls_beside_its_successor() {
    let machine = machine();
    let (mut gateway, call, question) = waiting_call(&machine);
    machine.write(FILE, &changed(&machine));
    gateway.remarks("reloaded: gone [demo], come [demo]");
    let day = gateway.call("mcp__demo__weekday", &json!({"date": "2020-01-01"}));
    assert_eq!(day["content"][0]["text"], "2020-01-01 is a Wednesday", "the new one is there");
    finish(&mut gateway, call, &question);
    gateway.end();
}

#[test]
fn sighup_reloads_what_no_watcher_saw() {
    let machine = machine();
    let (mut gateway, call, question) = waiting_call(&machine);
    // Written through another name of the file, of which its folder hears nothing.
    let other = machine.home().join("elsewhere.json");
    fs::hard_link(machine.home().join(FILE), &other).unwrap();
    fs::write(&other, changed(&machine)).unwrap();
    gateway.signal(Signal::SIGHUP);
    gateway.remarks("reloaded: gone [demo], come [demo]");
    finish(&mut gateway, call, &question);
    gateway.end();
}

#[test]
fn clients_hear_that_a_server_is_gone() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &[], &json!({}));
    assert!(!gateway.tools().is_empty());
    assert_eq!(machine.run(["remove", "demo"]).code, 0);
    gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
    assert!(!gateway.tools().iter().any(|name| name.contains("demo")));
    gateway.end();
}

#[test]
fn an_approval_given_elsewhere_takes_effect() {
    let machine = Machine::new();
    let entry = json!({"mcpServers": {"demo": {"command": MCP, "args": ["demo", "--stdio"]}}});
    machine.write("project/.mcp.json", &entry.to_string());
    let mut gateway = Gateway::start(&machine, &[], &json!({}));
    assert!(gateway.tools().is_empty());
    assert_eq!(machine.run(["approve", "demo"]).code, 0);
    gateway.remarks("come [demo]");
    while !gateway.tools().iter().any(|name| name == "mcp__demo__weekday") {
        gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
    }
    gateway.end();
}

#[test]
fn a_gateway_that_is_told_to_end_lets_its_calls_end_first() {
    let machine = machine();
    let (mut gateway, call, question) = waiting_call(&machine);
    gateway.signal(Signal::SIGTERM);
    gateway.remarks("waiting for 1 calls");
    let late = gateway.call("mcp__demo__weekday", &json!({"date": "2020-01-01"}));
    assert_eq!(late["content"][0]["text"], "the gateway is about to end");
    finish(&mut gateway, call, &question);
    assert_eq!(gateway.ended(), Some(0));
}

#[test]
fn a_second_signal_ends_a_gateway_at_once() {
    let machine = machine();
    let (gateway, ..) = waiting_call(&machine);
    gateway.signal(Signal::SIGTERM);
    gateway.remarks("waiting for 1 calls");
    gateway.signal(Signal::SIGTERM);
    assert_eq!(gateway.ended(), Some(130));
}

#[test]
fn a_server_is_told_that_this_client_cannot_ask_its_user() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    let result = gateway.call("mcp__demo__order_pizza", &json!({}));
    assert_eq!(result["content"][0]["text"], "there is nobody to ask which one");
    gateway.end();
}

#[test]
fn events_are_shown_as_they_happen_until_a_signal() {
    let machine = machine();
    machine.run(["add", "-s", "user", "broken", "--", "no-such-program"]);
    let mut watch = machine.command(["watch", "--json"]);
    let mut child = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let seen = lines(child.stdout.take().unwrap());
    let mut events: Vec<Value> = Vec::new();
    let has = |events: &[Value], event: &str, server: &str| {
        events.iter().any(|e| e["event"] == event && e["server"] == server && e["at"].is_u64())
    };
    while !(has(&events, "server.connected", "demo") && has(&events, "server.error", "broken")) {
        let line = seen.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        events.push(serde_json::from_str(&line).unwrap());
    }
    assert!(has(&events, "server.connecting", "demo"), "{events:?}");
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn watching_ends_when_nobody_reads_any_more() {
    let machine = machine();
    let mut watch = machine.command(["watch"]);
    let mut child = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    // Dropped: the next event has no reader.
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let nothing = Machine::new().run(["watch"]);
    assert_eq!(nothing.code, 0, "nothing will ever happen");
    assert!(nothing.stderr.starts_with("no servers are configured"), "{}", nothing.stderr);
}
