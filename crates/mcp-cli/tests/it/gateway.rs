//! The gateway, used by our client over both transports and by hand-written messages.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::json;

use crate::{
    support::{MCP, Machine},
    wire::Gateway,
};

/// Returns a machine with its tools in the catalogue.
fn machine() -> Machine {
    let machine = Machine::with_demo();
    assert_eq!(machine.run(["list"]).code, 0);
    machine
}

#[test]
fn every_tool_is_listed_and_can_be_called() {
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
fn first_listing_is_complete_on_the_first_run() {
    let machine = Machine::with_demo();
    let args = ["--names", "own", "--no-resource-tools"];
    let mut gateway = Gateway::start(&machine, &args, &json!({}));
    let names = gateway.tools();
    assert!(names.contains(&"weekday".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with("_mcp_resource")), "{names:?}");
    let prompts = gateway.ask("prompts/list", &json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["name"], "haiku");
    gateway.end();
}

#[test]
fn names_option_removes_the_prefix() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--names", "server"], &json!({}));
    let names = gateway.tools();
    assert!(names.contains(&"demo_weekday".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("mcp_")), "{names:?}");
    gateway.end();
}

#[test]
fn catalogue_is_listed_without_starting_a_server() {
    let machine = Machine::new();
    let program = format!("echo x >> {}/starts; exec {MCP} demo --stdio", machine.home().display());
    let added = machine.run(["add", "-s", "user", "demo", "--", "sh", "-c", &program]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    // It writes into the home, which a sandbox would replace.
    assert_eq!(machine.run(["trust", "demo"]).code, 0);
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
    assert_eq!(machine.read("starts"), "x\n", "everything is in the catalogue");
    let read = second.ask("resources/read", &json!({"uri": "demo://guide"}));
    assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    assert_eq!(machine.read("starts"), "x\nx\n", "reading starts it");
    second.end();
}

#[test]
fn server_in_the_catalogue_is_started_to_list_resources_and_prompts() {
    let machine = machine();
    for (method, key) in [("resources/list", "resources"), ("prompts/list", "prompts")] {
        let mut gateway = Gateway::start(&machine, &[], &json!({}));
        let listed = gateway.ask(method, &json!({}));
        assert_eq!(listed["result"][key].as_array().map(Vec::len), Some(1), "{listed}");
        gateway.end();
    }
}

#[test]
fn elicitation_passes_through_the_gateway() {
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
fn progress_passes_through_the_gateway() {
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
fn search_mode_lists_only_search_and_call() {
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
    assert!(
        !gateway.tools().iter().any(|name| name.starts_with("mcp__demo__")),
        "the list does not grow"
    );
    let missing = gateway.call("tool_call", &json!({"id": "mcp__demo__nothing"}));
    assert_eq!(missing["isError"], true);
    let unnamed = gateway.call("tool_call", &json!({"name": "mcp__demo__weekday"}));
    let text = unnamed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("`id`"), "{text}");
    gateway.end();
}

#[test]
fn calls_are_denied_without_elicitation_and_asked_about_with_it() {
    let machine = machine();
    let mut mute = Gateway::start(&machine, &[], &json!({}));
    let denied = mute.call("mcp__demo__list_notes", &json!({}));
    assert_eq!(denied["isError"], true);
    assert_eq!(denied["content"][0]["text"], "denied: the user could not be asked");
    mute.remarks("--allow-tool mcp:demo:list_notes");
    mute.end();
    for (answer, expected) in [
        (json!({"action": "accept", "content": {"run": true}}), "1. water the plants\n2. call Ada"),
        (json!({"action": "accept", "content": {"run": false}}), "denied: the user said no"),
        (json!({"action": "accept", "content": {}}), "denied: the user said no"),
        (json!({"action": "accept", "content": {"run": "false"}}), "denied: the user said no"),
        (json!({"action": "decline"}), "denied: the client declined"),
        (json!({"action": "cancel"}), "denied: the client declined"),
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

/// Returns the listed tools of the demo server.
fn listed(gateway: &mut Gateway) -> Vec<String> {
    let mut names = gateway.tools();
    names.retain(|name| name.starts_with("mcp__demo__"));
    names
}

#[test]
fn flags_and_file_settings_decide_which_tools_are_listed() {
    let machine = machine();
    let flags = ["--search-threshold", "3", "--always-load", "mcp__demo__week*"];
    let mut gateway = Gateway::start(&machine, &flags, &json!({}));
    assert_eq!(listed(&mut gateway), ["mcp__demo__weekday"]);
    gateway.end();
    let file = ".config/mcp/mcp.json";
    let settings = r#"{"tool_search": {"threshold": 3}, "alwaysLoadTools": ["mcp__demo__week*"],
        "trustRules": [{"permission": "mcp:demo:weekday", "action": "deny"}],"#;
    machine.write(file, &machine.read(file).replacen('{', settings, 1));
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    assert_eq!(listed(&mut gateway), ["mcp__demo__weekday"]);
    let denied = gateway.call("mcp__demo__weekday", &json!({"date": "2020-01-01"}));
    assert_eq!(denied["isError"], true, "{denied}");
    gateway.end();
    let many = ["--search-threshold", "100"];
    let mut gateway = Gateway::start(&machine, &many, &json!({}));
    assert!(listed(&mut gateway).len() > 3, "a flag wins over a file");
    gateway.end();
}

#[test]
fn denied_server_offers_no_resources_or_prompts() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--deny-tool", "mcp:demo:*"], &json!({}));
    let resources = gateway.ask("resources/list", &json!({}));
    assert_eq!(resources["result"]["resources"], json!([]), "{resources}");
    let prompts = gateway.ask("prompts/list", &json!({}));
    assert_eq!(prompts["result"]["prompts"], json!([]), "{prompts}");
    let read = gateway.ask("resources/read", &json!({"uri": "demo://guide"}));
    assert!(read["error"].is_object(), "{read}");
    let got = gateway.ask("prompts/get", &json!({"name": "mcp__demo__haiku", "arguments": {}}));
    assert!(got["error"].is_object(), "{got}");
    gateway.end();
}

#[test]
fn allow_rule_does_not_override_a_deny_rule() {
    let args = ["--trust-host", "--allow-tool", "mcp:*", "--deny-tool", "mcp:demo:delete_*"];
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &args, &json!({"elicitation": {}}));
    let denied = gateway.call("mcp__demo__delete_notes", &json!({}));
    assert_eq!(denied["isError"], true);
    assert!(denied["content"][0]["text"].as_str().unwrap().contains("a rule denies"));
    gateway.end();
}

#[test]
fn changed_file_takes_effect_during_a_call() {
    let machine = machine();
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    assert!(!gateway.tools().iter().any(|name| name.starts_with("mcp__second__")));
    // Long enough to be in flight when the file changes; the test waits only for its response.
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
    // The first notification may be about the first server, and the one for ours comes later.
    while !gateway.tools().iter().any(|name| name.starts_with("mcp__second__")) {
        gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
    }
    gateway.end();
}

#[test]
fn http_gateway_is_used_like_any_server() {
    let machine = machine();
    let mut command =
        machine.command(["serve", "--http", "127.0.0.1:0", "--no-token", "--trust-host"]);
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
    assert_eq!(child.wait().unwrap().code(), Some(0), "a signal stops it with exit code 0");
}
