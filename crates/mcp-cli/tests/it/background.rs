//! The background host: `mcp up`, `mcp down`, `mcp status`.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use crate::support::{MCP, Machine};

/// A server that counts its calls.
const COUNTER: &str = r#"
n=0
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"counter","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '"result":{"tools":[{"name":"count","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) n=$((n+1)); echo "call $n" >&2; say '"result":{"content":[{"type":"text","text":"call '$n'"}]}' ;;
    *'"method":"notifications/'*) ;;
    *) say '"error":{"code":-32601,"message":"unknown method"}' ;;
  esac
done
"#;

/// A machine whose background hosts stop with the test.
struct Hosted(Machine);

impl Hosted {
    fn new() -> Self {
        let machine = Machine::new();
        let added =
            machine.run(["add", "-s", "user", "--trust", "counter", "--", "sh", "-c", COUNTER]);
        assert_eq!(added.code, 0, "{}", added.stderr);
        Self(machine)
    }

    fn up(&self) -> u64 {
        let up = self.0.run(["up", "--json"]);
        assert_eq!(up.code, 0, "{}{}", up.stdout, up.stderr);
        up.json()["pid"].as_u64().unwrap()
    }

    fn count(&self) -> String {
        let ran = self.0.run(["call", "counter/count", "-y"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    }

    fn folder(&self) -> PathBuf {
        self.0.home().join(".local/state/mcp/hosts")
    }

    fn socket(&self) -> PathBuf {
        let files = fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_some_and(|e| e == "sock")).unwrap()
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        self.0.run(["down", "--all"]);
    }
}

/// Kills a host, and waits until its socket has no listener.
fn kill_host(pid: u64, socket: &std::path::Path) {
    kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGKILL).unwrap();
    let begun = Instant::now();
    while UnixStream::connect(socket).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is still listening");
        std::thread::yield_now();
    }
}

