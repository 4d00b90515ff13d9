//! The gateway, spoken to by a client of ours over both transports, and by hand.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::json;

use crate::{
    support::{MCP, Machine},
    wire::Gateway,
};

/// A machine whose tools are remembered already.
fn machine() -> Machine {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["list"]).code, 0);
    machine
}

#[test]
fn every_tool_is_offered_and_can_be_called() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    let names = gateway.tools();
    assert!(names.contains(&"mcp__demo__weekday".to_owned()), "{names:?}");
    let result = gateway.call("mcp__demo__weekday", &json!({"date": "2020-01-01"}));
    assert_eq!(result["content"][0]["text"], "2020-01-01 is a Wednesday");
    let listed = gateway.ask("resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "demo://guide");
    let read = gateway.ask("resources/read", &json!({"uri": "demo://guide"}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().starts_with("Convert"));
    let prompt = gateway
        .ask("prompts/get", &json!({"name": "mcp__demo__haiku", "arguments": {"about": "x"}}));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Write a haiku about x.");
    gateway.end();
}

#[test]
fn who_asks_only_once_sees_everything_on_the_first_run_too() {
    let machine = Machine::with_demo();
    let mut gateway = Gateway::start(&machine, &["--names", "own"], &json!({}));
    assert!(gateway.tools().contains(&"weekday".to_owned()));
    let prompts = gateway.ask("prompts/list", &json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["name"], "haiku");
    gateway.end();
}

#[test]
fn what_is_remembered_is_listed_without_starting_anything() {
    let machine = Machine::new();
    let program = format!("echo x >> {}/starts; exec {MCP} demo --stdio", machine.home().display());
    let added = machine.run(["add", "-s", "user", "demo", "--", "sh", "-c", &program]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let list = |gateway: &mut Gateway| {
        let mut count = |method: &str, key: &str| {
            gateway.ask(method, &json!({}))["result"][key].as_array().map(Vec::len)
        };
        assert_eq!(count("prompts/list", "prompts"), Some(1));
        assert_eq!(count("resources/list", "resources"), Some(1));
        assert_eq!(count("resources/templates/list", "resourceTemplates"), Some(0));
    };
    let mut first = Gateway::start(&machine, &["--trust-host"], &json!({}));
    list(&mut first);
    first.end();
    assert_eq!(machine.read("starts"), "x\n");
    let mut second = Gateway::start(&machine, &["--trust-host"], &json!({}));
    list(&mut second);
    assert_eq!(machine.read("starts"), "x\n", "everything is known from last time");
    let read = second.ask("resources/read", &json!({"uri": "demo://guide"}));
    assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    assert_eq!(machine.read("starts"), "x\nx\n", "reading starts it");
    second.end();
}

#[test]
fn a_server_that_is_only_remembered_is_started_for_what_it_has_besides_tools() {
    let machine = machine();
    for (method, key) in [("resources/list", "resources"), ("prompts/list", "prompts")] {
        let mut gateway = Gateway::start(&machine, &[], &json!({}));
        let listed = gateway.ask(method, &json!({}));
        assert_eq!(listed["result"][key].as_array().map(Vec::len), Some(1), "{listed}");
        gateway.end();
    }
}

#[test]
fn what_the_server_behind_asks_reaches_the_client_and_its_answer_the_server() {
    let capabilities = json!({"elicitation": {"form": {}}});
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &capabilities);
    let id =
        gateway.begin("tools/call", &json!({"name": "mcp__demo__order_pizza", "arguments": {}}));
    let question = gateway.hear_until(|message| message["method"] == "elicitation/create");
    assert!(question["params"]["requestedSchema"]["properties"]["kind"].is_object());
    let answer = json!({"action": "decline"});
    gateway.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let result =
        gateway.hear_until(|message| message["id"] == id && message.get("method").is_none());
    assert_eq!(result["result"]["content"][0]["text"], "nothing was ordered");
    gateway.end();
}

#[test]
fn progress_of_the_server_behind_reaches_the_client() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    let id = gateway.begin(
        "tools/call",
        &json!({"name": "mcp__demo__find_primes",
        "arguments": {"limit": 100, "pause_ms": 50}, "_meta": {"progressToken": "p"}}),
    );
    let mut last = 0.0;
    gateway.hear_until(|message| {
        if message["method"] == "notifications/progress" {
            assert_eq!(message["params"]["progressToken"], "p");
            last = message["params"]["progress"].as_f64().unwrap();
        }
        message["id"] == id
    });
    assert!(last > 0.0);
    gateway.end();
}

