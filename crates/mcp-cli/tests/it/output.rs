//! Output of commands, as text and as JSON.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::support::{MCP, Machine};

#[test]
fn demo_runs_without_configuration() {
    let ran = Machine::new().run(["demo"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    for part in [
        "demo/convert_units",
        "42.195 km = 26.2188 miles",
        "17984 primes up to 200000; the largest: 199999, 199967, 199961",
        "\"date\" is a required property",
        "denied: the user could not be asked",
        "8 tools, about",
        "4 calls, 2 of them stopped before they ran",
    ] {
        assert!(ran.stdout.contains(part), "no `{part}` in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "a pipe gets no colours");
}

#[test]
fn servers_are_listed_and_started_only_once() {
    let machine = Machine::with_demo();
    assert_snapshot!(machine.run(["list", "--offline"]).stdout, @r"
    SERVER  STATE  TRANSPORT  SCOPE  PROFILE   TOOLS  LATENCY
    demo    idle   stdio      user   standard  –      –
    ");
    assert_snapshot!(machine.run(["list"]).stdout, @r"
    SERVER  STATE      TRANSPORT  SCOPE  PROFILE   TOOLS  LATENCY
    demo    connected  stdio      user   standard  8      N ms
    ");
    assert_snapshot!(machine.run(["list"]).stdout, @r"
    SERVER  STATE  TRANSPORT  SCOPE  PROFILE   TOOLS  LATENCY
    demo    idle   stdio      user   standard  8      –
    ");
}

#[test]
fn remembered_tools_are_found_without_starting_anything() {
    let machine = Machine::with_demo();
    machine.run(["list"]);
    // A missing program cannot be started, so the tools must come from the catalogue.
    let found = machine.run(["search", "miles", "--json"]).json();
    assert_eq!(found["matches"][0]["name"], "demo/convert_units");
    let tools = machine.run(["tools", "demo"]).stdout;
    assert!(tools.contains("demo/delete_notes     writes"), "{tools}");
}

#[test]
fn json_output_is_stable() {
    let machine = Machine::with_demo();
    let list = machine.run(["list", "--connect", "--json"]).json();
    let server = &list["servers"][0];
    assert_eq!(server["name"], "demo");
    assert_eq!(server["state"], "connected");
    assert_eq!(server["tools"], 8);
    assert_eq!(server["trusted"], false);
    assert!(server["latencyMs"].is_u64());
    let called = machine.run(["call", "demo/weekday", "date=2020-01-01", "-y", "--json"]);
    assert_snapshot!(called.stdout, @r#"{"content":[{"text":"2020-01-01 is a Wednesday","type":"text"}],"failure":null,"isError":false,"notes":[],"structuredContent":null,"tool":"demo/weekday"}"#);
    let stats = machine.run(["stats", "--json"]).json();
    assert_eq!(stats["total"]["tools"], 8);
    let checked = machine.run(["validate", "demo", "--json"]).json();
    assert_eq!(checked["failed"], 0);
    let error = machine.run(["call", "demo/weekdy", "--json"]);
    assert_snapshot!(error.stdout, @r#"{"error":{"code":"not-found","hint":"did you mean demo/weekday?","message":"tool not found: demo/weekdy"}}"#);
}

#[test]
fn arguments_are_accepted_as_words_json_or_stdin() {
    let machine = Machine::with_demo();
    let words = machine.run(["call", "text_statistics", "text=two words", "-y"]);
    let json = machine.run(["call", "text_statistics", "--args", r#"{"text":"two words"}"#, "-y"]);
    let stdin = machine
        .finish(machine.command(["call", "text_statistics", "-", "-y"]), r#"{"text":"two words"}"#);
    assert_snapshot!(words.stdout, @"2 words, 1 sentences, 9 characters; about 0 s to read");
    assert_eq!(json.stdout, words.stdout);
    assert_eq!(stdin.stdout, words.stdout);
}

#[test]
fn resources_and_prompts_are_listed_and_read() {
    let machine = Machine::with_demo();
    assert_snapshot!(machine.run(["resources"]).stdout, @r"
    SERVER  URI           NAME
    demo    demo://guide  guide
    ");
    assert_snapshot!(machine.run(["read", "demo://guide"]).stdout, @"Convert units, count words, find primes, keep notes, order pizza.");
    assert_eq!(machine.run(["read", "@demo:demo://guide"]).code, 0);
    // Reading an unlisted resource needs approval.
    let unlisted = machine.run(["read", "demo", "demo://nothing"]);
    assert_eq!(unlisted.code, 7, "{}", unlisted.stderr);
    assert!(unlisted.stderr.contains("--yes"), "{}", unlisted.stderr);
    assert_eq!(machine.run(["read", "demo", "demo://nothing", "-y"]).code, 1);
    assert_snapshot!(machine.run(["prompts"]).stdout, @r"
    PROMPT      TAKES  DESCRIPTION
    demo/haiku  about  Asks for a haiku
    ");
    assert_snapshot!(machine.run(["prompt", "demo/haiku", "about=Rust"]).stdout, @"user: Write a haiku about Rust.");
    let absent = machine.run(["prompt", "demo/haiku"]);
    assert_eq!(absent.code, 2);
    assert_snapshot!(absent.stderr, @r"
    error: missing argument `about`
    hint: mcp prompt demo/haiku about=…
    ");
}

#[test]
fn explain_shows_the_file_and_the_state_of_a_server() {
    let machine = Machine::with_demo();
    let shown = machine.run(["explain", "demo"]).stdout;
    // The restrictions depend on the kernel.
    let is_general =
        |line: &&str| !line.starts_with("  restricted: ") && !line.starts_with("  missing: ");
    let shown: Vec<&str> = shown.lines().filter(is_general).collect();
    assert_snapshot!(shown.join("\n"), @r"
    `demo` is active
      runs  [mcp] demo --stdio
      from  user scope, [home]/.config/mcp/mcp.json:3:5 (/mcpServers/demo)
    state: connected
    sandbox: standard
    server: mcp demo 0.1.0
    protocol: 2026-07-28
    offers: tools, resources, prompts
    tools: 8
    instructions:
      Small tools to try an MCP host with.
    ");
    let logs = machine.run(["logs", "demo"]).stdout;
    assert!(logs.contains("→ tools/list #2") && logs.contains("exit status 0"), "{logs}");
}

#[test]
fn doctor_suggests_a_fix_and_fails_for_scripts() {
    let machine = Machine::new();
    machine.run(["add", "ghost", "--", "no-such-program-anywhere"]);
    let ran = machine.run(["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("FAIL  server ghost: program `no-such-program-anywhere` was not found"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("→ install it, or give its full path"), "{}", ran.stdout);
    assert_eq!(Machine::with_demo().run(["doctor", "--json"]).json()["failed"], 0);
}

#[test]
fn recording_has_no_secrets_and_can_be_replayed() {
    let machine = Machine::new();
    let secret = "hunter22-hunter22";
    machine.run(["add", "-e", &format!("TOKEN={secret}"), "demo", "--", MCP, "demo", "--stdio"]);
    let note = format!("text={secret}");
    let ran = machine.run(["record", "demo", "-o", "tape", "add_note", &note, "-y"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "noted as number 3\n"));
    let tape = machine.read("project/tape");
    assert!(tape.contains("[redacted]") && !tape.contains(secret), "{tape}");
    let played = machine.run(["replay", "tape", "add_note", "text=[redacted]", "-y"]);
    assert_eq!(played.stdout, "noted as number 3\n", "{}", played.stderr);
}

#[test]
fn auth_status_is_shown_without_connecting() {
    let machine = Machine::with_demo();
    machine.run(["add", "docs", "https://example.invalid/mcp"]);
    machine.run(["add", "keyed", "https://example.invalid/other", "-H", "X-Key: abc"]);
    assert_snapshot!(machine.run(["auth", "status"]).stdout, @r"
    SERVER  STATUS
    docs    logged-out  mcp login docs
    keyed   headers     headers in its configuration
    ");
    assert_snapshot!(machine.run(["logout", "docs", "--json"]).stdout, @r#"{"outcome":"not-logged-in","server":"docs"}"#);
    assert_eq!(machine.run(["login", "keyed"]).code, 2);
}

#[test]
fn every_command_has_an_example_in_its_help() {
    let machine = Machine::new();
    let help = machine.run(["--help"]).stdout;
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let names: Vec<&str> =
        commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 30, "{names:?}");
    for name in names.iter().filter(|name| **name != "help") {
        let help = machine.run([name, "--help"]);
        assert!(help.stdout.contains("Examples:\n  mcp "), "{name} has none");
    }
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = machine.run(["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("trust-host"), "{shell}");
    }
    assert!(machine.run(["man"]).stdout.contains("mcp\\-call"));
    assert!(machine.run(["man", "call"]).stdout.contains("key=value"));
    assert_eq!(machine.run(["man", "nothing"]).code, 4);
}

#[test]
fn closed_reader_is_not_an_error() {
    let machine = Machine::with_demo();
    let mut command = machine.command(["tools", "demo"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdout(Stdio::from(writer)).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
#[cfg(target_os = "linux")]
fn full_disk_is_an_error() {
    let machine = Machine::with_demo();
    let mut command = machine.command(["list", "--offline"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    command.stdout(full).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not write the output"));
}

#[test]
fn tool_is_shown_with_its_arguments() {
    let machine = Machine::with_demo();
    let odd = machine.run(["call", "demo/weekday", "date=2020-01-01", "dtae=x", "-y"]);
    assert_eq!(odd.stdout, "2020-01-01 is a Wednesday\n");
    assert!(odd.stderr.contains("unknown argument dtae; known arguments: date"), "{}", odd.stderr);
    assert_snapshot!(machine.run(["tools", "demo/weekday"]).stdout, @r"
    demo/weekday
    Tells the day of the week of a date, for example 1969-07-20.
    ARGUMENT  TYPE              DESCRIPTION
    date      string  required  Year, month and day: YYYY-MM-DD
    ");
    let missing = machine.run(["tools", "dmeo"]);
    assert_eq!(missing.code, 4);
    assert!(missing.stderr.contains("did you mean"), "{}", missing.stderr);
}
