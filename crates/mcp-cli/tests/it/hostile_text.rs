//! Control characters of a hostile server in the output of every command, on a pipe and on a terminal.

use std::{process::Stdio, time::Duration};

use serde_json::{Value, json};

use crate::{scripted::Scripted, support::Machine, wire::lines};

/// A window title, a cleared screen, a C1 sequence, reversed text, two line separators, a soft hyphen, a tag, a
/// carriage return, and a line feed followed by a line that imitates ours.
const HOSTILE: &str = "a\u{1b}]0;PWN\u{7}\u{1b}[2Jb\u{9b}31mc\u{202e}d\u{2028}e\u{2029}f\u{ad}g\u{e0041}h\ri\nerror: no";

/// A line that begins with the server's text.
const FAKED: &str = "\nerror: no";

fn tools() -> Value {
    let schema = json!({"type": "object", "required": [HOSTILE], "properties": {
        HOSTILE: {"type": HOSTILE, "description": HOSTILE, "enum": [HOSTILE]},
        "n": {"type": "integer", "description": HOSTILE}}});
    let output = json!({"type": "object", "properties": {HOSTILE: {"type": "integer"}}});
    json!([
        {"name": HOSTILE, "title": HOSTILE, "description": HOSTILE, "inputSchema": schema},
        {"name": "strict", "title": HOSTILE, "description": HOSTILE, "inputSchema": schema},
        {"name": "loose", "description": HOSTILE, "inputSchema": {"type": "object",
            "properties": {HOSTILE: {"type": "string", "description": HOSTILE}}},
            "outputSchema": output},
    ])
}

/// Adds a server that puts the text into every field, and one that fails with it.
fn machine() -> Machine {
    let machine = Machine::new();
    let server = Scripted::add(&machine, "h", &["--trust"]).tools(&tools());
    server.text("stderr", &format!("{HOSTILE}\n"));
    let progress = |progress: u8| {
        json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": "@TOKEN@", "progress": progress, "total": 9, "message": HOSTILE}})
    };
    let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "error", "logger": HOSTILE, "data": HOSTILE}});
    let content = json!([
        {"type": "text", "text": HOSTILE},
        {"type": "image", "mimeType": HOSTILE, "data": "AAAA"},
        {"type": "audio", "mimeType": HOSTILE, "data": "AAAA"},
        {"type": "resource_link", "uri": HOSTILE, "name": HOSTILE},
        {"type": "resource", "resource": {"uri": HOSTILE, "text": HOSTILE}},
        {"type": HOSTILE},
    ]);
    server.lines(
        "tools/call",
        &[
            progress(1),
            log,
            progress(2),
            json!({"jsonrpc": "2.0", "id": "@ID@", "result":
            {"content": content, "structuredContent": {HOSTILE: HOSTILE}}}),
        ],
    );
    server.result("resources/list", &json!({"resources": [
        {"uri": "x://1", "name": HOSTILE, "title": HOSTILE, "description": HOSTILE, "mimeType": HOSTILE},
        {"uri": HOSTILE, "name": HOSTILE}]}));
    server.result(
        "resources/read",
        &json!({"contents": [
        {"uri": HOSTILE, "mimeType": HOSTILE, "text": HOSTILE},
        {"uri": HOSTILE, "mimeType": HOSTILE, "blob": "AAAA"}]}),
    );
    let argument = json!({"name": HOSTILE, "description": HOSTILE, "required": true});
    server.result(
        "prompts/list",
        &json!({"prompts": [
        {"name": HOSTILE, "description": HOSTILE, "arguments": [argument]},
        {"name": "free", "description": HOSTILE}, {"name": "asks", "arguments": [argument]}]}),
    );
    server.result(
        "prompts/get",
        &json!({"description": HOSTILE, "messages": [
        {"role": HOSTILE, "content": {"type": "text", "text": HOSTILE}},
        {"role": "user", "content": {"type": "image", "mimeType": HOSTILE, "data": "AAAA"}}]}),
    );
    let failing = Scripted::add(&machine, "e", &["--trust"]);
    let failing = failing.tools(&json!([{"name": "t", "inputSchema": {"type": "object"}}]));
    failing.result("resources/list", &json!({"resources": [{"uri": "x://e", "name": "e"}]}));
    failing.result("prompts/list", &json!({"prompts": [{"name": "p"}]}));
    for method in ["tools/call", "resources/read", "prompts/get"] {
        failing.error(method, HOSTILE);
    }
    Scripted::add(&machine, "dead", &[]).error("initialize", HOSTILE);
    machine.write(
        "project/.mcp.json",
        &json!({"mcpServers": {
        "waits": {"command": HOSTILE, "args": [HOSTILE], "env": {HOSTILE: HOSTILE}},
    }, "customTools": {"made": {"description": HOSTILE, "steps": [{"tool": HOSTILE}]}}})
        .to_string(),
    );
    let cassette = machine.run(["record", "h", "-o", "tape", "loose", "-y"]);
    assert_eq!(cassette.code, 0, "{}", cassette.stderr);
    machine
}

