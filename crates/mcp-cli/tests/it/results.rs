//! Long results, new tools, remembered failures, recordings and forms.

use std::fs;

use serde_json::json;

use crate::{
    scripted::Scripted,
    support::{MCP, Machine},
    terminal::Session,
    wire::Gateway,
};

/// Adds a server with one tool that returns this text twice: as text and as structured content.
fn machine_with_text(text: &str) -> Machine {
    let machine = Machine::new();
    let tool = json!({"name": "read", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"content": {"type": "string"}}}});
    let server = Scripted::add(&machine, "files", &["--trust"]).tools(&json!([tool]));
    let result = json!({"content": [{"type": "text", "text": text}], "structuredContent": {"content": text}});
    server.result("tools/call", &result);
    machine
}

fn long_text() -> String {
    let lines: Vec<String> = (0..6_000).map(|n| format!("line {n} {}\n", "x".repeat(80))).collect();
    lines.concat()
}

#[test]
fn long_result_is_complete_in_a_pipe_and_in_json() {
    let text = long_text();
    let machine = machine_with_text(&text);
    let ran = machine.run(["call", "files/read", "-y"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout == text.clone() + "\n", "{} of {} bytes", ran.stdout.len(), text.len());
    let whole = machine.run(["call", "files/read", "-y", "--json"]).json();
    assert!(whole["content"][0]["text"] == *text && whole["structuredContent"]["content"] == *text);
    assert_eq!(whole["content"].as_array().unwrap().len(), 1, "the text is not repeated");
}

#[test]
fn long_result_is_folded_on_a_terminal_and_stored_in_a_file() {
    let text = long_text();
    let machine = machine_with_text(&text);
    let mut session = Session::start(&machine, &["call", "files/read", "-y"], &[]);
    session.expect("line 0 x");
    session.expect("characters folded; full text in ");
    let place = session.until(".txt");
    session.expect("line 5999 x");
    assert_eq!(session.end().0, 0);
    let kept = fs::read_to_string(place.trim()).unwrap();
    assert_eq!(kept.trim_end(), text.trim_end());
}

#[test]
fn failed_server_is_not_started_again_by_lists_and_searches() {
    let machine = Machine::with_demo();
    let starts = machine.project().join("starts");
    let script = format!("echo start >> {}; echo 'error: no key' >&2; exit 1", starts.display());
    machine.run(["add", "-s", "user", "broken", "--", "sh", "-c", &script]);
    assert_eq!(machine.run(["search", "weekday"]).code, 0);
    let before = fs::read_to_string(&starts).unwrap();
    for command in [&["search", "weekday"][..], &["tools"], &["stats"], &["prompts"], &["validate"]]
    {
        let ran = machine.run(command);
        assert!(ran.stderr.contains("a few minutes ago: broken"), "{command:?}: {}", ran.stderr);
    }
    let listed = machine.run(["list", "--json"]).json();
    let broken =
        listed["servers"].as_array().unwrap().iter().find(|s| s["name"] == "broken").unwrap();
    assert_eq!(broken["state"], "failed");
    assert!(broken["problem"].as_str().unwrap().contains("no key"), "{broken}");
    assert_eq!(fs::read_to_string(&starts).unwrap(), before, "it was not started");
    assert_eq!(machine.run(["connect", "broken"]).code, 5);
    assert_ne!(fs::read_to_string(&starts).unwrap(), before, "`mcp connect` starts it");
}

#[test]
fn new_tool_is_found_by_asking_the_server() {
    let machine = Machine::new();
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let server = Scripted::add(&machine, "s", &["--trust"]).tools(&json!([tool("one")]));
    server.result("tools/call", &json!({"content": [{"type": "text", "text": "ran"}]}));
    assert_eq!(machine.run(["tools"]).code, 0);
    let server = server.tools(&json!([tool("one"), tool("two")]));
    assert_eq!(machine.run(["call", "s/two", "-y"]).stdout, "ran\n");
    server.tools(&json!([tool("one"), tool("two"), tool("three")]));
    assert!(
        machine.run(["tools", "s"]).stdout.contains("s/three"),
        "naming a server connects to it"
    );
}

#[test]
fn record_accepts_server_and_tool_and_wraps_commands() {
    let machine = Machine::with_demo();
    let date = "date=2020-01-01";
    for args in [
        &["record", "demo/weekday", "-o", "a.cassette", date, "-y"][..],
        &["record", "demo", "-o", "a.cassette", "demo/weekday", date, "-y"],
        &["record", "demo", "-o", "a.cassette", "weekday", date, "-y"],
        &["record", "-o", "a.cassette", "--", "mcp", "call", "demo/weekday", date, "-y"],
    ] {
        let ran = machine.run(args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "2020-01-01 is a Wednesday\n"),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("messages in "), "{args:?}: {}", ran.stderr);
        assert!(machine.read("project/a.cassette").contains("tools/call"), "{args:?}");
        fs::remove_file(machine.project().join("a.cassette")).unwrap();
    }
    let refused =
        machine.run(["record", "-o", "b.cassette", "--", "mcp", "call", "demo/weekday", date]);
    assert_eq!(refused.code, 7, "the command's own exit code");
}

#[test]
fn recording_made_on_a_terminal_is_played_without_one() {
    let machine = Machine::with_demo();
    let date = "date=2020-01-01";
    let args = ["record", "demo/weekday", "-o", "a.cassette", date, "-y"];
    let mut session = Session::start(&machine, &args, &[]);
    session.expect("2020-01-01 is a Wednesday");
    session.expect("messages in ");
    assert_eq!(session.end().0, 0);
    let played = machine.run(["replay", "a.cassette", "weekday", date]);
    assert_eq!(
        (played.code, played.stdout.as_str()),
        (0, "2020-01-01 is a Wednesday\n"),
        "{}",
        played.stderr
    );
}

