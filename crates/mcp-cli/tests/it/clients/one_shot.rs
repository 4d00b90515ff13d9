//! One-shot command line clients: the Inspector and mcporter.
//!
//! They see the tools that the gateway lists at first, and none that it announces later.

use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{kit, node};
use crate::support::{MCP, Machine, Ran};

/// Returns a machine with its tools in the catalogue, and no server running.
fn machine() -> Machine {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["list"]).code, 0);
    machine
}

fn text(content: &Value) -> &str {
    content["text"].as_str().unwrap_or("no text")
}

/// Returns the names of the tools that tests call.
fn known(tools: &Value) -> String {
    let names = tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    let called = names.filter(|name| *name == "mcp__demo__weekday" || *name == "tool_call");
    called.collect::<Vec<_>>().join(" ")
}

/// The Inspector connected to a gateway, given by command or URL.
struct Inspector<'a> {
    machine: &'a Machine,
    target: Vec<&'a str>,
    era: &'a str,
}

impl Inspector<'_> {
    fn run(&self, method: &str, args: &[&str]) -> Option<Ran> {
        let kit = kit("MCP_CLIENTS")?;
        let mut command = Command::new(node(&kit));
        let launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        command.arg(kit.join(launcher)).arg("--cli");
        self.machine.set_up(&mut command);
        command.args(&self.target).env("NO_PROXY", "127.0.0.1");
        command.args(["--method", method, "--format", "json", "--quiet"]);
        command.args(["--protocol-era", self.era]).args(args);
        Some(self.machine.finish(command, ""))
    }

    fn result(&self, method: &str, args: &[&str]) -> Option<Value> {
        let ran = self.run(method, args)?;
        assert_eq!(ran.code, 0, "{method}: {}", ran.stderr);
        Some(ran.json()["result"].clone())
    }

    fn call(&self, name: &str, arguments: &Value) -> Option<Value> {
        let arguments = arguments.to_string();
        self.result("tools/call", &["--tool-name", name, "--tool-args-json", &arguments])
    }

    /// Uses tools, resources and prompts of a gateway that lists every tool.
    fn tour(&self) -> Option<String> {
        let tools = known(&self.result("tools/list", &[])?["tools"]);
        let date = json!({"date": "2020-01-01"});
        let called = self.call("mcp__demo__weekday", &date)?;
        let arguments = ["--tool-name", "mcp__demo__weekday", "--tool-arg", "date=soon"];
        let failed = self.run("tools/call", &arguments)?;
        let uris = self.result("resources/list", &[])?;
        let read = self.result("resources/read", &["--uri", "demo://guide"])?;
        let prompts = self.result("prompts/list", &[])?;
        let haiku = ["--prompt-name", "mcp__demo__haiku", "--prompt-args", "about=x"];
        let prompt = self.result("prompts/get", &haiku)?;
        Some(format!(
            "{tools}\n{}\nexit {}: {}\n{}: {}\n{}: {}",
            text(&called["content"][0]),
            failed.code,
            text(&failed.json()["result"]["content"][0]),
            uris["resources"][0]["uri"],
            text(&read["contents"][0]),
            prompts["prompts"][0]["name"],
            text(&prompt["messages"][0]["content"]),
        ))
    }

    /// Uses a gateway in search mode.
    fn search(&self) -> Option<String> {
        let tools = known(&self.result("tools/list", &[])?["tools"]);
        let found = self.call("tool_search", &json!({"query": "day of the week"}))?;
        let id = &found["structuredContent"]["matches"][0]["id"];
        let arguments = json!({"id": id, "arguments": {"date": "2020-01-01"}});
        let called = self.call("tool_call", &arguments)?;
        Some(format!("{tools}\n{id}\n{}", text(&called["content"][0])))
    }
}