/// Commands that print nothing but the program's own text.
const OWN_TEXT: &[&str] = &["completions", "demo", "man"];

/// Commands that run until they are interrupted. They have a test of their own.
const ENDLESS: &[&str] = &["watch"];

/// Every other command, in the forms that show text of a server or of a file.
const COMMANDS: &[&str] = &[
    "list --connect",
    "ping h",
    "ping dead",
    "subscribe h x://1",
    "subscribe e x://e",
    "connect h",
    "connect dead",
    "disconnect h",
    "generate types h",
    "generate types dead",
    "login h",
    "logout h",
    "secret list",
    "secret remove h",
    "install --client cursor --deny",
    "install --client cursor --print",
    "serve --no-log",
    "tools",
    "tools h",
    "tools h/strict",
    "tools h/loose",
    "search error",
    "search d",
    "validate",
    "validate h",
    "stats",
    "doctor",
    "get h",
    "get e",
    "get dead",
    "get waits",
    "logs h",
    "logs dead",
    "resources",
    "read h x://1",
    "read h x://other",
    "read e x://e",
    "prompts",
    "prompt h/free",
    "prompt h/asks",
    "prompt h/asks other=1",
    "prompt e/p",
    "call h/loose",
    "call h/loose q=1",
    "call h/strict",
    "call h/strict q=1",
    "call e/t",
    "record h -o other",
    "record h -o other loose",
    "record e -o other t",
    "replay tape",
    "replay tape loose",
    "replay tape strict",
    "approve --deny",
    "import",
    "auth status",
    "up --idle 60",
    "connect h",
    "logs h --payload",
    "status",
    "down",
    "audit show",
    "audit verify",
    // These change what the others show, so they come last.
    "add extra -- false",
    "add-json h {}",
    "enable h",
    "trust waits",
    "disable waits",
    "remove extra",
];

fn words(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = line.split(' ').collect();
    if ["call", "read", "prompt", "record", "replay"].contains(&words[0]) {
        words.push("-y");
    }
    words
}

#[test]
fn no_command_prints_a_servers_control_characters() {
    let machine = machine();
    let mut seen = String::new();
    for line in COMMANDS {
        let ran = machine.run(words(line));
        for text in [&ran.stdout, &ran.stderr] {
            assert!(mcp_safe::text::is_visible(text), "`mcp {line}`: {text:?}");
        }
        seen.push_str(&ran.stdout);
        seen.push_str(&ran.stderr);
    }
    let times = seen.matches("]0;PWN").count();
    assert!(times > 50, "the text was shown {times} times");
}

#[test]
fn every_command_is_tested() {
    let first = |line: &&str| line.split(' ').next().unwrap().to_owned();
    let tested: Vec<String> = [COMMANDS, OWN_TEXT, ENDLESS].concat().iter().map(first).collect();
    for name in Machine::new().commands() {
        assert!(tested.contains(&name), "`mcp {name}` is missing from the lists of this file");
    }
}

#[test]
fn events_of_a_server_have_no_control_characters() {
    let machine = machine();
    for args in [&["watch"][..], &["watch", "--json"]] {
        let mut command = machine.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let said = lines(child.stdout.take().unwrap());
        let mut text = String::new();
        // The failure of `dead` has the server's text.
        while !text.contains("server.error") {
            let line = said.recv_timeout(Duration::from_secs(60)).unwrap();
            text.push_str(&line);
            text.push('\n');
        }
        let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(mcp_safe::text::is_visible(&text), "{text:?}");
    }
}

