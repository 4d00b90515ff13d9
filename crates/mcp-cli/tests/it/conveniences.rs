//! Features known from other tools: argument forms, servers that are not configured, output files, completions.

use std::{fs, process::Stdio};

use serde_json::json;

use crate::{
    scripted::Scripted,
    support::{MCP, Machine},
    wire::lines,
};

const WEDNESDAY: &str = "2020-01-01 is a Wednesday\n";

#[test]
fn call_accepts_many_argument_forms() {
    let machine = Machine::with_demo();
    machine.write("project/date.txt", "2020-01-01");
    for args in [
        &["demo/weekday", "date=2020-01-01"][..],
        &["demo.weekday", "date=2020-01-01"],
        &["demo", "weekday", "date=2020-01-01"],
        &["demo", "weekday", "--date", "2020-01-01"],
        &["demo/weekday", "--date=2020-01-01"],
        &["demo/weekday", "date=@date.txt"],
        &["demo/weekday", "date:=\"2020-01-01\""],
        &["demo/weekday", "{\"date\": \"2020-01-01\"}"],
        &["mcp__demo__weekday", "date=2020-01-01"],
    ] {
        let ran = machine.run([&["call", "-y"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, WEDNESDAY), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn call_can_skip_validation() {
    let machine = Machine::new();
    let tool = json!({"name": "t", "inputSchema": {"type": "object", "required": ["a"]}});
    let server = Scripted::add(&machine, "s", &["--trust"]).tools(&json!([tool]));
    server.result("tools/call", &json!({"content": [{"type": "text", "text": "ran"}]}));
    assert_eq!(machine.run(["call", "s/t"]).code, 2);
    assert_eq!(machine.run(["call", "s/t", "--no-validate"]).stdout, "ran\n");
}

#[test]
fn server_does_not_need_to_be_configured() {
    let machine = Machine::new();
    let program = format!("'{MCP}' demo --stdio");
    let call = ["call", "--server", &program, "weekday", "date=2020-01-01", "-y"];
    let ran = machine.run(call);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, WEDNESDAY), "{}", ran.stderr);
    assert!(machine.run(["tools", "--server", &program]).stdout.contains("mcp/weekday"));
    let behind = Machine::with_demo();
    let gateway = behind.listen(&["--trust-host", "--names", "own"]);
    let tools = machine.run(["tools", &gateway.url]);
    assert!(tools.stdout.contains("/weekday"), "{}{}", tools.stdout, tools.stderr);
    let ran = machine.run(["call", &gateway.url, "weekday", "date=2020-01-01", "-y"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, WEDNESDAY), "{}", ran.stderr);
    let denied = machine.run(["call", &gateway.url, "weekday", "date=2020-01-01"]);
    assert_eq!(denied.code, 7, "it is not trusted");
    assert_eq!(machine.run(["tools", "--server", "'x"]).code, 2);
    assert!(!machine.home().join(".config/mcp/mcp.json").exists());
}

#[test]
fn images_are_written_to_files() {
    let machine = Machine::new();
    let tool = json!({"name": "shot", "inputSchema": {"type": "object"}});
    let server = Scripted::add(&machine, "s", &["--trust"]).tools(&json!([tool]));
    let image = json!({"type": "image", "mimeType": "image/png", "data": "iVBORwD/"});
    server.result("tools/call", &json!({"content": [image]}));
    let bytes = b"\x89PNG\x00\xff";
    let piped = machine.command(["call", "s/shot"]).output().unwrap();
    assert_eq!(piped.stdout, bytes);
    assert_eq!(machine.run(["call", "s/shot", "-o", "a.png"]).code, 0);
    assert_eq!(fs::read(machine.project().join("a.png")).unwrap(), bytes);
    server
        .result("tools/call", &json!({"content": [image, {"type": "text", "text": "two"}, image]}));
    assert_eq!(machine.run(["call", "s/shot", "-o", "b.png"]).code, 2, "one file is not enough");
    let many = machine.run(["call", "s/shot", "-o", "out/"]);
    assert_eq!(many.stdout, "out/shot-1.png\nout/shot-2.txt\nout/shot-3.png\n");
    assert_eq!(fs::read(machine.project().join("out/shot-3.png")).unwrap(), bytes);
    let failed = json!({"content": [{"type": "text", "text": "no screen"}], "isError": true});
    server.result("tools/call", &failed);
    let error = machine.run(["call", "s/shot", "-o", "error.png"]);
    assert_eq!(error.code, 1, "{}{}", error.stdout, error.stderr);
    assert!(format!("{}{}", error.stdout, error.stderr).contains("no screen"));
    assert!(!machine.project().join("error.png").exists(), "an error is not the result");
    server.result("tools/call", &json!({"content": []}));
    let nothing = machine.run(["call", "s/shot"]);
    assert_eq!((nothing.code, nothing.stderr.as_str()), (0, "the tool returned nothing\n"));
}

#[test]
fn trust_is_given_and_removed_by_name() {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["call", "demo/list_notes"]).code, 7);
    assert_eq!(machine.run(["trust", "demo"]).code, 0);
    assert_eq!(machine.run(["call", "demo/list_notes"]).code, 0);
    assert_eq!(machine.run(["trust", "demo", "--remove"]).code, 0);
    assert_eq!(machine.run(["call", "demo/list_notes"]).code, 7);
    machine
        .write("project/.mcp.json", &json!({"mcpServers": {"team": {"command": "x"}}}).to_string());
    let refused = machine.run(["trust", "team"]);
    assert_eq!(refused.code, 7, "{}", refused.stderr);
}

