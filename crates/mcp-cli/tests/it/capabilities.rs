//! The capabilities that commands declare to servers.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::{support::Machine, wire::Gateway};

/// A server with one tool that writes every line it reads to the file `$1`.
const SERVER: &str = r#"
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$1"
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '"result":{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) say '"result":{"content":[]}' ;;
    *'"method":"ping"'*) say '"result":{}' ;;
    *'"id":'*) say '"error":{"code":-32601,"message":"unknown method"}' ;;
  esac
done
"#;

/// Returns the capabilities in the handshakes of a server since the last call.
fn declared(machine: &Machine) -> Vec<Value> {
    let path = machine.project().join("heard");
    let heard = fs::read_to_string(&path).unwrap();
    fs::write(&path, "").unwrap();
    let messages = heard.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages
        .filter(|message| message["method"] == "initialize")
        .map(|message| message["params"]["capabilities"].clone())
        .collect()
}

/// What a server offers may depend on them, and all commands share one catalogue.
#[test]
fn every_command_declares_the_same_capabilities() {
    for is_trusted in [true, false] {
        let machine = Machine::new();
        // In the project, where the sandbox of an untrusted server lets it write.
        let heard = machine.project().join("heard").display().to_string();
        let mut add = vec!["add", "-s", "user"];
        add.extend(is_trusted.then_some("--trust"));
        add.extend(["s", "--", "sh", "-c", SERVER, "sh", &heard]);
        assert_eq!(machine.run(add).code, 0);
        let mut all: BTreeSet<String> = BTreeSet::new();
        for command in [
            &["tools", "--refresh"][..],
            &["tools", "s"],
            &["list", "--connect"],
            &["call", "s/go", "-y"],
            &["explain", "s"],
            &["connect", "s"],
            &["logs", "s"],
            &["ping", "s"],
            &["prompts", "s"],
            &["generate", "types", "s"],
            &["record", "s/go", "-o", "tape", "-y"],
            &["record", "-o", "tape", "--", "mcp", "call", "s/go", "-y"],
            &["doctor"],
        ] {
            let ran = machine.run(command);
            assert_eq!(ran.code, 0, "{command:?}: {}{}", ran.stdout, ran.stderr);
            let found = declared(&machine);
            assert!(!found.is_empty(), "{command:?} made no handshake");
            all.extend(found.iter().map(ToString::to_string));
        }
        let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
        gateway.call("mcp__s__go", &json!({}));
        gateway.end();
        all.extend(declared(&machine).iter().map(ToString::to_string));
        assert_eq!(all.len(), 1, "trusted: {is_trusted}: {all:#?}");
        let one: Value = serde_json::from_str(all.first().unwrap()).unwrap();
        assert!(one["elicitation"].is_object(), "{one}");
        assert_eq!(one["sampling"].is_object(), is_trusted, "{one}");
    }
}
