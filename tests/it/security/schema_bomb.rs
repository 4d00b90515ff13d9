//! A server whose schemas take exponential time to validate, next to an ordinary one.

use mcp_bridge::{Bridge, CallContext, RawJson, ServerConfig, tool::Note};
use mcp_config::{Stdio, Transport};
use serde_json::{Value, json};

use crate::bridge::{call, config, options};

/// Answers in revision 2025-06-18 with the tools of its argument.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}' ;;
    *'"tools/list"'*) result=$1 ;;
    *'"tools/call"'*) result='{"content":[],"structuredContent":{"p":"s"}}' ;;
    *'"ping"'*) result='{}' ;;
    *) [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"
       continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

fn doubling() -> Value {
    let mut defs = json!({"a0": {"type": "string"}});
    for level in 1..=40 {
        let below = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        defs[format!("a{level}")] = json!({"allOf": [below, below]});
    }
    json!({"type": "object", "$defs": defs, "properties": {"p": {"$ref": "#/$defs/a40"}}})
}

fn hostile() -> ServerConfig {
    let tools = json!({"tools": [{"name": "in", "inputSchema": doubling()},
        {"name": "out", "inputSchema": {"type": "object"}, "outputSchema": doubling()}]});
    let mut program = Stdio::new("sh");
    program.args = vec!["-c".into(), SERVER.into(), "sh".into(), tools.to_string().as_str().into()];
    let mut config = ServerConfig::new("ball".parse().unwrap(), Transport::Stdio(program));
    config.trust = true;
    config
}

/// As many hostile calls as there are threads would block the whole host if validation had no work limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schema_bombs_do_not_stop_the_calls_of_other_servers() {
    let bridge = Bridge::new(options());
    bridge.add_server_as_written(hostile());
    bridge.add_server_as_written(config("good"));
    bridge.start().await;
    let arguments = RawJson::encode(&json!({"p": "s"})).unwrap();
    let bomb = |tool| bridge.call(tool, arguments.clone(), CallContext::default());
    let bombs = async {
        let (a, b, c, d) = tokio::join!(
            bomb("mcp__ball__in"),
            bomb("mcp__ball__out"),
            bomb("mcp__ball__in"),
            bomb("mcp__ball__out"),
        );
        for outcome in [a, b, c, d] {
            assert!(!outcome.is_error, "{outcome}");
            assert!(matches!(&outcome.notes[..], [Note::Unchecked { .. }]), "{:?}", outcome.notes);
        }
    };
    let good = async {
        for _ in 0..20 {
            assert!(!call(&bridge, "mcp__good__echo").await.is_empty());
        }
    };
    tokio::join!(mcp_tests::soon("the bombs", bombs), good);
}