#[test]
fn server_names_cannot_begin_a_line() {
    let machine = machine();
    // Commands that show names and short descriptions, without multi-line text.
    for line in [
        "tools h",
        "search error",
        "validate h",
        "resources",
        "prompts",
        "prompt h/asks",
        "call h/strict q=1",
        "call h/loose q=1",
        "list --connect",
        "logs h",
        "prompt h/asks other=1",
    ] {
        let ran = machine.run(words(line));
        let notes = ran.stderr.split(FAKED).count() - 1;
        assert!(
            !ran.stdout.contains(FAKED) || line.starts_with("call"),
            "`mcp {line}`: {}",
            ran.stdout
        );
        assert_eq!(notes, 0, "`mcp {line}`: {}", ran.stderr);
    }
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::*;
    use crate::terminal::Session;

    /// Asserts that there are no sequences or characters beyond those of colours and progress lines.
    fn assert_harmless(line: &str, screen: &str) {
        for bad in [
            "\u{1b}]",
            "\u{7}",
            "\u{1b}[2J",
            "\u{9b}",
            "\u{202e}",
            "\u{2028}",
            "\u{2029}",
            "\u{ad}",
            "\u{e0041}",
        ] {
            assert!(!screen.contains(bad), "`mcp {line}` wrote {bad:?}: {screen:?}");
        }
    }

    #[test]
    fn terminal_output_contains_no_escape_sequences_of_a_server() {
        let machine = machine();
        // The gateway waits for its client, which is not a terminal.
        for line in COMMANDS.iter().filter(|line| !line.starts_with("serve")) {
            for json in [false, true] {
                let mut words = words(line);
                words.extend(json.then_some("--json"));
                let (_, screen) = Session::start(&machine, &words, &[]).end();
                assert_harmless(line, &screen);
            }
        }
    }

    #[test]
    fn questions_and_forms_are_sanitized_and_name_the_server() {
        let machine = machine();
        let server = Scripted::add(&machine, "asker", &[]);
        let server = server.tools(&json!([{"name": "t", "description": HOSTILE,
            "inputSchema": {"type": "object"}, "annotations": {"title": HOSTILE}}]));
        let form = json!({"type": "object", "properties": {
            HOSTILE: {"type": "string", "title": HOSTILE, "description": HOSTILE, "default": HOSTILE},
            "pick": {"type": "string", "oneOf": [{"const": HOSTILE, "title": HOSTILE}]},
            "password": {"type": "string", "title": "Password"}}});
        server.lines(
            "tools/call",
            &[json!({"jsonrpc": "2.0", "id": "ask", "method": "elicitation/create",
            "params": {"message": HOSTILE, "requestedSchema": form}})],
        );
        server.lines(
            "answer",
            &[json!({"jsonrpc": "2.0", "id": "@CALL@", "result":
            {"content": [{"type": "text", "text": "the end"}]}})],
        );
        let mut session = Session::start(&machine, &["call", "asker/t"], &[]);
        let mut screen = session.until("run it?");
        session.type_in("y\n");
        screen += &session.until("answer it? [y/N] ");
        assert!(screen.contains("asker asks: "), "{screen}");
        assert!(!screen.contains("\nerror: no"), "{screen:?}");
        session.type_in("y\n");
        screen += &session.until("]: ");
        session.type_in("\n");
        screen += &session.until("(credential, not shown) Password [leave out]: ");
        session.type_in("hunter22\n");
        screen += &session.until("[leave out]: ");
        session.type_in("\n");
        screen += &session.until("the end");
        assert_harmless("call asker/t", &screen);
        assert!(!screen.contains("hunter22"), "{screen:?}");
        assert_eq!(session.end().0, 0);
    }

    #[test]
    fn events_contain_no_escape_sequences_of_a_server() {
        let machine = machine();
        for more in [&["watch"][..], &["watch", "--json"]] {
            let mut session = Session::start(&machine, more, &[]);
            // The failing server's error message is the hostile text.
            let mut screen = session.until("refused `initialize`");
            session.type_in("\u{3}");
            screen += &session.end().1;
            assert_harmless("watch", &screen);
        }
    }

    #[test]
    fn secret_is_not_echoed_while_typed() {
        let machine = Machine::new();
        let mut session = Session::start(&machine, &["secret", "set", "docs"], &[]);
        let mut screen = session.until("secret `docs` (not shown): ");
        session.type_in("hunter22\n");
        screen += &session.until("stored; entries can use it as ${secret:docs}");
        assert!(!screen.contains("hunter22"), "{screen:?}");
        assert_eq!(session.end().0, 0);
    }

    #[test]
    fn input_typed_before_a_question_is_discarded() {
        let machine = Machine::with_demo();
        machine.run(["list"]);
        let mut session = Session::start(&machine, &["call", "demo/delete_notes"], &[]);
        // Typed early, or injected into the terminal by another process.
        session.type_in("y\ny\ny\n");
        session.expect("run it?");
        session.type_in("n\n");
        session.expect("denied");
        assert_eq!(session.end().0, 7);
    }
}