#[test]
fn entries_are_exported_and_files_imported() {
    let machine = Machine::with_demo();
    let json = machine.run(["get", "demo", "--export"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(value["mcpServers"]["demo"]["args"][0], "demo");
    let toml = machine.run(["get", "demo", "--export", "--format", "codex"]);
    assert!(toml.stdout.contains("[mcp_servers.demo]"), "{}", toml.stdout);
    assert!(!toml.stderr.contains("does not support"), "{}", toml.stderr);
    // A field that the other format lacks is named, and the rest is exported.
    machine.run(["trust", "demo"]);
    let cursor = machine.run(["get", "demo", "--export", "--format", "cursor"]);
    assert_eq!(cursor.code, 0, "{}", cursor.stderr);
    assert!(cursor.stdout.contains("\"demo\"") && !cursor.stdout.contains("trust"));
    assert_eq!(cursor.stderr, "note: cursor does not support trust\n");
    let json = machine.run(["get", "demo", "--export", "--format", "cursor", "--json"]).json();
    assert_eq!(json["lost"], json!(["trust"]), "{json}");
    let entry = json!({"mcpServers": {"other": {"command": "server"}}});
    machine.write("elsewhere.json", &entry.to_string());
    let file = machine.home().join("elsewhere.json");
    let ran = machine.run(["import", file.to_str().unwrap(), "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(machine.read(".config/mcp/mcp.json").contains("\"other\""));
    assert_eq!(machine.run(["import", "nowhere.json"]).code, 4);
}

#[test]
fn import_can_move_servers() {
    let machine = Machine::new();
    let theirs = json!({"mcpServers": {"time": {"command": "mcp-server-time"}}, "theme": "dark"});
    machine.write(".claude.json", &theirs.to_string());
    let ran = machine.run(["import", "--from", "claude", "--move", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(machine.read(".config/mcp/mcp.json").contains("mcp-server-time"));
    let left = machine.read(".claude.json");
    assert!(!left.contains("mcp-server-time") && left.contains("dark"), "{left}");
}

#[test]
fn install_reports_what_the_other_tool_will_have() {
    let machine = Machine::with_demo();
    machine.run(["add", "here", "--", MCP, "demo", "--stdio"]);
    let printed =
        machine.run(["install", "--client", "cursor", "--print", "--deny-tool", "mcp:*:delete_*"]);
    assert!(
        printed.stdout.contains("--deny-tool") && printed.stdout.contains("mcpServers"),
        "{}",
        printed.stdout
    );
    assert!(!machine.home().join(".cursor/mcp.json").exists());
    let ran = machine.run(["install", "--client", "gemini", "--mode", "all", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("here belong to this folder"), "{}", ran.stderr);
    assert!(ran.stderr.contains("gemini cannot ask you about a call"), "{}", ran.stderr);
    assert!(ran.stdout.contains("the entry was tested and offers "), "{}", ran.stdout);
    let project = machine.run([
        "install",
        "--client",
        "cursor",
        "-s",
        "project",
        "--url",
        "https://gw.example/mcp",
        "--print",
    ]);
    assert!(
        project.stdout.contains("https://gw.example/mcp"),
        "{}{}",
        project.stdout,
        project.stderr
    );
}

#[test]
fn names_are_completed_without_starting_a_server() {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["list"]).code, 0);
    let names = |words: &[&str]| machine.run([&["names", "--"], words].concat()).stdout;
    assert!(names(&["call"]).lines().any(|name| name == "demo/weekday"));
    assert_eq!(names(&["call", "demo/weekday"]), "date=\n");
    assert_eq!(names(&["call", "demo/weekday", "date=1"]), "");
    assert_eq!(names(&["get"]), "demo\n");
    assert!(names(&["prompt"]).contains("demo/haiku"));
    for (shell, part) in [
        ("bash", "complete -F _mcp_names -o bashdefault -o default mcp mcph"),
        ("zsh", "compdef _mcp_names mcp mcph"),
        ("fish", "complete -c mcph -w mcp"),
    ] {
        assert!(machine.run(["completions", shell]).stdout.contains(part), "{shell}");
    }
    // The functions are defined in bash, and return names.
    let script = machine.write("complete.sh", &machine.run(["completions", "bash"]).stdout);
    let bin = std::path::Path::new(MCP).parent().unwrap();
    let line = format!(
        "PATH={}:$PATH; source {}; COMP_WORDS=(mcp get d); COMP_CWORD=2; _mcp_names mcp d get; echo \"${{COMPREPLY[@]}}\"",
        bin.display(),
        script.display()
    );
    let mut bash = std::process::Command::new("bash");
    machine.set_up(&mut bash);
    let output = bash.args(["-c", &line]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("demo"), "{output:?}");
    // The same for the other name of the program, while another `mcp` comes first on PATH.
    let mut bash = std::process::Command::new("bash");
    machine.set_up(&mut bash);
    let line = line
        .replace("mcp get d", "mcph get d")
        .replace("_mcp_names mcp", "mcp() { :; }; _mcp_names mcph");
    let output = bash.args(["-c", &line]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("demo"), "{output:?}");
}

#[test]
fn types_of_tools_are_generated() {
    let machine = Machine::with_demo();
    let text = machine.run(["generate", "types", "demo"]).stdout;
    assert!(text.contains("export type WeekdayArguments = {"), "{text}");
    assert!(text.contains("\"weekday\": { arguments: WeekdayArguments; result: "), "{text}");
    let schema = machine.run(["generate", "types", "demo", "--format", "json-schema"]).json();
    assert_eq!(schema["$defs"]["WeekdayArguments"]["required"][0], "date");
}

#[test]
fn get_and_ping_show_server_details_and_response_time() {
    let machine = Machine::with_demo();
    let said = machine.run(["get", "demo"]).stdout;
    for part in ["server: ", "protocol: ", "offers: tools, resources, prompts", "tools: "] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let described = machine.run(["get", "demo", "--json"]).json();
    assert!(described["server"]["protocol"].is_string(), "{described}");
    assert!(machine.run(["ping", "demo"]).stdout.starts_with("demo responded in "));
    let templates = machine.run(["resources", "demo", "--templates", "--json"]).json();
    assert!(templates["templates"].is_array(), "{templates}");
}

#[test]
fn subscribe_shows_resource_changes() {
    let machine = Machine::new();
    let server = Scripted::at(&machine, "s");
    server.result("initialize", &json!({"protocolVersion": "2025-11-25",
        "capabilities": {"resources": {"subscribe": true}}, "serverInfo": {"name": "sh", "version": "1"}}));
    Scripted::add_configured(&machine, "s", &["--trust"]);
    server.lines("resources/subscribe", &[
        json!({"jsonrpc": "2.0", "id": "@ID@", "result": {}}),
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:b"}}),
    ]);
    let mut command = machine.command(["subscribe", "s", "a:b", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let seen = lines(child.stdout.take().unwrap());
    let line = seen.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["uri"], &line["server"]), (&json!("a:b"), &json!("s")));
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn mcph_is_installed_and_doctor_suggests_it() {
    let machine = Machine::new();
    let mut second = std::process::Command::new(env!("CARGO_BIN_EXE_mcph"));
    machine.set_up(&mut second);
    assert!(second.args(["demo", "--json"]).output().unwrap().status.success());
    let other = machine.write("bin/mcp", "#!/bin/sh\n");
    fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut doctor = machine.command(["doctor", "--offline"]);
    doctor.env("PATH", other.parent().unwrap());
    let said = machine.finish(doctor, "").stdout;
    assert!(said.contains("[home]/bin/mcp is another program") && said.contains("mcph"), "{said}");
}

#[test]
fn command_reference_has_an_example_for_each_command() {
    let machine = Machine::new();
    let help = machine.run(["--help"]).stdout;
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let commands: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|c| *c != "help")
        .collect();
    let page = include_str!("../../../../docs/command.md");
    let sections: Vec<(&str, &str)> =
        page.split("\n### `").skip(1).map(|section| section.split_once('`').unwrap()).collect();
    for command in &commands {
        let section = sections.iter().find(|(name, _)| name == command);
        let (_, text) = section.unwrap_or_else(|| panic!("no section for {command}"));
        let has_example =
            text.contains("```console\n$ mcp ") && text.contains(&format!("mcp {command}"));
        assert!(has_example, "no example for {command}");
    }
    for (name, _) in &sections {
        assert!(commands.contains(name), "{name} is not a command");
    }
}
