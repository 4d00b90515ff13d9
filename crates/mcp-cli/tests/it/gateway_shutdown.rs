//! Shutdown of a gateway with a server that does not stop.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::{
    support::{Machine, has_python},
    wire::Gateway,
};

/// The promise of the documentation: one second for calls in flight, and the rest for servers to stop.
const LIMIT: Duration = Duration::from_secs(2);

fn machine() -> Option<Machine> {
    if !has_python() {
        return None;
    }
    let machine = Machine::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/hostile.py");
    let added = machine.run(["add", "-s", "user", "hostile", "--", "python3", script]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    Some(machine)
}

#[test]
fn gateway_stops_within_two_seconds_with_a_hostile_server() {
    let Some(machine) = machine() else { return };
    for (tool, signal) in
        [("bomb", Signal::SIGTERM), ("hang", Signal::SIGTERM), ("hang", Signal::SIGINT)]
    {
        let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
        let call = json!({"name": format!("mcp__hostile__{tool}"), "arguments": {}});
        let id = gateway.begin("tools/call", &call);
        if tool == "bomb" {
            let answer = gateway.answer(id);
            assert_eq!(answer["result"]["structuredContent"]["p"], "x", "{answer}");
        } else {
            // The response arrives after the call has begun.
            gateway.ask("ping", &json!({}));
        }
        gateway.signal(signal);
        // 0 if the server stopped in time, 130 if it had to be killed.
        let code = gateway.ended_within(LIMIT);
        assert!(matches!(code, Some(0 | 130)), "{tool}, {signal}: {code:?}");
    }
}