#[test]
fn in_search_mode_two_tools_are_enough() {
    let args = ["--mode", "search", "--allow-tool", "mcp:demo:*"];
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &args, &json!({}));
    let names = gateway.tools();
    assert!(names.contains(&"tool_search".into()) && names.contains(&"tool_call".into()));
    assert!(!names.iter().any(|name| name.starts_with("mcp__demo__")), "{names:?}");
    let found = gateway.call("tool_search", &json!({"query": "day of the week"}));
    let hit = &found["structuredContent"]["matches"][0];
    assert_eq!(hit["id"], "mcp__demo__weekday");
    assert_eq!(hit["inputSchema"]["required"][0], "date");
    let arguments = json!({"id": hit["id"], "arguments": {"date": "2020-01-01"}});
    assert_eq!(
        gateway.call("tool_call", &arguments)["content"][0]["text"],
        "2020-01-01 is a Wednesday"
    );
    assert!(!gateway.tools().iter().any(|name| name.starts_with("mcp__demo__")), "it stays short");
    let missing = gateway.call("tool_call", &json!({"id": "mcp__demo__nothing"}));
    assert_eq!(missing["isError"], true);
    let unnamed = gateway.call("tool_call", &json!({"name": "mcp__demo__weekday"}));
    let text = unnamed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("`id`"), "{text}");
    gateway.end();
}

#[test]
fn who_cannot_be_asked_is_denied_and_who_can_be_is_asked() {
    let machine = machine();
    let mut mute = Gateway::start(&machine, &[], &json!({}));
    let denied = mute.call("mcp__demo__list_notes", &json!({}));
    assert_eq!(denied["isError"], true);
    let text = denied["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("--allow-tool mcp:demo:list_notes"), "{text}");
    mute.end();
    for (answer, expected) in [
        (json!({"action": "accept", "content": {"run": true}}), "1. water the plants\n2. call Ada"),
        (json!({"action": "accept", "content": {"run": false}}), "denied: the user said no"),
        (json!({"action": "accept", "content": {}}), "denied: the user said no"),
        (json!({"action": "accept", "content": {"run": "false"}}), "denied: the user said no"),
        (json!({"action": "decline"}), "denied: the user said no"),
    ] {
        let mut asked = Gateway::start(&machine, &[], &json!({"elicitation": {"form": {}}}));
        let id =
            asked.begin("tools/call", &json!({"name": "mcp__demo__list_notes", "arguments": {}}));
        let question = asked.hear_until(|message| message["method"] == "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains("mcp:demo:list_notes"));
        asked.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let result =
            asked.hear_until(|message| message["id"] == id && message.get("result").is_some());
        assert_eq!(result["result"]["content"][0]["text"], expected);
        asked.end();
    }
}

#[test]
fn a_rule_that_denies_is_not_lifted_by_one_that_allows() {
    let args = ["--trust-host", "--allow-tool", "mcp:*", "--deny-tool", "mcp:demo:delete_*"];
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &args, &json!({"elicitation": {}}));
    let denied = gateway.call("mcp__demo__delete_notes", &json!({}));
    assert_eq!(denied["isError"], true);
    assert!(denied["content"][0]["text"].as_str().unwrap().contains("a rule denies"));
    gateway.end();
}

#[test]
fn a_changed_file_takes_effect_while_a_call_goes_on() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    assert!(!gateway.tools().iter().any(|name| name.starts_with("mcp__second__")));
    // Long enough to be there when the file changes; it is not waited for but by its own answer.
    let call = gateway.begin(
        "tools/call",
        &json!({"name": "mcp__demo__find_primes",
        "arguments": {"limit": 100, "pause_ms": 150}}),
    );
    let added =
        machine.run(["add", "-s", "user", "second", "--", MCP, "demo", "--stdio", "--quiet"]);
    assert_eq!(added.code, 0);
    let mut is_answered = false;
    let mut is_told = false;
    while !(is_answered && is_told) {
        let message = gateway.hear();
        is_told |= message["method"] == "notifications/tools/list_changed";
        if message["id"] == call {
            let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.starts_with("25 primes"), "{message}");
            is_answered = true;
        }
    }
    // The first change may be of the first server; ours comes as another.
    while !gateway.tools().iter().any(|name| name.starts_with("mcp__second__")) {
        gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
    }
    gateway.end();
}

#[test]
fn over_http_it_is_a_server_like_any_other() {
    let machine = machine();
    let mut command = machine.command(["serve", "--http", "127.0.0.1:0", "--trust-host"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("serving at ").map(str::to_owned));
    let file = json!({"mcpServers": {"gateway": {"type": "http", "url": address.unwrap()}}});
    machine.write("remote.json", &file.to_string());
    let config = machine.home().join("remote.json");
    let mut call = machine.command(["call", "gateway/mcp__demo__weekday", "date=2020-01-01", "-y"]);
    call.arg("--config").arg(config);
    let ran = machine.finish(call, "");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "2020-01-01 is a Wednesday\n"),
        "{}",
        ran.stderr
    );
    #[cfg(unix)]
    {
        use nix::{sys::signal, unistd::Pid};
        let pid = Pid::from_raw(child.id().try_into().unwrap());
        signal::kill(pid, signal::Signal::SIGTERM).unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "a signal is a way to end in good order");
    let open = machine.run(["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(open.code, 2, "an address anybody can reach needs a token");
}
