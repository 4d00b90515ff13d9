//! Local servers in sandboxes: profiles by trust and by entry, and what commands show of them.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    support::{MCP, Machine},
    wire::Gateway,
};

/// A server that reads a file: its only tool is `read`.
const READER: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request: continue
    method, result = request.get("method"), {}
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "r", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "read", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]}
    elif method == "tools/call":
        try: text = open(request["params"]["arguments"]["path"]).read()
        except OSError as error: text = "refused: " + type(error).__name__
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

/// A machine with a key in its home, a file in its project, and a server with these members in its entry.
fn machine(members: &Value) -> Machine {
    let machine = Machine::new();
    machine.write(".ssh/id", "canary");
    machine.write("project/readme", "of the project");
    let script = machine.write("project/reader.py", READER);
    let mut entry = json!({"command": "python3", "args": [script]});
    let members = members.as_object().unwrap().clone();
    entry.as_object_mut().unwrap().extend(members);
    let file = json!({"mcpServers": {"reader": entry}}).to_string();
    machine.write(".config/mcp/mcp.json", &file);
    machine
}

fn read(machine: &Machine, path: &str) -> String {
    let path = format!("path={}", machine.home().join(path).display());
    let ran = machine.run(["call", "--yes", "reader", "read", &path]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

fn sandbox(machine: &Machine) -> Value {
    machine.run(["list", "--offline", "--json"]).json()["servers"][0]["sandbox"].clone()
}

#[test]
fn untrusted_server_reads_the_project_and_not_the_home() {
    let machine = machine(&json!({}));
    assert!(read(&machine, "project/readme").contains("of the project"));
    assert!(read(&machine, ".ssh/id").contains("refused"));
    assert_eq!(sandbox(&machine)["profile"], "standard");
    let list = machine.run(["list", "--offline"]).stdout;
    assert!(list.contains("PROFILE") && list.contains("standard"), "{list}");
}

#[test]
fn trusted_server_and_one_that_is_off_read_the_home() {
    for members in [json!({"trust": true}), json!({"sandbox": "off"})] {
        let machine = machine(&members);
        assert!(read(&machine, ".ssh/id").contains("canary"));
        assert_eq!(sandbox(&machine)["profile"], "off");
    }
}

#[test]
fn explanation_names_restrictions_and_paths_that_were_not_granted() {
    let machine = machine(&json!({"sandbox": {"read": ["~/missing"]}}));
    let shown = machine.run(["explain", "reader"]).stdout;
    assert!(shown.contains("sandbox: standard (adjusted)"), "{shown}");
    assert!(shown.contains("restricted: ") && shown.contains("files"), "{shown}");
    assert!(shown.contains("missing` of the profile does not exist"), "{shown}");
    let shown = machine.run(["explain", "reader", "--json"]).json();
    assert!(shown["sandbox"]["applied"].as_array().unwrap().contains(&json!("files")), "{shown}");
    assert!(shown["sandbox"]["notes"][0].as_str().unwrap().contains("does not exist"), "{shown}");
}

#[test]
fn minimum_of_a_file_holds_against_entries() {
    let machine = machine(&json!({"trust": true, "sandbox": {"read": ["~/.ssh"]}}));
    assert!(read(&machine, ".ssh/id").contains("canary"));
    let file = machine.read(".config/mcp/mcp.json");
    let mut file: Value = serde_json::from_str(&file).unwrap();
    file["sandboxMinimum"] = "standard".into();
    machine.write(".config/mcp/mcp.json", &file.to_string());
    assert!(read(&machine, ".ssh/id").contains("refused"));
    assert_eq!(sandbox(&machine)["profile"], json!({"profile": "standard", "required": true}));
}

/// An update replaces the file of a running gateway, which is also the launcher of its servers.
#[test]
#[cfg(target_os = "linux")]
fn gateway_restarts_servers_after_its_file_was_replaced() {
    let machine = Machine::new();
    let own = machine.write("bin/mcp", "");
    let server = machine.write("bin/restarted-server", "");
    for file in [&own, &server] {
        fs::copy(MCP, file).unwrap();
    }
    let server = server.display().to_string();
    let added = machine.run(["add", "-s", "user", "demo", "--", &server, "demo", "--stdio"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let mut command = std::process::Command::new(&own);
    machine.set_up(&mut command);
    command.args(["serve", "--allow-tool", "*"]);
    let mut gateway = Gateway::of(command, &json!({}));
    let date = json!({"date": "1969-07-20"});
    let is_called = |answer: &Value| answer.to_string().contains("is a Sunday");
    assert!(is_called(&gateway.call("mcp__demo__weekday", &date)));

    let new = machine.write("bin/mcp.new", "");
    fs::copy(MCP, &new).unwrap();
    fs::rename(&new, &own).unwrap();
    let running = processes_of(&server);
    assert!(!running.is_empty());
    for pid in running {
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
    let begun = Instant::now();
    while !is_called(&gateway.call("mcp__demo__weekday", &date)) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the server was not started again");
        std::thread::sleep(Duration::from_millis(100));
    }
    gateway.end();
}

/// The processes with this program in their command line.
#[cfg(target_os = "linux")]
fn processes_of(program: &str) -> Vec<nix::unistd::Pid> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse::<i32>().ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        line.split(|byte| *byte == 0).any(|word| word == program.as_bytes()).then_some(pid)
    });
    pids.map(nix::unistd::Pid::from_raw).collect()
}
