//! `mcp install`: what it says about the other tool, what it fixes, and the entry that it writes.

use serde_json::json;

use crate::{
    support::{MCP, Machine},
    terminal::Session,
    wire::Gateway,
};

#[test]
fn install_without_servers_says_so() {
    let machine = Machine::new();
    let ran = machine.run(["install", "--client", "cursor", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("cursor will have no tools yet: no servers"), "{}", ran.stderr);
}

#[test]
fn tools_without_questions_are_named() {
    let machine = Machine::with_demo();
    for client in ["gemini", "opencode", "qwen"] {
        let ran = machine.run(["install", "--client", client]);
        let said = format!("{client} cannot ask you about a call, so tools of demo are denied");
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    }
    let cursor = machine.run(["install", "--client", "cursor"]);
    assert!(!cursor.stderr.contains("cannot ask"), "{}", cursor.stderr);
}

#[test]
fn yes_fixes_all_that_needs_no_trust() {
    let machine = Machine::with_demo();
    machine.run(["add", "here", "--", MCP, "demo", "--stdio", "--here"]);
    let theirs = json!({"mcpServers": {
        "demo": {"command": MCP, "args": ["demo", "--stdio"]}, "other": {"command": "x"}}});
    machine.write(".gemini/settings.json", &theirs.to_string());
    let shown = machine.run(["install", "--client", "gemini"]);
    assert!(shown.stderr.contains("already has demo"), "{}", shown.stderr);
    assert!(machine.read(".gemini/settings.json").contains("\"demo\":"), "nothing was written");
    let ran = machine.run(["install", "--client", "gemini", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let user = machine.read(".config/mcp/mcp.json");
    assert!(user.contains("\"here\""), "it is copied to the user scope: {user}");
    let left = machine.read(".gemini/settings.json");
    assert!(!left.contains("\"demo\":") && left.contains("\"other\""), "{left}");
    assert!(!user.contains("trust"), "only a person gives trust: {user}");
}

#[test]
fn trust_is_offered_on_a_terminal() {
    let machine = Machine::with_demo();
    let mut session = Session::start(&machine, &["install", "--client", "gemini"], &[]);
    session.expect("write this to ");
    session.type_in("y\n");
    session.expect("trust demo, so that their tools run without a question?");
    session.type_in("y\n");
    session.expect("demo is trusted");
    session.expect("the entry was tested and offers ");
    assert_eq!(session.end().0, 0);
    assert!(machine.read(".config/mcp/mcp.json").contains("\"trust\": true"));
}

#[test]
fn tools_of_this_folder_are_not_counted_for_a_tool_that_starts_elsewhere() {
    let machine = Machine::new();
    let here = json!({"mcpServers": {"here": {"command": MCP, "args": ["demo", "--stdio"]}}});
    machine.write("project/.mcp.json", &here.to_string());
    assert_eq!(machine.run(["approve", "here", "-y"]).code, 0);
    let elsewhere = machine.run(["install", "--client", "cursor", "--yes", "--json"]).json();
    assert_eq!(elsewhere["tools"], 0, "{elsewhere}");
    let project =
        machine.run(["install", "--client", "cursor", "-s", "project", "--yes", "--json"]).json();
    assert!(project["tools"].as_u64().is_some_and(|tools| tools > 0), "{project}");
}

#[test]
fn gateway_in_the_projects_file_is_not_one_of_its_own_servers() {
    let machine = Machine::with_demo();
    let ran = machine.run(["install", "-s", "project", "--client", "claude", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(machine.read("project/.mcp.json").contains("\"serve\""));
    let listed = machine.run(["list", "--json"]);
    let servers = listed.json()["servers"].clone();
    assert_eq!((servers.as_array().unwrap().len(), &servers[0]["name"]), (1, &json!("demo")));
    assert_eq!(listed.stderr, "", "nothing waits for an approval");
    let mut gateway = Gateway::start(&machine, &["--mode", "all"], &json!({}));
    let tools = gateway.tools();
    assert!(tools.iter().any(|tool| tool == "mcp__demo__weekday"), "{tools:?}");
    assert!(!tools.iter().any(|tool| tool.contains("gateway")), "{tools:?}");
    gateway.end();
    let removed = machine.run(["install", "-s", "project", "--client", "claude", "--remove", "-y"]);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    assert!(!machine.read("project/.mcp.json").contains("\"serve\""));
}

#[test]
fn gateway_is_recognised_by_its_address() {
    let machine = Machine::with_demo();
    let gateway = machine.listen(&[]);
    let url = gateway.url.replace("127.0.0.1", "localhost");
    let entry = json!({"mcpServers": {"gw": {"type": "http", "url": url},
        "other": {"type": "http", "url": "http://localhost:1/mcp"}}});
    machine.write(".cursor/mcp.json", &entry.to_string());
    machine.write("project/.mcp.json", &entry.to_string());
    let imported = machine.run(["import", "--json"]).json();
    let names: Vec<_> =
        imported["servers"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["other"], "{imported}");
    let listed = machine.run(["list", "--offline"]);
    assert!(listed.stderr.contains("not used until approved: other ("), "{}", listed.stderr);
}
