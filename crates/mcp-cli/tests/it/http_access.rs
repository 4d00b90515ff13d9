//! Access to the HTTP gateway: with a token, without one, and over a Unix socket.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
};

use crate::support::Machine;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;

/// A gateway that is listening, and its output until then.
struct Front {
    child: Child,
    url: String,
    said: Vec<String>,
}

impl Front {
    fn start(machine: &Machine, args: &[&str]) -> Self {
        let mut command = machine.command(["serve", "--http", "127.0.0.1:0"]);
        let mut child = command.args(args).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut said = Vec::new();
        let url = lines.by_ref().find_map(|line| {
            let url = line.strip_prefix("serving at ").map(str::to_owned);
            said.push(line);
            url
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: url.unwrap(), said }
    }

    /// Returns the HTTP status of an `initialize` request with additional headers.
    fn status(&self, headers: &str) -> String {
        let address = self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        answer(TcpStream::connect(address).unwrap(), headers)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(mut stream: impl Read + Write, headers: &str) -> String {
    let length = HELLO.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{HELLO}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    let _ = stream.read_to_string(&mut response);
    response.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn token_is_generated_stored_and_printed_once() {
    let machine = Machine::with_demo();
    let first = Front::start(&machine, &[]);
    let path = ".local/state/mcp/gateway-token";
    let token = machine.read(path);
    assert!(token.len() >= 32, "{token}");
    let printed = |front: &Front| front.said.iter().any(|line| line.contains(&token));
    assert!(printed(&first), "{:?}", first.said);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let path = machine.home().join(path);
        let mode = |path: &std::path::Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
    assert_eq!(first.status(""), "401");
    assert_eq!(first.status("Authorization: Bearer 0123456789abcdef\r\n"), "401");
    assert_eq!(first.status(&format!("Authorization: Bearer {token}\r\n")), "200");
    drop(first);
    let second = Front::start(&machine, &[]);
    assert!(!printed(&second), "{:?}", second.said);
    assert_eq!(second.status(&format!("Authorization: Bearer {token}\r\n")), "200");
}

#[test]
fn stored_secret_is_sent_in_a_header() {
    let server = Machine::with_demo();
    let front = Front::start(&server, &["--trust-host", "--mode", "all"]);
    let token = server.read(".local/state/mcp/gateway-token");
    let machine = Machine::new();
    for (name, header) in [
        ("docs", "Authorization: Bearer ${secret:docs}"),
        ("other", "Authorization: Bearer ${OTHER_TOKEN}"),
    ] {
        let args = ["add", "-s", "user", "--trust", name, &front.url, "-H", header];
        assert_eq!(machine.run(args).code, 0);
    }
    let store = |secret: &str| {
        let set = machine.finish(machine.command(["secret", "set", "docs"]), secret);
        assert_eq!(set.code, 0, "{}", set.stderr);
    };
    let run = |args: &[&str], variable: &str| {
        let mut command = machine.command(args);
        command.env("OTHER_TOKEN", variable);
        machine.finish(command, "")
    };
    let call = |name: &str, variable: &str| {
        run(&["call", &format!("{name}/mcp__demo__weekday"), "date=2020-01-01", "-y"], variable)
    };
    let missing = call("docs", "");
    assert_eq!(missing.code, 5, "{}", missing.stderr);
    assert!(missing.stderr.contains("`mcp secret set docs`"), "{}", missing.stderr);
    let wrong = "0123456789abcdef-wrong";
    store(wrong);
    for name in ["docs", "other"] {
        assert_eq!(call(name, wrong).code, 6, "{name}");
        let explained = run(&["explain", name, "--json"], wrong).json();
        let next = explained["nextStep"].as_str().unwrap();
        let expected = if name == "docs" { "Authorization" } else { "the variable OTHER_TOKEN" };
        assert!(next.starts_with("set ") && next.contains(expected), "{name}: {explained}");
    }
    // A changed value is tried at once.
    store(&token);
    for name in ["docs", "other"] {
        let ran = call(name, &token);
        assert_eq!(ran.stdout, "2020-01-01 is a Wednesday\n", "{name}: {}", ran.stderr);
    }
    let kept = machine.read(".config/mcp/mcp.json");
    assert!(!kept.contains(&token), "the entry refers to the secret: {kept}");
}

#[test]
fn installed_url_entry_has_the_token_and_its_preview_does_not() {
    let machine = Machine::with_demo();
    let front = Front::start(&machine, &["--trust-host"]);
    let token = machine.read(".local/state/mcp/gateway-token");
    let address = front.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let install = ["install", "--client", "cursor", "--http", address];
    let shown = machine.run(install);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("Bearer [the gateway's token]"), "{}", shown.stdout);
    assert!(!shown.stdout.contains(&token), "{}", shown.stdout);
    let mut write = machine.command(install);
    write.arg("--yes");
    assert_eq!(machine.finish(write, "").code, 0);
    let mut call = machine.command(["call", "gateway/mcp__demo__weekday", "date=2020-01-01", "-y"]);
    call.arg("--config").arg(machine.home().join(".cursor/mcp.json"));
    let ran = machine.finish(call, "");
    assert_eq!(ran.stdout, "2020-01-01 is a Wednesday\n", "{}", ran.stderr);
    let imported = machine.run(["import", "--json"]).json();
    assert_eq!(imported["new"], 0, "the gateway is not offered to itself: {imported}");
}

#[test]
fn token_of_this_machine_is_not_written_for_other_hosts() {
    let machine = Machine::new();
    let token = || std::fs::read_to_string(machine.home().join(".local/state/mcp/gateway-token"));
    let install = |args: &[&str]| {
        let mut command = machine.command(["install", "--client", "cursor", "--timeout", "5"]);
        command.args(args).arg("--yes");
        machine.finish(command, "")
    };
    let entry = || machine.read(".cursor/mcp.json");
    // Nothing listens there: the test of the entry fails, after it was written.
    let (clear, safe) = ("http://gw.invalid/mcp", "https://gw.invalid/mcp");
    for url in [clear, safe] {
        let ran = install(&["--url", url]);
        assert!(entry().contains(url) && !entry().contains("Authorization"), "{}", entry());
        assert!(ran.stderr.contains("the entry has no token"), "{}", ran.stderr);
    }
    assert!(token().is_err(), "none was needed");
    let asked = install(&["--url", clear, "--send-token"]);
    assert!(asked.stderr.contains("unencrypted"), "{}", asked.stderr);
    let token = token().unwrap();
    assert!(entry().contains(&token), "{}", entry());
    let encrypted = install(&["--url", safe, "--send-token"]);
    assert!(!encrypted.stderr.contains("unencrypted"), "{}", encrypted.stderr);
    let own = install(&["--url", "http://localhost:1/mcp"]);
    assert!(entry().contains(&token), "{}", entry());
    assert!(!own.stderr.contains("project"), "{}", own.stderr);
    let shared = install(&["-s", "project", "--http", "127.0.0.1:1"]);
    assert!(machine.read("project/.cursor/mcp.json").contains(&token));
    assert!(shared.stderr.contains("keep it out of version control"), "{}", shared.stderr);
}

#[test]
fn serving_without_a_token_warns_and_is_limited_to_loopback() {
    let machine = Machine::with_demo();
    let front = Front::start(&machine, &["--no-token"]);
    let warning = front.said.iter().find(|line| line.starts_with("warning: no token"));
    assert!(warning.is_some_and(|line| line.contains("every user")), "{:?}", front.said);
    assert_eq!(front.status(""), "200");
    let refused = machine.run(["serve", "--http", "0.0.0.0:0", "--no-token"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("other machines"), "{}", refused.stderr);
}

#[test]
fn short_tokens_are_refused() {
    let machine = Machine::with_demo();
    for (token, problem) in [("", "0 characters"), ("x", "1 characters"), ("a b", "visible ASCII")]
    {
        let mut command = machine.command(["serve", "--http", "127.0.0.1:0", "--token-env", "T"]);
        command.env("T", token);
        let ran = machine.finish(command, "");
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
    }
}

#[test]
fn token_file_that_others_can_read_is_refused() {
    let machine = Machine::with_demo();
    let path = machine.write(".local/state/mcp/gateway-token", "0123456789abcdef");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let ran = machine.run(["serve", "--http", "127.0.0.1:0"]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("others have access"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: remove"), "{}", ran.stderr);
    }
    #[cfg(not(unix))]
    drop(path);
}

#[cfg(unix)]
#[test]
fn socket_needs_no_token_and_is_removed_with_the_gateway() {
    use std::os::unix::{fs::MetadataExt as _, net::UnixStream};

    use nix::{sys::signal, unistd::Pid};

    let machine = Machine::with_demo();
    let path = machine.home().join("run/gateway.sock");
    let mut command = machine.command(["serve", "--socket"]);
    let mut child = command.arg(&path).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("serving at the Unix socket ")));
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(answer(UnixStream::connect(&path).unwrap(), ""), "200");
    let busy = machine.run(["serve".as_ref(), "--socket".as_ref(), path.as_os_str()]);
    assert!(
        busy.code == 1 && busy.stderr.contains("another process listens at"),
        "{}",
        busy.stderr
    );
    signal::kill(Pid::from_raw(child.id().try_into().unwrap()), signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!path.exists());
    let refused = machine.run(["serve", "--socket", "/tmp/mcp-gateway-test.sock"]);
    assert!(refused.code == 1 && refused.stderr.contains("mode 0700"), "{}", refused.stderr);
}
