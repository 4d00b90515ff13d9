//! Invalid input: the error, the hint and the exit code.

use insta::assert_snapshot;

use crate::support::{MCP, Machine};

#[test]
fn unknown_server_or_tool_gets_the_nearest_name() {
    let machine = Machine::with_demo();
    let server = machine.run(["explain", "dmo"]);
    assert_eq!(server.code, 4);
    assert_snapshot!(server.stderr, @r"
    error: `dmo` is not configured; did you mean `demo`?
    hint: `mcp list` shows the servers there are
    ");
    let tool = machine.run(["call", "demo/convert_unit"]);
    assert_eq!(tool.code, 4);
    assert_snapshot!(tool.stderr, @r"
    error: tool not found: demo/convert_unit
    hint: did you mean demo/convert_units?
    ");
    assert_eq!(machine.run(["call", "unknown/tool"]).code, 4);
    assert_eq!(machine.run(["tools", "unknown"]).code, 4);
}

#[test]
fn wrong_arguments_are_named_with_an_example() {
    let machine = Machine::with_demo();
    let ran = machine.run(["call", "demo/weekday", "day=1", "-y"]);
    assert_eq!(ran.code, 2);
    assert_snapshot!(ran.stderr, @r#"
    note: unknown argument day; known arguments: date
    error: the arguments do not fit the schema of demo/weekday:
    - arguments: "date" is a required property
    hint: mcp call demo/weekday date=…
      date (required, string) Year, month and day: YYYY-MM-DD
    "#);
    assert_snapshot!(machine.run(["call", "demo/weekday", "oops"]).stderr, @r"
    error: `oops` is not `key=value`
    hint: mcp call demo/weekday date=…
      date (required, string) Year, month and day: YYYY-MM-DD
    ");
    assert_snapshot!(machine.run(["call", "demo/weekday", "--args", "[1]"]).stderr, @"error: arguments must be a JSON object");
    assert_eq!(machine.run(["call", "demo/weekday", "--args", "{"]).code, 2);
}

#[test]
fn broken_file_does_not_affect_other_files() {
    let machine = Machine::with_demo();
    machine.write("project/.mcp.json", "{ \"mcpServers\": { \"x\": }");
    let ran = machine.run(["call", "demo/weekday", "date=2020-01-01", "-y"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2020-01-01 is a Wednesday\n"));
    assert!(ran.stderr.contains("[home]/project/.mcp.json:1:24: error:"), "{}", ran.stderr);
    let doctor = machine.run(["doctor", "--offline"]);
    assert_eq!(doctor.code, 1);
    assert_eq!(
        machine.run(["add", "-s", "project", "y", "--", "z"]).code,
        3,
        "a broken file is not rewritten"
    );
    assert_eq!(machine.read("project/.mcp.json"), "{ \"mcpServers\": { \"x\": }");
}

#[test]
fn no_servers_is_reported_with_the_next_step() {
    let machine = Machine::new();
    for command in [["list", "-q"], ["tools", "-q"]] {
        let ran = machine.run(command);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    }
    assert_snapshot!(machine.run(["list"]).stderr, @"no servers are configured: add one with `mcp add NAME -- COMMAND`, or run `mcp import`");
    assert_eq!(machine.run(["list", "--json"]).json()["servers"].as_array().unwrap().len(), 0);
}

#[test]
fn commands_work_without_a_home_directory() {
    let machine = Machine::new();
    machine.write("servers.json", &servers());
    for home in [None, Some("/dev/null")] {
        let config = machine.home().join("servers.json");
        let mut command =
            machine.command(["call", "demo/weekday", "date=2020-01-01", "-y", "--config"]);
        command.arg(&config).env_remove("HOME");
        if let Some(home) = home {
            command.env("HOME", home);
        }
        let ran = machine.finish(command, "");
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "2020-01-01 is a Wednesday\n"),
            "{}",
            ran.stderr
        );
    }
    let mut command = machine.command(["add", "-s", "user", "x", "--", "y"]);
    command.env("HOME", "/dev/null");
    let ran = machine.finish(command, "");
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("/dev/null/.config/mcp/mcp.json"), "{}", ran.stderr);
}

#[test]
fn questions_are_denied_without_a_terminal() {
    let machine = Machine::with_demo();
    let ran = machine.run(["call", "demo/list_notes"]);
    assert_eq!(ran.code, 7);
    assert_snapshot!(ran.stderr, @r"
    error: denied: the user could not be asked
    hint: run it in a terminal, or allow it with --yes
    ");
    let deny = machine.run(["call", "demo/list_notes", "--deny"]);
    assert_eq!((deny.code, deny.stderr.as_str()), (7, "error: denied: the user said no\n"));
    let pizza = machine.run(["call", "demo/order_pizza", "-y"]);
    assert_eq!(pizza.stdout, "nothing was ordered\n", "a form that must be filled in is declined");
    assert_eq!(machine.run(["login", "demo"]).code, 2);
}

#[test]
fn server_that_does_not_start_is_explained() {
    let machine = Machine::new();
    machine.run(["add", "broken", "--", "sh", "-c", "echo the key is missing >&2; exit 3"]);
    let ran = machine.run(["call", "broken/x"]);
    assert_eq!(ran.code, 5);
    assert!(ran.stderr.contains("broken is unavailable:"), "{}", ran.stderr);
    let explained = machine.run(["explain", "broken"]);
    assert_eq!(explained.code, 5);
    assert!(explained.stdout.contains("stderr: the key is missing"), "{}", explained.stdout);
    assert!(explained.stdout.contains("exit status 3"), "{}", explained.stdout);
    let listed = machine.run(["list", "--json"]).json();
    assert_eq!(listed["servers"][0]["state"], "failed");
}

#[test]
fn missing_config_file_is_an_error() {
    let machine = Machine::new();
    let ran = machine.run(["list", "--config", "nowhere.json"]);
    assert_eq!(ran.code, 3);
    assert_snapshot!(ran.stderr, @"error: file not found: nowhere.json");
    assert_eq!(machine.run(["replay", "nowhere"]).code, 4);
    assert_eq!(machine.run(["frobnicate"]).code, 2);
    let usage = machine.run(["call", "--json", "--frobnicate"]);
    assert_eq!(usage.code, 2);
    assert_eq!(usage.json()["error"]["code"], "usage", "errors are JSON too");
}

#[test]
fn project_servers_wait_for_approval() {
    let machine = Machine::new();
    machine.write("project/.mcp.json", &servers());
    let listed = machine.run(["list", "--json"]).json();
    assert_eq!(listed["servers"][0]["state"], "unapproved");
    assert_eq!(machine.run(["call", "demo/weekday", "date=2020-01-01", "-y"]).code, 4);
    assert_snapshot!(machine.run(["approve", "demo", "-y"]).stdout, @"approved: demo");
    assert_eq!(machine.run(["call", "demo/weekday", "date=2020-01-01", "-y"]).code, 0);
    machine.write("project/.mcp.json", &servers().replace("--stdio\"", "--stdio\", \"-q\""));
    let listed = machine.run(["list", "--json"]).json();
    assert_eq!(listed["servers"][0]["state"], "unapproved", "the entry has changed");
}

fn servers() -> String {
    format!(r#"{{"mcpServers": {{"demo": {{"command": "{MCP}", "args": ["demo", "--stdio"]}}}}}}"#)
}

#[test]
fn read_only_home_does_not_stop_commands() {
    let machine = Machine::new();
    machine.write("servers.json", &servers());
    let config = machine.home().join("servers.json");
    // Not even root can create a folder there.
    let run = |args: &[&str]| {
        let mut command = machine.command(args);
        command.env("HOME", "/proc").arg("--config").arg(&config);
        machine.finish(command, "")
    };
    for args in [&["list"][..], &["tools"], &["call", "demo/weekday", "date=2020-01-01", "-y"]] {
        let ran = run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        assert!(!ran.stdout.is_empty(), "{args:?}");
    }
    let mut add = machine.command(["add", "-s", "user", "x", "--", "y"]);
    let ran = machine.finish(
        {
            add.env("HOME", "/proc");
            add
        },
        "",
    );
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("/proc/.config/mcp/mcp.json"), "{}", ran.stderr);
    let doctor = run(&["doctor", "--offline"]);
    assert_eq!(doctor.code, 0, "only a warning: {}", doctor.stdout);
    assert!(doctor.stdout.contains("warn  state folder: /proc/"), "{}", doctor.stdout);
}

#[cfg(unix)]
#[test]
fn full_disk_leaves_existing_files_unchanged() {
    let machine = Machine::with_demo();
    let before = machine.read(".config/mcp/mcp.json");
    // No file may grow.
    let run = |command: &str| {
        let mut shell = std::process::Command::new("sh");
        machine.set_up(&mut shell);
        shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f 0; exec {MCP} {command}"));
        machine.finish(shell, "")
    };
    let ran = run("add -s user x -- y");
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(machine.read(".config/mcp/mcp.json"), before, "the file is unchanged");
    let ran = run("call demo/weekday date=2020-01-01 -y");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "2020-01-01 is a Wednesday\n"),
        "{}",
        ran.stderr
    );
    let ran = run("record demo -o tape");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("could not write tape"), "{}", ran.stderr);
    let ran = run("doctor --offline");
    assert!(ran.stdout.contains("warn  state folder"), "{}", ran.stdout);
}

#[cfg(unix)]
#[test]
fn closed_stdout_is_not_an_error() {
    let machine = Machine::with_demo();
    for command in ["list", "tools", "call demo/weekday date=2020-01-01 -y", "man", "list --json"] {
        let mut shell = std::process::Command::new("sh");
        machine.set_up(&mut shell);
        shell.arg("-c").arg(format!("exec {MCP} {command} >&-"));
        let ran = machine.finish(shell, "");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command}");
    }
}

#[test]
fn named_file_without_usable_entries_is_an_error() {
    let machine = Machine::new();
    let path = machine.write("broken.json", "{\"mcpServers\": ");
    let config = ["--config", path.to_str().unwrap()];
    for command in [&["list"][..], &["tools", "--json"]] {
        let ran = machine.run(config.iter().chain(command));
        assert_eq!(ran.code, 3, "{}", ran.stdout);
    }
}

#[test]
fn rejected_server_can_be_approved_later() {
    let machine = Machine::new();
    machine.write("project/.mcp.json", &servers());
    assert_eq!(machine.run(["approve", "demo", "--reject"]).code, 0);
    assert_snapshot!(machine.run(["approve"]).stdout, @"no entries of this project wait for an answer");
    assert_snapshot!(machine.run(["approve", "demo", "-y"]).stdout, @"approved: demo");
    assert_eq!(machine.run(["call", "demo/weekday", "date=2020-01-01", "-y"]).code, 0);
}
