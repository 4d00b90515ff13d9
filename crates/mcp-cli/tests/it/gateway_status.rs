//! A running gateway from outside: its log file, `mcp status` and `mcp doctor`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{scripted::Scripted, support::Machine, wire::Gateway};

const LOG: &str = ".local/state/mcp/gateways/gateway.log";
const SECRET: &str = "hunter22-hunter22";

/// A machine with a server whose one tool is refused by the server.
fn machine_with_failing_tool() -> Machine {
    let machine = Machine::new();
    let tool = json!({"name": "break", "inputSchema": {"type": "object"}});
    Scripted::add(&machine, "s", &["--trust"]).tools(&json!([tool]));
    machine
}

fn gateways(machine: &Machine) -> Vec<Value> {
    machine.run(["status", "--json"]).json()["gateways"].as_array().unwrap().clone()
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn log_has_a_line_for_each_event_and_no_secrets() {
    let machine = machine_with_failing_tool();
    let script = r#"echo "error: bad token $TOKEN" >&2; exit 3"#;
    let token = format!("TOKEN={SECRET}");
    let added =
        machine.run(["add", "-s", "user", "-e", &token, "broken", "--", "sh", "-c", script]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    gateway.call("mcp__s__break", &json!({}));
    // The other server starts at the same time, and fails when it likes.
    let begun = Instant::now();
    while !machine.read(LOG).contains(" server.error broken: ") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", machine.read(LOG));
        std::thread::yield_now();
    }
    gateway.end();
    let log = machine.read(LOG);
    let mut rest = log.as_str();
    for event in [
        "Z ",
        " gateway.start version ",
        " client.connected 1 at stdin\n",
        " tool.failed mcp__s__break after ",
        "unknown method",
        " client.left 1\n",
        " gateway.stop\n",
    ] {
        let at = rest.find(event).unwrap_or_else(|| panic!("no {event:?} in {log}"));
        rest = &rest[at + event.len()..];
    }
    for event in [" server.connected s, 1 tools\n", " server.error broken: ", "[redacted]"] {
        assert!(log.contains(event), "no {event:?} in {log}");
    }
    assert!(!log.contains(SECRET), "{log}");
    assert_eq!(mode(machine.home().join(LOG)), 0o600);
    let doctor = machine.run(["doctor", "--offline"]).stdout;
    assert!(doctor.contains(&format!("log of `mcp serve`: [home]/{LOG}, ")), "{doctor}");
}

#[test]
fn large_log_is_set_aside() {
    let machine = machine_with_failing_tool();
    let old = "x".repeat((1 << 20) + 1);
    machine.write(LOG, &old);
    Gateway::start(&machine, &[], &json!({})).end();
    assert_eq!(machine.read(&format!("{LOG}.1")), old);
    assert!(machine.read(LOG).contains(" gateway.start "));
}

#[test]
fn log_can_be_switched_off() {
    let machine = machine_with_failing_tool();
    let gateway = Gateway::start(&machine, &["--no-log"], &json!({}));
    assert_eq!(gateways(&machine)[0]["log"], Value::Null);
    gateway.end();
    assert!(!machine.home().join(LOG).exists());
}

#[test]
fn connections_over_http_are_logged() {
    let machine = Machine::with_demo();
    let gateway = machine.listen(&["--trust-host"]);
    let called = machine.run(["ping", &gateway.url]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    let log = machine.read(LOG);
    assert!(log.contains(" client.connected 1 at 127.0.0.1\n"), "{log}");
}

#[test]
fn status_shows_a_gateway_that_does_not_share() {
    let machine = machine_with_failing_tool();
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    gateway.call("mcp__s__break", &json!({}));
    let status = &gateways(&machine)[0];
    assert_eq!((&status["clients"], &status["calls"]), (&json!(1), &json!(1)), "{status}");
    assert_eq!(status["servers"][0]["name"], "s");
    assert_eq!(status["servers"][0]["state"], "connected");
    assert_eq!(status["failures"][0]["of"], "mcp__s__break");
    let reason = status["failures"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("unknown method"), "{status}");
    let shown = machine.run(["status"]).stdout;
    assert!(shown.contains("clients 1, calls 1, in flight 0"), "{shown}");
    assert!(shown.contains("unknown method") && shown.contains(&format!("log [home]/{LOG}")));
    // A call that is never answered.
    machine.write("scripts/s/tools.call", "");
    gateway.begin("tools/call", &json!({"name": "mcp__s__break", "arguments": {}}));
    let begun = Instant::now();
    while gateways(&machine)[0]["callsInFlight"] != 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no call is in flight");
    }
    gateway.end();
    assert!(gateways(&machine).is_empty());
}

#[test]
fn logs_of_a_gateways_server_are_shown_without_starting_another() {
    let machine = Machine::new();
    let tool = json!({"name": "break", "inputSchema": {"type": "object"}});
    let token = format!("TOKEN={SECRET}");
    let server = Scripted::add(&machine, "s", &["--trust", "-e", &token]).tools(&json!([tool]));
    server.text("stderr", &format!("began with {SECRET}\n"));
    let mut gateway = Gateway::start(&machine, &["--trust-host"], &json!({}));
    gateway.call("mcp__s__break", &json!({}));
    // Another process would say this.
    server.text("stderr", "another process\n");
    let logs = machine.run(["logs", "s"]);
    assert!(logs.stdout.contains("began with [redacted]"), "{}{}", logs.stdout, logs.stderr);
    assert!(logs.stdout.contains("tools/call") && !logs.stdout.contains("another process"));
    let payload = machine.run(["logs", "s", "--payload"]);
    assert!(payload.stderr.contains("keeps no payloads"), "{}", payload.stderr);
    // A gateway for other files has another server of this name.
    machine.write("other.json", r#"{"mcpServers":{"s":{"command":"sh","args":["-c","exit 3"]}}}"#);
    let other = machine.run(["logs", "s", "--config", "../other.json", "--timeout", "20"]);
    assert!(!other.stdout.contains("began with"), "{}", other.stdout);
    gateway.end();
    let own = machine.run(["logs", "s"]);
    assert!(own.stdout.contains("another process"), "{}", own.stdout);
}

#[test]
fn status_socket_of_a_gateway_does_nothing_else() {
    let machine = Machine::with_demo();
    let mut gateway = Gateway::start(&machine, &[], &json!({}));
    let folder = machine.home().join(".local/state/mcp/gateways");
    let pid = gateways(&machine)[0]["pid"].as_u64().unwrap();
    let socket = folder.join(format!("{pid}.sock"));
    assert_eq!((mode(folder), mode(socket.clone())), (0o700, 0o600));
    assert_eq!(machine.run(["down", "--all"]).stdout, "no background host is running here\n");
    assert!(gateway.tools().contains(&"mcp__demo__weekday".to_owned()));
    gateway.signal(Signal::SIGKILL);
    gateway.ended();
    assert!(socket.exists(), "a killed gateway leaves its socket");
    assert!(gateways(&machine).is_empty());
    assert_eq!(machine.run(["status"]).stdout, "no background host is running\n");
}
