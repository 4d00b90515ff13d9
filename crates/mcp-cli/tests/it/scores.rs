//! `mcp validate` and `mcp stats` for a server's published definitions.

use serde_json::{Value, json};

use crate::support::Machine;

/// A server with protocol revision 2025-06-18, one tool without a description, and instructions.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"},"instructions":"Always read the index before any other file."}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"ReadFile","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}' ;;
    *'"ping"'*) result='{}' ;;
    *) [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"
       continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

fn machine() -> Machine {
    let machine = Machine::new();
    let servers = json!({"mcpServers": {"bare": {"command": "sh", "args": ["-c", SERVER]}}});
    machine.write(".config/mcp/mcp.json", &servers.to_string());
    machine
}

#[test]
fn validate_scores_the_published_definition_and_not_the_default_description() {
    let machine = machine();
    // The second time the definition comes from the catalogue.
    for _ in 0..2 {
        let ran = machine.run(["validate", "--json"]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let tool = &ran.json()["tools"][0];
        assert_eq!((&tool["score"], &tool["passed"]), (&json!(25), &json!(false)), "{tool}");
        assert_eq!(tool["problems"][0], "has no description");
    }
}

#[test]
fn stats_show_instructions_over_turns() {
    let machine = machine();
    let row = |args: &[&str]| -> Value {
        let ran = machine.run(["stats", "--json"].iter().chain(args));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.json()["instructions"][0].clone()
    };
    let first = row(&[]);
    let tokens = first["tokens"].as_u64().unwrap();
    assert!((5..20).contains(&tokens), "{first}");
    assert_eq!(first["uncachedTokens"], tokens * 50);
    assert_eq!(first["cachedTokens"], tokens * 5);
    let fewer = row(&["--turns", "20"]);
    assert_eq!((&fewer["turns"], &fewer["uncachedTokens"]), (&json!(20), &json!(tokens * 20)));
    let shown = machine.run(["stats"]).stdout;
    let line = shown.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(line, format!("bare {tokens} 50 {} {}", tokens * 50, tokens * 5));
    assert_eq!(machine.run(["stats", "--turns", "0"]).code, 2);
}
