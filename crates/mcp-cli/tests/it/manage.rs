//! `mcp connect`, stored secrets, several files, and variables that are passed on.

use serde_json::json;

use crate::{
    scripted::Scripted,
    support::{MCP, Machine},
};

#[test]
fn connect_shows_the_state_and_tools_of_a_server() {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["connect", "demo"]).stdout, "demo is connected: 8 tools\n");
    let json = machine.run(["connect", "demo", "--json"]).json();
    assert_eq!((&json["state"], &json["problem"]), (&json!("connected"), &json!(null)));
    machine.run(["add", "-s", "user", "gone", "--", "no-such-program"]);
    let gone = machine.run(["connect", "gone"]);
    assert_eq!(gone.code, 5, "{}", gone.stderr);
    assert_eq!(machine.run(["connect", "gone", "--json"]).json()["state"], "failed");
    assert_eq!(machine.run(["connect", "nothing"]).code, 4);
}

#[test]
fn disconnect_forgets_the_remembered_tools_of_that_server() {
    let machine = Machine::with_demo();
    machine.run(["add", "-s", "user", "other", "--", MCP, "demo", "--stdio"]);
    machine.run(["list", "--connect"]);
    let tools = |machine: &Machine, name: &str| {
        let list = machine.run(["list", "--offline", "--json"]).json();
        let servers = list["servers"].as_array().unwrap().clone();
        servers.into_iter().find(|s| s["name"] == name).unwrap()["tools"].clone()
    };
    assert_eq!((tools(&machine, "demo"), tools(&machine, "other")), (json!(8), json!(8)));
    let ran = machine.run(["disconnect", "demo"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!((tools(&machine, "demo"), tools(&machine, "other")), (json!(null), json!(8)));
}

#[test]
fn stored_secret_reaches_the_server_and_no_file() {
    let machine = Machine::new();
    let server = Scripted::add(&machine, "keyed", &["-e", "KEY=${secret:docs}"]);
    server.text("stderr", "");
    let missing = machine.run(["connect", "keyed"]);
    assert!(missing.stderr.contains("mcp secret set docs"), "{}", missing.stderr);
    let set = machine.finish(machine.command(["secret", "set", "docs"]), "hunter22-hunter22\n");
    assert_eq!(set.stdout, "stored; entries can use it as ${secret:docs}\n", "{}", set.stderr);
    assert_eq!(machine.run(["secret", "list"]).stdout, "docs\n");
    assert_eq!(machine.run(["connect", "keyed"]).code, 0);
    // The program sees the value.
    let show = "printf '%s' \"$KEY\" > seen; exec cat";
    machine.run(["add", "-s", "user", "-e", "KEY=${secret:docs}", "shows", "--", "sh", "-c", show]);
    machine.run(["connect", "shows", "--timeout", "2"]);
    assert_eq!(machine.read("project/seen"), "hunter22-hunter22");
    assert!(!machine.read(".config/mcp/mcp.json").contains("hunter22"));
    assert_eq!(machine.run(["secret", "remove", "docs"]).code, 0);
    assert_eq!(machine.run(["secret", "remove", "docs"]).code, 4);
    assert_eq!(machine.run(["secret", "set", "a b"]).code, 2);
    assert_eq!(machine.run(["secret", "set", "empty"]).code, 2);
}

#[test]
fn bad_file_beside_a_good_one_is_reported() {
    let machine = Machine::new();
    let good = machine.write("good.json", r#"{"mcpServers":{"ok":{"command":"sh"}}}"#);
    let bad = machine.write("bad.json", "{ not json");
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    for other in [bad, "/no/such/file.json"] {
        let ran = machine.run(["--config", good, "--config", other, "list", "--offline"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("ok "), "{}", ran.stdout);
        let name = other.rsplit('/').next().unwrap();
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
    assert_eq!(machine.run(["--config", bad, "list"]).code, 3);
    assert_eq!(machine.run(["--config", bad, "--config", "/no/such", "list"]).code, 3);
}

#[test]
fn variables_are_passed_on_by_name() {
    let machine = Machine::new();
    let show = "printf '%s/%s' \"$MINE\" \"$OTHER\" > seen; exec cat";
    let added =
        machine.run(["add", "-s", "user", "--env-pass", "MINE", "shows", "--", "sh", "-c", show]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let mut command = machine.command(["connect", "shows", "--timeout", "2"]);
    command.env("MINE", "passed").env("OTHER", "kept");
    machine.finish(command, "");
    assert_eq!(machine.read("project/seen"), "passed/");
    let remote = machine.run(["add", "--env-pass", "MINE", "x", "https://example.invalid/mcp"]);
    assert_eq!(remote.code, 2);
}

#[test]
fn tools_are_listed_with_their_scores() {
    let machine = Machine::new();
    let bare = json!([{"name": "ReadFile",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]);
    let _ = Scripted::add(&machine, "bare", &[]).tools(&bare);
    let shown = machine.run(["tools", "bare", "--scores"]).stdout;
    let line = shown.lines().last().unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(&line[..3], ["bare/ReadFile", "writes", "25"], "{shown}");
    assert!(shown.starts_with("TOOL"), "{shown}");
    let json = machine.run(["tools", "bare", "--scores", "--json"]).json();
    assert_eq!(json["tools"][0]["score"], 25);
    assert_eq!(machine.run(["validate", "bare"]).code, 1);
}

#[test]
fn failed_start_names_the_variables_that_were_not_passed() {
    let machine = Machine::new();
    machine.run(["add", "-s", "user", "fails", "--", "sh", "-c", "exit 3"]);
    let pass =
        ["add", "-s", "user", "--env-pass", "SSH_AUTH_SOCK", "named", "--", "sh", "-c", "exit 3"];
    machine.run(pass);
    let explain = |name: &str| {
        let mut command = machine.command(["explain", name]);
        command.env("SSH_AUTH_SOCK", "/run/agent");
        machine.finish(command, "").stdout
    };
    let said = explain("fails");
    assert!(said.contains("not passed to it: SSH_AUTH_SOCK (`envPass`"), "{said}");
    assert!(!explain("named").contains("not passed"));
    // A trusted server gets the session bus, and an untrusted one does not.
    machine.run(["add", "-s", "user", "--trust", "trusted", "--", "sh", "-c", "exit 3"]);
    let with_bus = |name: &str| {
        let mut command = machine.command(["explain", name, "--json"]);
        command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus");
        machine.finish(command, "").json()["notPassed"].clone()
    };
    let bus = serde_json::json!(["DBUS_SESSION_BUS_ADDRESS"]);
    assert_eq!((with_bus("fails"), with_bus("trusted")), (bus, serde_json::json!([])));
}

#[test]
fn import_with_move_removes_servers_that_are_already_here() {
    let machine = Machine::with_demo();
    let entry = json!({"command": MCP, "args": ["demo", "--stdio"]});
    machine.write(".cursor/mcp.json", &json!({"mcpServers": {"d": entry}}).to_string());
    let kept = machine.run(["import", "--from", "cursor", "--yes"]);
    assert!(kept.stderr.contains("no new servers found"), "{}", kept.stderr);
    assert!(machine.read(".cursor/mcp.json").contains("\"d\""));
    let moved = machine.run(["import", "--from", "cursor", "--move", "--yes"]);
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    assert!(moved.stderr.contains("removed d from "), "{}{}", moved.stdout, moved.stderr);
    assert!(!machine.read(".cursor/mcp.json").contains("\"d\""));
}