#[test]
fn server_state_is_kept_between_two_calls() {
    let hosted = Hosted::new();
    assert_eq!((hosted.count(), hosted.count()), ("call 1\n".into(), "call 1\n".into()));
    hosted.up();
    assert_eq!((hosted.count(), hosted.count()), ("call 1\n".into(), "call 2\n".into()));
    assert!(hosted.0.run(["tools", "counter"]).stdout.contains("counter/count"));
    let connected = hosted.0.run(["connect", "counter"]);
    assert_eq!(connected.stdout, "counter is connected: 1 tools\n", "{}", connected.stderr);
    assert_eq!(hosted.count(), "call 3\n");
    let status = hosted.0.run(["status", "--json"]).json();
    let server = &status["hosts"][0]["servers"][0];
    assert_eq!((&server["name"], &server["calls"]), (&json!("counter"), &json!(3)), "{status}");
    // The server has rejected optional methods, which is not a failure.
    assert_eq!(server["lastFailure"], json!(null), "{status}");
    let logs = hosted.0.run(["logs", "counter", "--payload"]).stdout;
    assert!(logs.contains("call 2") && logs.contains(r#""method":"tools/call""#), "{logs}");
    assert!(hosted.0.run(["disconnect", "counter"]).stdout.starts_with("stopped counter;"));
    assert_eq!(hosted.count(), "call 1\n");
    assert!(hosted.0.run(["down"]).stdout.starts_with("stopped: pid "));
    assert_eq!(hosted.0.run(["status"]).stdout, "no background host is running\n");
    assert_eq!((hosted.count(), hosted.count()), ("call 1\n".into(), "call 1\n".into()));
}

#[test]
fn server_with_subscriptions_is_shared_without_waiting() {
    let machine = Machine::new();
    machine.run(["add", "-s", "user", "--trust", "notes", "--", MCP, "demo", "--stdio"]);
    let hosted = Hosted(machine);
    hosted.up();
    for text in ["a", "b", "c"] {
        let text = format!("text={text}");
        // Less than a client waits for the acknowledgement of its subscription.
        let ran = hosted.0.run(["--timeout", "12", "call", "notes/add_note", &text, "-y"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let notes = hosted.0.run(["--timeout", "12", "call", "notes/list_notes", "-y"]);
    assert!(notes.stdout.ends_with("3. a\n4. b\n5. c\n"), "{}", notes.stdout);
}

#[test]
fn killed_host_loses_only_the_state_of_its_servers() {
    let hosted = Hosted::new();
    let first = hosted.up();
    hosted.count();
    let socket = hosted.socket();
    kill_host(first, &socket);
    assert!(socket.exists(), "it is stale");
    assert_eq!(hosted.0.run(["status"]).stdout, "no background host is running\n");
    assert_eq!(hosted.count(), "call 1\n", "a command works without a host");
    assert_ne!(hosted.up(), first);
    assert_eq!((hosted.count(), hosted.count()), ("call 1\n".into(), "call 2\n".into()));
}

#[test]
fn hosts_started_at_the_same_time_become_one() {
    let hosted = Hosted::new();
    let start = || {
        let mut command = hosted.0.command(["up", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both: Vec<_> = (0..3).map(|_| start()).collect();
    let pid = |child: std::process::Child| {
        let output = child.wait_with_output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["pid"].clone()
    };
    let pids: Vec<_> = both.into_iter().map(pid).collect();
    assert!(pids[0].is_u64() && pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    assert_eq!(hosted.0.run(["up", "--json"]).json()["started"], false);
    let hosts = hosted.0.run(["status", "--json"]).json();
    assert_eq!(hosts["hosts"].as_array().unwrap().len(), 1, "{hosts}");
}

#[test]
fn socket_is_private_to_the_user() {
    let hosted = Hosted::new();
    hosted.up();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(hosted.folder()), mode(hosted.socket())), (0o700, 0o600));
}

#[test]
fn server_with_a_changed_entry_or_variable_is_not_shared() {
    let hosted = Hosted::new();
    hosted.up();
    assert_eq!((hosted.count(), hosted.count()), ("call 1\n".into(), "call 2\n".into()));
    let again = [
        "add",
        "-s",
        "user",
        "--trust",
        "--replace",
        "-e",
        "A=${A:-x}",
        "counter",
        "--",
        "sh",
        "-c",
        COUNTER,
    ];
    assert_eq!(hosted.0.run(again).code, 0);
    assert_eq!((hosted.count(), hosted.count()), ("call 1\n".into(), "call 2\n".into()));
    let mut other = hosted.0.command(["call", "counter/count", "-y"]);
    other.env("A", "another value");
    let other = hosted.0.finish(other, "");
    assert_eq!(other.stdout, "call 1\n", "the host has another value");
    let said = "counter is started for this command only; the background host refused it: its entry, or a variable \
        in it, differs";
    assert_eq!(other.stderr.matches(said).count(), 1, "{}", other.stderr);
    assert_eq!(hosted.count(), "call 3\n");
}

#[test]
fn commands_start_a_host_only_with_auto() {
    let hosted = Hosted::new();
    hosted.count();
    assert_eq!(hosted.0.run(["status"]).stdout, "no background host is running\n");
    assert_eq!(hosted.0.run(["up", "--auto"]).code, 0);
    hosted.0.run(["down"]);
    assert_eq!((hosted.count(), hosted.count()), ("call 1\n".into(), "call 2\n".into()));
    assert_eq!(hosted.0.run(["up", "--no-auto"]).code, 0);
    hosted.0.run(["down"]);
    hosted.count();
    assert_eq!(hosted.0.run(["status"]).stdout, "no background host is running\n");
}

#[test]
fn idle_host_stops() {
    let hosted = Hosted::new();
    let mut host = hosted.0.command(["up", "--foreground", "--idle", "1"]);
    let mut child = host.stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn questions_are_asked_on_the_callers_terminal() {
    use crate::terminal::Session;
    let hosted = Hosted::new();
    hosted.0.run(["add", "-s", "user", "demo", "--", MCP, "demo", "--stdio"]);
    hosted.up();
    assert_eq!(hosted.0.run(["call", "demo/list_notes"]).code, 7, "approvals hold here too");
    let mut session = Session::start(&hosted.0, &["call", "demo/delete_notes"], &[]);
    session.expect("mcp:demo:delete_notes wants to run");
    session.type_in("y\n");
    session.expect("2 notes deleted");
    assert_eq!(session.end().0, 0);
    let empty = hosted.0.run(["call", "demo/list_notes", "-y"]);
    assert!(!empty.stdout.contains("water the plants"), "the notes are gone: {}", empty.stdout);
    let mut session = Session::start(&hosted.0, &["call", "demo/order_pizza"], &[]);
    session.expect("run it?");
    session.type_in("y\n");
    session.expect("demo asks: Which pizza shall it be?");
    session.type_in("y\n");
    session.expect("Kind (");
    session.type_in("funghi\n");
    session.expect("How many");
    session.type_in("2\n");
    session.expect("ordered: 2 funghi");
    assert_eq!(session.end().0, 0);
}

#[test]
fn server_failure_is_explained_as_without_a_host() {
    let hosted = Hosted::new();
    let script = "echo 'cannot open the database' >&2; exit 3";
    hosted.0.run(["add", "-s", "user", "broken", "--", "sh", "-c", script]);
    hosted.up();
    let explained = hosted.0.run(["explain", "broken"]);
    assert!(explained.stdout.contains("cannot open the database"), "{}", explained.stdout);
    assert!(explained.stdout.contains("exit status 3"), "{}", explained.stdout);
}

/// The tool repeats the secret, which has no shape by which it could be recognised.
#[test]
fn kept_messages_have_no_secrets_of_the_entry() {
    const SECRET: &str = "tiger \\ lily";
    const TELLER: &str = r#"
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '"result":{"tools":[{"name":"tell","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"fail"'*) say '"error":{"code":-32000,"message":"no access with tiger \\ lily"}' ;;
    *'"method":"tools/call"'*) printf '%s\n' "word $WORD" >&2; say '"result":{"content":[{"type":"text","text":"it is tiger \\ lily"}]}' ;;
    *'"method":"notifications/'*) ;;
    *) say '"error":{"code":-32601,"message":"unknown method"}' ;;
  esac
done
"#;
    let hosted = Hosted(Machine::new());
    let word = format!("WORD={SECRET}");
    let add = ["add", "-s", "user", "--trust", "-e", &word, "teller", "--", "sh", "-c", TELLER];
    assert_eq!(hosted.0.run(add).code, 0);
    hosted.up();
    let told = hosted.0.run(["call", "teller/tell", "-y"]);
    assert!(told.stdout.contains(SECRET), "{}{}", told.stdout, told.stderr);
    hosted.0.run(["call", "teller/fail", "-y"]);
    for args in [
        &["logs", "teller", "--payload"][..],
        &["logs", "teller", "--payload", "--json"],
        &["status"],
    ] {
        let kept = hosted.0.run(args);
        let text = format!("{}{}", kept.stdout, kept.stderr);
        assert!(text.contains("[redacted]"), "{args:?}: {text}");
        assert!(!text.contains("tiger"), "{args:?}: {text}");
    }
}

#[test]
fn gateway_with_share_is_used_by_commands() {
    let hosted = Hosted::new();
    let mut gateway =
        crate::wire::Gateway::start(&hosted.0, &["--share", "--trust-host"], &json!({}));
    let first = gateway.call("mcp__counter__count", &json!({}));
    assert_eq!(first["content"][0]["text"], "call 1", "{first}");
    assert_eq!(hosted.count(), "call 2\n");
    let third = gateway.call("mcp__counter__count", &json!({}));
    assert_eq!(third["content"][0]["text"], "call 3", "{third}");
    gateway.end();
    assert_eq!(hosted.count(), "call 1\n");
    hosted.up();
    hosted.count();
    let mut alone = crate::wire::Gateway::start(&hosted.0, &["--trust-host"], &json!({}));
    let own = alone.call("mcp__counter__count", &json!({}));
    assert_eq!(
        own["content"][0]["text"], "call 1",
        "without --share it starts its own servers: {own}"
    );
    alone.end();
}