#[test]
fn inspector_uses_the_gateway_over_stdio() {
    let machine = machine();
    let inspector = |mode, era| Inspector {
        machine: &machine,
        target: vec![MCP, "serve", "--trust-host", "--mode", mode],
        era,
    };
    let Some(said) = inspector("all", "legacy").tour() else { return };
    assert_snapshot!(said, @r#"
    mcp__demo__weekday
    2020-01-01 is a Wednesday
    exit 5: a date looks like 1969-07-20
    "demo://guide": Convert units, count words, find primes, keep notes, order pizza.
    "mcp__demo__haiku": Write a haiku about x.
    "#);
    let said = inspector("search", "modern").search().unwrap();
    assert_snapshot!(said, @r#"
    tool_call
    "mcp__demo__weekday"
    2020-01-01 is a Wednesday
    "#);
}

#[test]
fn inspector_gets_a_long_result_with_an_output_schema() {
    let Some(machine) = super::with_long_result() else { return };
    for era in ["legacy", "modern"] {
        let target = vec![MCP, "serve", "--trust-host", "--mode", "all"];
        let inspector = Inspector { machine: &machine, target, era };
        let Some(result) = inspector.call("mcp__files__read", &json!({})) else { return };
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{era}");
        assert_eq!(text(&result["content"][0]).chars().count(), 2_125_000, "{era}");
        assert!(result["structuredContent"]["content"] == result["content"][0]["text"], "{era}");
    }
}

#[test]
fn inspector_uses_the_gateway_over_http() {
    let machine = machine();
    let all = machine.listen(&["--trust-host", "--mode", "all"]);
    let inspector = Inspector { machine: &machine, target: vec![&all.url], era: "modern" };
    let Some(said) = inspector.tour() else { return };
    assert_snapshot!(said, @r#"
    mcp__demo__weekday
    2020-01-01 is a Wednesday
    exit 5: a date looks like 1969-07-20
    "demo://guide": Convert units, count words, find primes, keep notes, order pizza.
    "mcp__demo__haiku": Write a haiku about x.
    "#);
    let search = machine.listen(&["--trust-host", "--mode", "search"]);
    let inspector = Inspector { machine: &machine, target: vec![&search.url], era: "legacy" };
    assert_snapshot!(inspector.search().unwrap(), @r#"
    tool_call
    "mcp__demo__weekday"
    2020-01-01 is a Wednesday
    "#);
}

/// Runs mcporter with servers called `all` and `search`.
fn porter(machine: &Machine, servers: &Value) -> Option<String> {
    let kit = kit("MCP_CLIENTS")?;
    let config = machine.write("porter.json", &json!({"mcpServers": servers}).to_string());
    let run = |args: &[&str]| {
        let mut command = Command::new(node(&kit));
        command.arg(kit.join("mcporter/dist/cli.js"));
        machine.set_up(&mut command);
        command.env("NO_PROXY", "127.0.0.1").arg("--config").arg(&config).args(args);
        machine.finish(command, "")
    };
    let listed = run(&["list", "all", "--json"]).json();
    let called = run(&["call", "all.mcp__demo__weekday", "date=2020-01-01"]);
    let failed = run(&["call", "all.mcp__demo__weekday", "date=soon", "--output", "json"]);
    let read = run(&["resource", "all", "demo://guide"]);
    let found = run(&["call", "search.tool_search", "query=day of the week", "--output", "json"]);
    let id = found.json()["matches"][0]["id"].clone();
    let arguments = json!({"id": id, "arguments": {"date": "2020-01-01"}}).to_string();
    let through = run(&["call", "search.tool_call", "--args", &arguments]);
    Some(format!(
        "{}: {}\n{}exit {}: {}\n{}{id}\n{}",
        listed["status"],
        known(&listed["tools"]),
        called.stdout,
        failed.code,
        text(&failed.json()["content"][0]),
        read.stdout,
        through.stdout,
    ))
}

#[test]
fn mcporter_uses_the_gateway_over_stdio() {
    let gateway = |mode| json!({"command": MCP, "args": ["serve", "--trust-host", "--mode", mode]});
    let servers = json!({"all": gateway("all"), "search": gateway("search")});
    let Some(said) = porter(&machine(), &servers) else { return };
    assert_snapshot!(said, @r#"
    "ok": mcp__demo__weekday
    2020-01-01 is a Wednesday
    exit 1: a date looks like 1969-07-20
    Convert units, count words, find primes, keep notes, order pizza.
    "mcp__demo__weekday"
    2020-01-01 is a Wednesday
    "#);
}

#[test]
fn mcporter_uses_the_gateway_over_http() {
    let machine = machine();
    let [all, search] =
        ["all", "search"].map(|mode| machine.listen(&["--trust-host", "--mode", mode]));
    let servers = json!({"all": {"url": all.url}, "search": {"url": search.url}});
    let Some(said) = porter(&machine, &servers) else { return };
    assert_snapshot!(said, @r#"
    "ok": mcp__demo__weekday
    2020-01-01 is a Wednesday
    exit 1: a date looks like 1969-07-20
    Convert units, count words, find primes, keep notes, order pizza.
    "mcp__demo__weekday"
    2020-01-01 is a Wednesday
    "#);
}
