//! A server that reads its input and never answers. It keeps its stdout open: one that closes it fails at once.

use std::{
    fs,
    process::Stdio,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use crate::support::{Machine, Ran};

/// The commands that ask every server.
const COMMANDS: [&[&str]; 5] =
    [&["search", "weekday"], &["list"], &["tools"], &["stats"], &["prompts"]];

/// A machine with the demo server, whose tools are known, and a silent one.
struct Silent {
    machine: Machine,
    starts: std::path::PathBuf,
}

impl Silent {
    fn new() -> Self {
        let machine = Machine::with_demo();
        assert_eq!(machine.run(["tools", "demo"]).code, 0, "the other server is known");
        // In the project, where its sandbox lets it write.
        let starts = machine.project().join("starts");
        fs::write(&starts, "").unwrap();
        let script = format!("echo start >> {}; while read -r line; do :; done", starts.display());
        machine.run(["add", "-s", "user", "silent", "--", "sh", "-c", &script]);
        Self { machine, starts }
    }

    fn starts(&self) -> usize {
        fs::read_to_string(&self.starts).unwrap().lines().count()
    }

    /// Forgets the failure, and runs a command that waits one second.
    fn first_run(&self, command: &[&str]) -> Ran {
        fs::remove_dir_all(self.machine.home().join(".cache/mcp/catalogue")).unwrap();
        let _ = fs::remove_file(self.machine.home().join(".cache/mcp/failures.json"));
        assert_eq!(self.machine.run(["tools", "demo"]).code, 0);
        self.machine.run([command, &["--timeout", "1"]].concat())
    }
}

#[test]
fn second_run_does_not_wait_for_a_silent_server() {
    let silent = Silent::new();
    for command in COMMANDS {
        silent.first_run(command);
        let before = silent.starts();
        let again = silent.machine.run(command);
        assert_eq!(again.code, 0, "{command:?}: {}", again.stderr);
        assert!(
            again.stderr.contains("a few minutes ago: silent"),
            "{command:?}: {}",
            again.stderr
        );
        assert_eq!(silent.starts(), before, "{command:?} started it again");
    }
}

/// A wait for the server would take seconds in every attempt; a busy machine delays some of them.
#[test]
fn silent_server_costs_less_than_half_a_second_on_the_second_run() {
    const MOST: Duration = Duration::from_millis(500);
    let silent = Silent::new();
    let took = |machine: &Machine, command: &[&str]| {
        let begun = Instant::now();
        assert_eq!(machine.run(command).code, 0, "{command:?}");
        begun.elapsed()
    };
    let without = Machine::with_demo();
    assert_eq!(without.run(["tools", "demo"]).code, 0);
    for command in COMMANDS {
        silent.first_run(command);
        let more: Vec<Duration> = (0..10)
            .map(|_| took(&silent.machine, command).saturating_sub(took(&without, command)))
            .scan(false, |is_over, more| (!std::mem::replace(is_over, more < MOST)).then_some(more))
            .collect();
        assert!(more.last().is_some_and(|last| *last < MOST), "{command:?}: {more:?}");
    }
}

#[test]
fn first_run_names_the_servers_that_were_not_searched() {
    let silent = Silent::new();
    for command in
        [&["search", "weekday"][..], &["tools"], &["stats"], &["prompts"], &["resources"]]
    {
        let first = silent.first_run(command);
        assert!(
            first.stderr.contains("not searched, because they are unavailable: silent"),
            "{command:?}: {}",
            first.stderr
        );
        silent.first_run(command);
        let json = silent.machine.run([command, &["--json"]].concat()).json();
        let left_out = &json["notSearched"][0];
        assert_eq!(
            (&left_out["server"], &left_out["state"]),
            (&json!("silent"), &json!("failed")),
            "{command:?}: {json}"
        );
    }
}

#[test]
fn interrupted_wait_is_remembered() {
    let silent = Silent::new();
    let mut search = silent.machine.command(["search", "weekday"]);
    let mut child = search.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while silent.starts() == 0 {
        std::thread::yield_now();
    }
    // The user's patience.
    std::thread::sleep(Duration::from_millis(2_500));
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let again = silent.machine.run(["search", "weekday"]);
    assert!(again.stderr.contains("a few minutes ago: silent"), "{}", again.stderr);
    assert_eq!((again.code, silent.starts()), (0, 1), "{}", again.stderr);
}

#[test]
fn one_failure_has_one_state() {
    let silent = Silent::new();
    let state = |ran: &Ran| {
        let json = ran.json();
        let servers = json["servers"].as_array().unwrap();
        let server = servers.iter().find(|server| server["name"] == "silent").unwrap();
        (server["state"].as_str().unwrap().to_owned(), server["problem"].is_string())
    };
    let first = silent.first_run(&["list", "--json"]);
    let next = silent.machine.run(["list", "--json"]);
    assert_eq!(state(&first), ("failed".to_owned(), true), "{}", first.stdout);
    assert_eq!(state(&next), state(&first), "{}", next.stdout);
    let explained = silent.machine.run(["explain", "silent", "--timeout", "1", "--json"]).json();
    assert_eq!(explained["state"], "failed", "{explained}");
}
