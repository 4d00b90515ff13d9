//! Settings for the host, from files and flags, in a running gateway.

use serde_json::{Value, json};

use crate::{scripted::Scripted, support::Machine, wire::Gateway};

/// The file of the user scope.
const FILE: &str = ".config/mcp/mcp.json";

/// A machine with a server of twelve tools that are alike.
fn machine() -> Machine {
    let machine = Machine::new();
    let tool = |n: usize| {
        json!({"name": format!("weather_{n}"), "description": format!("Weather of town {n} {}", "x".repeat(400)),
            "inputSchema": {"type": "object"}})
    };
    let tools: Vec<Value> = (0..12).map(tool).collect();
    let server = Scripted::add(&machine, "s", &["--trust"]).tools(&json!(tools));
    server.result("tools/call", &json!({"content": [{"type": "text", "text": "sunny"}]}));
    machine
}

/// Adds settings to the user's file.
fn set(machine: &Machine, settings: &Value) {
    let mut file: Value = serde_json::from_str(&machine.read(FILE)).unwrap();
    file.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    machine.write(FILE, &file.to_string());
}

/// Returns the text of a search that asks for many tools.
fn found(machine: &Machine, args: &[&str]) -> String {
    let mut gateway = Gateway::start(machine, &[&["--mode", "search"], args].concat(), &json!({}));
    let found = gateway.call("tool_search", &json!({"query": "weather town", "limit": 12}));
    gateway.end();
    found["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{found}")).to_owned()
}

/// Returns the number of tools that a search found.
fn count(text: &str) -> usize {
    let found: Value = serde_json::from_str(text).unwrap();
    found["matches"].as_array().unwrap().len()
}

#[test]
fn limit_of_matches_reaches_the_gateway_from_the_file_and_the_flag() {
    let machine = machine();
    assert_eq!(count(&found(&machine, &[])), 10);
    set(&machine, &json!({"tool_search": {"max_matches": 3}}));
    assert_eq!(count(&found(&machine, &[])), 3);
    assert_eq!(count(&found(&machine, &["--max-matches", "2"])), 2, "the flag has precedence");
    for flag in ["--max-matches", "--summary-limit", "--retry"] {
        let refused = machine.run(["serve", flag, "0"]);
        assert_eq!(refused.code, 2, "{flag}: {}", refused.stderr);
        assert!(refused.stderr.contains("a number from 1"), "{}", refused.stderr);
    }
}

#[test]
fn summaries_are_as_long_as_the_flag_says() {
    let machine = machine();
    let listed = |limit: &str| {
        let args = ["--mode", "search", "--summary-limit", limit];
        let mut gateway = Gateway::start(&machine, &args, &json!({}));
        let listed = gateway.call("tool_list", &json!({"server": "s"}));
        gateway.end();
        listed["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned()
    };
    let (long, short) = (listed("300"), listed("30"));
    assert!(long.contains(&"x".repeat(200)), "{long}");
    assert!(short.contains("Weather of town") && !short.contains(&"x".repeat(30)), "{short}");
}

#[test]
fn question_of_a_flag_overrides_a_permission() {
    let machine = machine();
    set(&machine, &json!({"trustRules": [{"permission": "mcp:s:*", "action": "allow"}]}));
    let args = ["--mode", "all", "--allow-tool", "mcp:s:*", "--ask-tool", "mcp:s:weather_1"];
    let mut gateway = Gateway::start(&machine, &args, &json!({"elicitation": {"form": {}}}));
    let allowed = gateway.call("mcp__s__weather_2", &json!({}));
    assert_eq!(allowed["content"][0]["text"], "sunny", "{allowed}");
    let call = gateway.begin("tools/call", &json!({"name": "mcp__s__weather_1", "arguments": {}}));
    let question = gateway.hear_until(|message| message["method"] == "elicitation/create");
    gateway.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}));
    assert_eq!(gateway.answer(call)["result"]["isError"], true);
    gateway.end();
}

#[test]
fn rules_of_a_changed_file_apply_to_a_running_gateway() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--mode", "all"], &json!({}));
    let call = |gateway: &mut Gateway| gateway.call("mcp__s__weather_1", &json!({}));
    assert_eq!(call(&mut gateway)["content"][0]["text"], "sunny");
    set(&machine, &json!({"trustRules": [{"permission": "mcp:s:*", "action": "deny"}]}));
    gateway.remarks("reloaded: trustRules");
    assert_eq!(call(&mut gateway)["isError"], true);
    set(&machine, &json!({"trustRules": []}));
    gateway.remarks("reloaded: trustRules");
    assert_eq!(call(&mut gateway)["content"][0]["text"], "sunny");
    // What cannot be changed in a running gateway is not silently ignored.
    set(&machine, &json!({"tool_search": {"max_matches": 3}}));
    gateway.remarks("take effect when the gateway is started again");
    gateway.end();
}
