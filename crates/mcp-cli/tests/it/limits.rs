//! Commands end in time, even with a hostile server.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{scripted::Scripted, support::Machine, wire::lines};

/// How long a command may take after a signal or its timeout.
const ALLOWED: Duration = Duration::from_secs(2);

/// A schema of three kilobytes in which each definition doubles the work of the previous one.
fn bomb(depth: usize) -> Value {
    let definitions = (1..=depth).map(|n| {
        let below = json!({"$ref": format!("#/$defs/a{}", n - 1)});
        (format!("a{n}"), json!({"allOf": [below, below]}))
    });
    let mut definitions: serde_json::Map<String, Value> = definitions.collect();
    definitions.insert("a0".into(), json!({"type": "string"}));
    json!({"type": "object", "$defs": definitions,
        "properties": {"p": {"$ref": format!("#/$defs/a{depth}")}}})
}

/// Servers that keep a host busy: a tool whose schemas cost 2^40 steps, and floods of messages, of other text on
/// stdout, and of text on stderr.
fn machine() -> Machine {
    let machine = Machine::new();
    let server = Scripted::add(&machine, "bomb", &["--trust"]);
    let server = server.tools(&json!([
        {"name": "in", "inputSchema": bomb(40)},
        {"name": "out", "inputSchema": {"type": "object"}, "outputSchema": bomb(40)}]));
    server.result("tools/call", &json!({"content": [], "structuredContent": {"p": "s"}}));
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    for (name, flood) in [
        ("messages", format!("exec yes '{log}'")),
        ("noise", "exec yes noise".to_owned()),
        ("stderr", "exec yes noise >&2".to_owned()),
        ("mute", "cat >/dev/null".to_owned()),
    ] {
        machine.run(["add", "-s", "user", "--trust", name, "--", "sh", "-c", &flood]);
    }
    machine
}

const CALLS: [&[&str]; 2] = [&["call", "bomb/in", "p=s", "-y"], &["call", "bomb/out", "-y"]];
const FLOODS: [&str; 4] = ["messages", "noise", "stderr", "mute"];

/// Commands that contact the server named last.
const CONTACTING: [&[&str]; 7] = [
    &["get"],
    &["resources"],
    &["prompts"],
    &["ping"],
    &["connect"],
    &["validate"],
    &["generate", "types"],
];
/// Commands that contact every server, or name one with further arguments.
const WITHOUT_SERVER: [&[&str]; 10] = [
    &["list", "--connect"],
    &["search", "x"],
    &["stats"],
    &["validate"],
    &["doctor"],
    &["subscribe", "mute", "x:y"],
    // A flood is recorded completely, and redacted after the time limit.
    &["record", "mute", "-o", "tape"],
    &["read", "mute", "x:y"],
    &["prompt", "mute/p"],
    &["install", "--client", "cursor", "--yes"],
];
/// Commands that contact no configured server.
const NO_CONTACT: &[&str] = &[
    "add",
    "add-json",
    "approve",
    "audit",
    "auth",
    "completions",
    "demo",
    "disable",
    "disconnect",
    "down",
    "enable",
    "import",
    "login",
    "logout",
    "man",
    "remove",
    "replay",
    "secret",
    "status",
    "trust",
    "up",
];
/// Commands that run until a signal. `gateway_shutdown.rs` has those of `serve`.
const ENDLESS: &[&str] = &["serve", "watch"];

#[test]
fn timeout_ends_every_command() {
    let machine = machine();
    let mut commands: Vec<Vec<&str>> = CALLS.iter().map(|call| call.to_vec()).collect();
    for server in FLOODS {
        commands.extend([vec!["tools", server], vec!["logs", server]]);
    }
    for server in ["messages", "mute"] {
        for command in CONTACTING {
            commands.push(command.iter().copied().chain([server]).collect());
        }
    }
    commands.extend(WITHOUT_SERVER.iter().map(|command| command.to_vec()));
    for name in machine.commands() {
        let is_known = commands.iter().any(|command| command[0] == name)
            || NO_CONTACT.contains(&name.as_str())
            || ENDLESS.contains(&name.as_str());
        assert!(is_known, "`mcp {name}` is missing from the lists of this file");
    }
    for mut command in commands {
        command.extend(["--timeout", "1"]);
        let begun = Instant::now();
        let ran = machine.run(&command);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(1) + ALLOWED, "{command:?}: {took:?} {}", ran.stderr);
    }
}

#[test]
fn signal_ends_every_command() {
    let machine = machine();
    let commands = CALLS.iter().map(|call| call.to_vec());
    let floods = FLOODS.iter().flat_map(|server| [vec!["tools", server], vec!["watch", server]]);
    let more = CONTACTING.iter().map(|command| command.iter().copied().chain(["mute"]).collect());
    for command in commands.chain(floods).chain(more) {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let mut child = machine.command(&command).stderr(Stdio::piped()).spawn().unwrap();
            let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
            // The command is working once it has started its server.
            while children(child.id()).is_empty() {
                if let Some(status) = child.try_wait().unwrap() {
                    panic!("{command:?} ended too early: {status}");
                }
                std::thread::yield_now();
            }
            let said = lines(child.stderr.take().unwrap());
            let begun = Instant::now();
            nix::sys::signal::kill(pid, signal).unwrap();
            child.wait().unwrap();
            let took = begun.elapsed();
            assert!(took < ALLOWED, "{command:?} after {signal}: {took:?}");
            drop(said);
        }
    }
}

/// Returns the child processes of a process.
fn children(pid: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default())
        .collect()
}

/// The writer is blocked, because the pipe is full and its reader does not read.
#[test]
fn signal_ends_a_command_with_blocked_output() {
    let machine = Machine::new();
    let text = "x".repeat(1 << 20);
    let server = Scripted::add(&machine, "wordy", &["--trust"]);
    let server = server.tools(&json!([{"name": "t", "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true}}]));
    server.result("resources/list", &json!({"resources": [{"uri": "x://1", "name": "x"}]}));
    server.result("resources/read", &json!({"contents": [{"uri": "x://1", "text": text}]}));
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = machine.command(["read", "wordy", "x://1", "--json"]);
    let mut child = command.stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    std::io::Read::read_exact(&mut reader, &mut [0; 100]).unwrap();
    let begun = Instant::now();
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < ALLOWED, "{:?}", begun.elapsed());
}
