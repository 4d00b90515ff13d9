//! A running gateway: changed files, signals, and calls in flight.

use std::{fs, io::Read, process::Stdio};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    support::{MCP, Machine},
    wire::{Gateway, lines},
};

/// The file of the user scope.
const FILE: &str = ".config/mcp/mcp.json";

fn machine() -> Machine {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["list"]).code, 0);
    machine
}

/// Starts a gateway and a call that waits for an elicitation, so that the call is in flight until the test answers.
fn waiting_call(machine: &Machine) -> (Gateway, u64, Value) {
    let mut gateway = Gateway::start(
        machine,
        &["--trust-host", "--drain", "60"],
        &json!({"elicitation": {"form": {}}}),
    );
    let call =
        gateway.begin("tools/call", &json!({"name": "mcp__demo__order_pizza", "arguments": {}}));
    let question = gateway.hear_until(|message| message["method"] == "elicitation/create");
    assert_eq!(question["params"]["message"], "[server demo] Which pizza shall it be?");
    (gateway, call, question["id"].clone())
}

/// Answers the elicitation, and checks that the call succeeds.
fn finish(gateway: &mut Gateway, call: u64, question: &Value) {
    let answer = json!({"action": "accept", "content": {"kind": "funghi", "count": 2}});
    gateway.send(&json!({"jsonrpc": "2.0", "id": question, "result": answer}));
    let result = gateway.answer(call);
    assert_eq!(result["result"]["content"][0]["text"], "ordered: 2 funghi", "{result}");
}

/// Returns the entry with one more variable.
fn changed(machine: &Machine) -> String {
    machine.read(FILE).replace("\"args\"", "\"env\": {\"CHANGED\": \"1\"}, \"args\"")
}

#[test]
fn server_with_a_changed_entry_finishes_its_calls_beside_the_new_one() {
    let machine = machine();
    let (mut gateway, call, question) = waiting_call(&machine);
    machine.write(FILE, &changed(&machine));
    gateway.remarks("reloaded: removed [demo], added [demo]");
    let day = gateway.call("mcp__demo__weekday", &json!({"date": "2020-01-01"}));
    assert_eq!(day["content"][0]["text"], "2020-01-01 is a Wednesday", "the new one answers");
    finish(&mut gateway, call, &question);
    gateway.end();
}

#[test]
fn sighup_reloads_unwatched_changes() {
    let machine = machine();
    let (mut gateway, call, question) = waiting_call(&machine);
    // Written through a hard link, so that no event occurs in the watched folder.
    let other = machine.home().join("elsewhere.json");
    fs::hard_link(machine.home().join(FILE), &other).unwrap();
    fs::write(&other, changed(&machine)).unwrap();
    gateway.signal(Signal::SIGHUP);
    gateway.remarks("reloaded: removed [demo], added [demo]");
    finish(&mut gateway, call, &question);
    gateway.end();
}

#[test]
fn clients_are_notified_of_a_removed_server() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &[], &json!({}));
    assert!(!gateway.tools().is_empty());
    assert_eq!(machine.run(["remove", "demo"]).code, 0);
    gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
    assert!(!gateway.tools().iter().any(|name| name.contains("demo")));
    gateway.end();
}

#[test]
fn approval_takes_effect_in_a_running_gateway() {
    let machine = Machine::new();
    let entry = json!({"mcpServers": {"demo": {"command": MCP, "args": ["demo", "--stdio"]}}});
    machine.write("project/.mcp.json", &entry.to_string());
    let mut gateway = Gateway::start(&machine, &[], &json!({}));
    assert!(gateway.tools().is_empty());
    assert_eq!(machine.run(["approve", "demo", "-y"]).code, 0);
    gateway.remarks("added [demo]");
    while !gateway.tools().iter().any(|name| name == "mcp__demo__weekday") {
        gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
    }
    gateway.end();
}

#[test]
fn gateway_waits_for_calls_in_flight_after_a_signal() {
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
fn second_signal_stops_a_gateway_at_once() {
    let machine = machine();
    let (gateway, ..) = waiting_call(&machine);
    gateway.signal(Signal::SIGTERM);
    gateway.remarks("waiting for 1 calls");
    gateway.signal(Signal::SIGTERM);
    assert_eq!(gateway.ended(), Some(130));
}

#[test]
fn server_learns_that_the_client_does_not_support_elicitation() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    let result = gateway.call("mcp__demo__order_pizza", &json!({}));
    assert_eq!(
        result["content"][0]["text"],
        "this client does not support elicitation, so it cannot choose a pizza"
    );
    gateway.end();
}

#[test]
fn watch_prints_events_until_a_signal() {
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
fn watch_ends_when_its_reader_is_gone() {
    let machine = machine();
    let mut watch = machine.command(["watch"]);
    let mut child = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    // The reader is dropped before the next event.
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let nothing = Machine::new().run(["watch"]);
    assert_eq!(nothing.code, 0, "it ends without servers");
    assert!(nothing.stderr.starts_with("no servers are configured"), "{}", nothing.stderr);
}
