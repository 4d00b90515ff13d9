//! Names of tools in a client that adds a prefix of its own.

use serde_json::{Value, json};

use crate::{support::Machine, wire::Gateway};

/// The arguments that `mcp install` writes, after `serve`.
fn installed(machine: &Machine, flags: &[&str]) -> Vec<String> {
    let printed = machine.run([&["install", "--client", "cursor", "--print"], flags].concat());
    let file: Value = serde_json::from_str(&printed.stdout).unwrap();
    let args = file["mcpServers"]["gateway"]["args"].as_array().unwrap();
    args.iter().skip(1).map(|arg| arg.as_str().unwrap().to_owned()).collect()
}

#[test]
fn installed_gateway_does_not_repeat_the_prefix_of_its_client() {
    let machine = Machine::with_demo();
    for mode in ["auto", "all"] {
        let args = installed(&machine, &["--mode", mode]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut gateway = Gateway::start(&machine, &args, &json!({}));
        let seen: Vec<String> =
            gateway.tools().iter().map(|tool| format!("mcp__gateway__{tool}")).collect();
        assert!(seen.contains(&"mcp__gateway__demo_weekday".to_owned()), "{seen:?}");
        assert!(seen.iter().all(|name| name.matches("mcp__").count() == 1), "{seen:?}");
        gateway.end();
    }
}

#[test]
fn other_names_can_be_installed() {
    let machine = Machine::new();
    for names in ["full", "server", "own"] {
        let args = installed(&machine, &["--names", names]);
        assert_eq!(args, ["--names", names]);
    }
}
