//! Servers that do not start, do not respond or end: the reason, the exit code and the next step.

use serde_json::json;

use crate::support::{MCP, Machine};

/// Adds a program as a trusted server of the user.
fn add(machine: &Machine, name: &str, script: &str) {
    let added = machine.run(["add", "-s", "user", "--trust", name, "--", "sh", "-c", script]);
    assert_eq!(added.code, 0, "{}", added.stderr);
}

#[test]
fn server_on_the_command_line_is_tried_each_time_and_its_failure_is_shown() {
    let machine = Machine::new();
    let script = machine.write("f.sh", "echo 'Error: not ready' >&2; exit 3");
    let spec = format!("sh {}", script.display());
    for _ in 0..2 {
        let ran = machine.run(["call", "--server", &spec, "weekday", "date=1969-07-20", "-y"]);
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        let reason = "error: sh is unavailable: Error: not ready (exit status 3)\n";
        assert!(ran.stderr.starts_with(reason), "{}", ran.stderr);
        assert!(ran.stderr.contains("mcp explain --server 'sh [home]/f.sh' sh"), "{}", ran.stderr);
    }
    let missing = machine.run(["call", "--server", "no-such-program", "x"]);
    assert_eq!(missing.code, 5, "{}", missing.stderr);
    assert!(missing.stderr.contains("program `no-such-program` not found"), "{}", missing.stderr);
}

#[test]
fn commands_report_a_server_that_does_not_respond_within_the_timeout() {
    let machine = Machine::new();
    add(&machine, "silent", "sleep 1000");
    machine.run(["add", "-s", "user", "demo", "--", MCP, "demo", "--stdio"]);
    let commands: &[&[&str]] = &[
        &["call", "silent/tool"],
        &["resources", "silent"],
        &["prompts", "silent"],
        &["prompt", "silent/haiku"],
        &["read", "silent", "a:b", "-y"],
        &["connect", "silent"],
        &["tools", "silent"],
    ];
    for command in commands {
        let ran = machine.run(["--timeout", "1"].iter().chain(*command));
        assert_eq!(ran.code, 5, "{command:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("silent is unavailable: "), "{command:?}: {}", ran.stderr);
    }
    let explained = machine.run(["--timeout", "1", "explain", "silent", "--json"]);
    assert_eq!(explained.code, 5, "{}", explained.stdout);
    let cause = explained.json()["cause"].as_str().unwrap().to_owned();
    assert!(cause.contains("silent is unavailable: "), "{cause}");
}

#[test]
fn tool_that_is_not_found_names_the_servers_that_were_not_searched() {
    let machine = Machine::with_demo();
    add(&machine, "broken", "echo 'Error: no key' >&2; exit 1");
    let ran = machine.run(["call", "no_such_tool"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    let remark = "not searched, because they are unavailable: broken";
    assert!(ran.stderr.contains(remark), "{}", ran.stderr);
}

#[test]
fn list_and_call_show_the_same_line_of_stderr() {
    let machine = Machine::new();
    let script =
        "echo 'Warning: no folder' >&2; echo 'Error: no key' >&2; echo ' at x' >&2; exit 4";
    add(&machine, "broken", script);
    let reason = "Error: no key (exit status 4)";
    assert!(machine.run(["list", "--connect"]).stdout.contains(reason));
    assert!(machine.run(["list"]).stdout.contains(reason), "remembered");
    let ran = machine.run(["call", "broken/tool"]);
    assert!(ran.stderr.contains(&format!("broken is unavailable: {reason}")), "{}", ran.stderr);
}

#[test]
fn server_that_ends_during_a_call_is_explained_with_its_exit_status() {
    let machine = Machine::new();
    let script = r#"
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '"result":{"tools":[{"name":"crash","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) echo 'Error: out of paper' >&2; exit 9 ;;
    *'"method":"notifications/'*) ;;
    *) say '"error":{"code":-32601,"message":"unknown method"}' ;;
  esac
done"#;
    add(&machine, "printer", script);
    let ran = machine.run(["call", "printer/crash", "-y"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("printer: Error: out of paper (exit status 9)"), "{}", ran.stderr);
}

#[test]
fn statistics_of_known_servers_start_nothing() {
    let machine = Machine::new();
    // The second start fails.
    let script = format!("mkdir '{}/once' && exec '{MCP}' demo --stdio", machine.home().display());
    add(&machine, "demo", &script);
    assert!(machine.run(["list", "--connect"]).stdout.contains("connected"));
    let statistics = machine.run(["stats", "--json"]);
    let statistics = statistics.json();
    assert_eq!(statistics["servers"][0]["tools"], 8, "{statistics}");
    assert_eq!(statistics["instructions"][0]["server"], "demo", "{statistics}");
}

#[test]
fn claude_gets_the_gateway_in_the_file_of_the_project() {
    let machine = Machine::new();
    let installed = machine.run(["install", "--client", "claude", "-s", "project", "--yes"]);
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    assert!(machine.read("project/.mcp.json").contains("\"serve\""));
    let printed = machine.run(["install", "--client", "claude", "--print", "--json"]).json();
    assert_eq!(printed["client"], json!("claude"), "{printed}");
    assert!(printed["entry"].as_str().unwrap().contains("\"serve\""), "{printed}");
}

#[test]
fn name_of_a_server_in_place_of_a_tool_is_recognised() {
    let machine = Machine::with_demo();
    machine.run(["list", "--connect"]);
    let ran = machine.run(["call", "demo"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("demo is a server: `mcp tools demo` lists"), "{}", ran.stderr);
    let ran = machine.run(["prompt", "demo/haiku"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: mcp prompt demo/haiku about=…"), "{}", ran.stderr);
}

#[test]
fn secret_for_a_file_of_the_repository_is_warned_of() {
    let machine = Machine::new();
    let add = |value: &str| {
        machine.run(["add", "-s", "project", "-e", value, "--replace", "s", "--", "cat"])
    };
    let warned = add("API_KEY=hunter22");
    assert_eq!(warned.code, 0, "{}", warned.stderr);
    assert!(warned.stderr.contains("-e 'API_KEY=${API_KEY}' takes it from"), "{}", warned.stderr);
    assert!(!add("API_KEY=${API_KEY}").stderr.contains("note:"));
    assert!(!add("MODE=fast").stderr.contains("note:"));
}
