//! Custom tools, in a terminal and behind the gateway.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{
    support::{MCP, Machine},
    wire::Gateway,
};

fn tools() -> Value {
    json!({
        "moon_landing": {
            "description": "The day people first walked on the moon.",
            "readOnly": true,
            "steps": [{"tool": "demo/weekday", "fixed": {"date": "1969-07-20"}}],
        },
        "words_about": {
            "description": "Counts the words that are said about a day.",
            "parameters": {"type": "object", "required": ["day"], "properties": {"day": {"type": "string"}}},
            "steps": [
                {"tool": "demo/weekday", "rename": {"day": "date"}},
                {"tool": "demo/text_statistics", "resultAs": "text"},
            ],
        },
    })
}

fn file(machine: &Machine, trust: bool, tools: &Value) -> PathBuf {
    let server = json!({"command": MCP, "args": ["demo", "--stdio"], "trust": trust});
    let text = json!({"mcpServers": {"demo": server}, "customTools": tools});
    machine.write("custom.json", &text.to_string())
}

#[test]
fn custom_tool_is_listed_and_called_like_others() {
    let machine = Machine::new();
    let path = file(&machine, true, &tools());
    let config = ["--config", path.to_str().unwrap()];
    let run = |args: &[&str]| machine.run(config.iter().chain(args));
    let listed = run(&["tools", "--json"]).json();
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["moon_landing", "words_about"]);
    assert!(run(&["search", "walked on the moon"]).stdout.contains("moon_landing"));
    let called = run(&["call", "moon_landing"]);
    assert_eq!((called.code, called.stdout.as_str()), (0, "1969-07-20 is a Sunday\n"));
    let chained = run(&["call", "words_about", "day=1969-07-20"]);
    assert!(chained.stdout.starts_with("4 words"), "{}{}", chained.stdout, chained.stderr);
    let missing = run(&["call", "words_about"]);
    assert_ne!(missing.code, 0);
    assert!(missing.stderr.contains("day"), "{}", missing.stderr);
}

#[test]
fn invalid_custom_tool_does_not_affect_others() {
    let machine = Machine::new();
    let mut all = tools();
    all["bad name"] = json!({"steps": [{"tool": "demo/weekday"}]});
    all["odd"] = json!({"parameters": {"type": "array"}, "steps": [{"tool": "demo/weekday"}]});
    let path = file(&machine, true, &all);
    let called = machine.run(["--config", path.to_str().unwrap(), "call", "moon_landing"]);
    assert_eq!(called.stdout, "1969-07-20 is a Sunday\n");
    assert!(called.stderr.contains("letters, digits"), "{}", called.stderr);
    assert!(called.stderr.contains("skipped: the parameters of `odd`"), "{}", called.stderr);
}

#[test]
fn project_custom_tools_need_approval() {
    let machine = Machine::with_demo();
    let project = |tools: &Value| {
        machine.write("project/.mcp.json", &json!({"customTools": tools}).to_string());
    };
    project(&tools());
    let refused = machine.run(["call", "moon_landing", "--yes"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("custom tools not used until approved: moon_landing"));
    let explained = machine.run(["explain", "moon_landing"]).stdout;
    let first =
        "`moon_landing` is a custom tool, and waits for your approval: it came with the project";
    assert!(explained.starts_with(first), "{explained}");
    for word in ["[home]/project/.mcp.json:1:17", "demo/weekday", "1969-07-20", "readOnly"] {
        assert!(explained.contains(word), "{word}: {explained}");
    }
    assert_eq!(machine.run(["approve", "moon_landing", "-y"]).stdout, "approved: moon_landing\n");
    let called = machine.run(["call", "moon_landing", "--yes"]);
    assert_eq!(called.stdout, "1969-07-20 is a Sunday\n", "{}", called.stderr);
    let mut changed = tools();
    changed["moon_landing"]["steps"][0]["tool"] = "demo/delete_notes".into();
    project(&changed);
    assert_ne!(machine.run(["call", "moon_landing", "--yes"]).code, 0, "the entry has changed");
}

#[test]
fn gateway_asks_about_each_step_and_reloads_a_changed_file() {
    let machine = Machine::new();
    let path = file(&machine, false, &tools());
    let args = ["--config", path.to_str().unwrap()];
    let mut gateway = Gateway::start(&machine, &args, &json!({"elicitation": {"form": {}}}));
    assert!(gateway.tools().contains(&"moon_landing".to_owned()));
    let id = gateway.begin("tools/call", &json!({"name": "moon_landing", "arguments": {}}));
    let question = gateway.hear_until(|message| message["method"] == "elicitation/create");
    let asked = question["params"]["message"].as_str().unwrap();
    assert!(asked.starts_with("Run \"mcp:demo:weekday\"?"), "{asked}");
    let answer = json!({"action": "accept", "content": {"run": true}});
    gateway.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let result = gateway.hear_until(|m| m["id"] == id && m.get("result").is_some());
    assert_eq!(result["result"]["content"][0]["text"], "1969-07-20 is a Sunday");
    let mut other = tools();
    other.as_object_mut().unwrap().remove("moon_landing");
    other["first_flight"] =
        json!({"steps": [{"tool": "demo/weekday", "fixed": {"date": "1903-12-17"}}]});
    file(&machine, false, &other);
    loop {
        gateway.hear_until(|message| message["method"] == "notifications/tools/list_changed");
        let names = gateway.tools();
        if names.contains(&"first_flight".to_owned()) {
            assert!(!names.contains(&"moon_landing".to_owned()), "{names:?}");
            break;
        }
    }
    gateway.end();
}

#[test]
fn doctor_reports_steps_without_a_server() {
    let machine = Machine::new();
    let mut all = tools();
    all["adrift"] = json!({"steps": [{"tool": "nowhere/tool"}]});
    let path = file(&machine, true, &all);
    let said = machine.run(["--config", path.to_str().unwrap(), "doctor", "--offline"]).stdout;
    assert!(said.contains("its step `nowhere/tool` does not belong to an active server"), "{said}");
    assert!(!said.contains("demo/weekday` does not belong"), "{said}");
}

#[test]
fn server_and_custom_tool_of_one_name_are_both_asked_about() {
    let machine = Machine::new();
    let both = json!({
        "mcpServers": {"twin": {"command": MCP, "args": ["demo", "--stdio"]}},
        "customTools": {"twin": {"steps": [{"tool": "twin/weekday", "resultAs": "body"}]}},
    });
    machine.write("project/.mcp.json", &both.to_string());
    let explained = machine.run(["explain", "twin", "--offline"]).stdout;
    assert!(
        explained.contains("is a custom tool") && explained.contains("resultAs"),
        "{explained}"
    );
    let unasked = machine.run(["approve", "twin"]);
    assert_eq!((unasked.code, unasked.stdout.as_str()), (7, ""), "{}", unasked.stderr);
    assert!(unasked.stderr.contains("is a custom tool"), "{}", unasked.stderr);
    assert_eq!(machine.run(["approve", "twin", "--yes"]).stdout, "approved: twin, twin\n");
}