#[test]
fn recordings_of_commands_and_gateways_are_played() {
    let machine = Machine::with_demo();
    let date = "date=2020-01-01";
    // The tools are in the catalogue, which the recording must not depend on.
    assert_eq!(machine.run(["tools", "demo"]).code, 0);
    let call = ["record", "-o", "call.cassette", "--", "mcp", "call", "demo/weekday", date, "-y"];
    assert_eq!(machine.run(call).code, 0);
    let record = ["record", "-o", "gateway.cassette", "--", "mcp", "serve", "--trust-host"];
    let mut gateway = Gateway::of(machine.command(record), &json!({}));
    let result = gateway.call("mcp__demo__weekday", &json!({"date": "2020-01-01"}));
    assert_eq!(result["content"][0]["text"], "2020-01-01 is a Wednesday", "{result}");
    gateway.end();
    for cassette in ["call.cassette", "gateway.cassette"] {
        let played = machine.run(["replay", cassette, "weekday", date]);
        assert_eq!(
            (played.code, played.stdout.as_str()),
            (0, "2020-01-01 is a Wednesday\n"),
            "{cassette}: {}",
            played.stderr
        );
    }
}

#[test]
fn yes_does_not_fill_in_forms() {
    let machine = Machine::with_demo();
    let mut session = Session::start(&machine, &["call", "demo/order_pizza", "-y"], &[]);
    session.expect("demo asks: Which pizza shall it be?");
    session.type_in("y\n");
    session.expect("Kind (");
    session.type_in("diavola\n");
    session.expect("How many");
    session.type_in("3\n");
    session.expect("ordered: 3 diavola");
    assert_eq!(session.end().0, 0);
    let ran = machine.run(["call", "demo/order_pizza", "-y"]);
    assert!(ran.stderr.contains("demo asks for Kind, which --yes cannot answer"), "{}", ran.stderr);
}

#[test]
fn form_field_formats_are_checked() {
    let machine = Machine::new();
    let tool = json!({"name": "invite", "inputSchema": {"type": "object"}});
    let server = Scripted::add(&machine, "s", &["--trust"]).tools(&json!([tool]));
    let schema = json!({"type": "object", "required": ["mail"],
        "properties": {"mail": {"type": "string", "format": "email"}}});
    let ask = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
        "params": {"message": "Whom?", "requestedSchema": schema}});
    server.lines("tools/call", &[ask]);
    let done = json!({"content": [{"type": "text", "text": "invited"}]});
    server.lines("answer", &[json!({"jsonrpc": "2.0", "id": "@CALL@", "result": done})]);
    let mut session = Session::start(&machine, &["call", "s/invite"], &[]);
    session.expect("answer it?");
    session.type_in("y\n");
    session.expect("mail (an address such as ada@example.com): ");
    session.type_in("notanemail\n");
    session.expect("an address such as");
    session.expect("mail (");
    session.type_in("ada@example.org\n");
    session.expect("invited");
    assert_eq!(session.end().0, 0);
}

#[test]
fn embedded_text_of_a_prompt_is_shown() {
    let machine = Machine::new();
    let server = Scripted::add(&machine, "s", &["--trust"]);
    server.result("prompts/list", &json!({"prompts": [{"name": "p"}]}));
    let resource = json!({"uri": "a:b", "mimeType": "text/plain", "text": "the text inside"});
    let message = json!({"role": "user", "content": {"type": "resource", "resource": resource}});
    server.result("prompts/get", &json!({"messages": [message]}));
    assert_eq!(machine.run(["prompt", "s/p"]).stdout, "user: the text inside\n");
}

#[test]
fn messages_name_the_cause_and_the_next_step() {
    let machine = Machine::new();
    let json = machine.run(["add-json", "j", r#"{"foo":1}"#]);
    assert_eq!(json.code, 2);
    assert!(json.stderr.contains("command") && json.stderr.contains("url"), "{}", json.stderr);
    let entry = json!({"mcpServers": {"team": {"command": MCP, "args": ["demo", "--stdio"]}}});
    machine.write("project/.mcp.json", &entry.to_string());
    let unapproved = machine.run(["call", "team/weekday", "-y"]);
    assert!(!unapproved.stderr.contains("no servers are configured"), "{}", unapproved.stderr);
    assert!(unapproved.stderr.contains("approve"), "{}", unapproved.stderr);
    let program = machine.write("noperm.sh", "#!/bin/sh\n");
    machine.run(["add", "-s", "user", "noperm", "--", program.to_str().unwrap()]);
    let doctor = machine.run(["doctor", "--offline"]);
    assert!(doctor.stdout.contains("noperm.sh is not executable"), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("1 failed, "), "{}", doctor.stdout);
}

#[test]
fn entry_settings_are_flags_of_add() {
    let machine = Machine::new();
    let flags = [
        "add",
        "-s",
        "user",
        "--timeout",
        "60",
        "--cwd",
        "/tmp",
        "--env-pass",
        "A",
        "--include",
        "read_*",
        "--exclude",
        "read_secret",
        "--description",
        "Files",
        "files",
        "--",
        "server",
    ];
    assert_eq!(machine.run(flags).code, 0);
    let text = machine.read(".config/mcp/mcp.json");
    for part in ["60000", "/tmp", "\"A\"", "read_*", "read_secret", "Files"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
