//! Sessions on a real terminal: questions, progress, colours, Ctrl-C.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};

use crate::support::{MCP, Machine};

/// How long to wait for output.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A command with its own controlling terminal.
pub(crate) struct Session {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Session {
    pub(crate) fn start(machine: &Machine, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::sized(machine, args, variables, 0)
    }

    /// Starts a session with this many columns; 0 is a terminal of unknown size.
    fn sized(machine: &Machine, args: &[&str], variables: &[(&str, &str)], columns: u16) -> Self {
        let size = nix::pty::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = nix::pty::openpty(Some(&size).filter(|_| columns > 0), None).unwrap();
        let end = || Stdio::from(OwnedFd::try_clone(&pty.slave).unwrap());
        // Makes the terminal the controlling one, so that Ctrl-C sends a signal.
        let mut command = Command::new("setsid");
        machine.set_up(&mut command);
        command.arg("--ctty").arg(MCP).args(args).env("TERM", "xterm");
        command.envs(variables.iter().copied());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        drop(pty.slave);
        let keyboard = File::from(pty.master);
        let mut reader = keyboard.try_clone().unwrap();
        let (sender, screen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // On Linux, reading fails once the other end is closed.
            while let Ok(read) = reader.read(&mut buffer) {
                if read == 0 || sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, seen: String::new() }
    }

    /// Waits for `text` on the screen, and discards everything up to it.
    pub(crate) fn expect(&mut self, text: &str) {
        self.until(text);
    }

    /// Waits for `text` on the screen, and returns everything up to it.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.seen.find(text) {
                return self.seen.drain(..at + text.len()).collect();
            }
            let left = TIMEOUT.saturating_sub(begun.elapsed());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(why) => panic!("no {text:?} on the screen ({why}), but {:?}", self.seen),
            }
        }
    }

    /// Waits for a complete word that contains `part`, and returns it.
    pub(crate) fn word_with(&mut self, part: &str) -> String {
        let begun = Instant::now();
        loop {
            // The last word may be incomplete.
            let whole = self.seen.rfind(char::is_whitespace).unwrap_or(0);
            let word = self.seen[..whole].split_whitespace().find(|word| word.contains(part));
            if let Some(word) = word {
                return word.to_owned();
            }
            let left = TIMEOUT.saturating_sub(begun.elapsed());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(why) => panic!("no {part:?} on the screen ({why}), but {:?}", self.seen),
            }
        }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end, and returns the exit code and the rest of the screen.
    pub(crate) fn end(mut self) -> (i32, String) {
        while let Ok(bytes) = self.screen.recv_timeout(TIMEOUT) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (self.child.wait().unwrap().code().unwrap_or(-1), std::mem::take(&mut self.seen))
    }
}

/// Kills the session of a failed test, which would otherwise wait for input forever.
impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const CTRL_C: &str = "\u{3}";

#[test]
fn call_of_an_untrusted_server_is_asked_about() {
    let machine = Machine::with_demo();
    for (typed, code, shown) in
        [("y\n", 0, "2 notes deleted"), ("n\n", 7, "denied: the user said no")]
    {
        let mut session = Session::start(&machine, &["call", "demo/delete_notes"], &[]);
        session.expect("mcp:demo:delete_notes wants to run");
        session.expect("run it? [y]es, [N]o");
        session.type_in(typed);
        session.expect(shown);
        assert_eq!(session.end().0, code);
    }
}

#[test]
fn permanent_approval_covers_only_that_tool() {
    let machine = Machine::with_demo();
    let mut session = Session::start(&machine, &["call", "demo/list_notes"], &[]);
    session.expect("[a]lways");
    session.type_in("a\n");
    session.expect("water the plants");
    assert_eq!(session.end().0, 0);
    // Without a terminal: no question is necessary.
    assert_eq!(machine.run(["call", "demo/list_notes"]).code, 0);
    assert_eq!(machine.run(["call", "demo/add_note", "text=x"]).code, 7);
    assert_eq!(machine.run(["approve", "--always"]).stdout, "mcp:demo:list_notes\n");
    assert_eq!(machine.run(["approve", "--revoke", "mcp:demo:*"]).code, 0);
    assert_eq!(machine.run(["call", "demo/list_notes"]).code, 7, "it is asked about again");
}

#[test]
fn destructive_call_offers_no_always_and_can_be_interrupted() {
    let machine = Machine::with_demo();
    let mut session = Session::start(&machine, &["call", "demo/delete_notes"], &[]);
    session.expect("it may destroy something");
    session.expect("run it? [y]es, [N]o");
    session.type_in(CTRL_C);
    session.expect("stopping…");
    assert_eq!(session.end().0, 130);
}

#[test]
fn last_column_is_cut_at_the_terminals_width() {
    let machine = Machine::with_demo();
    machine.run(["list"]);
    let session = Session::sized(&machine, &["tools"], &[], 80);
    let (code, said) = session.end();
    assert_eq!(code, 0);
    let widest = said.lines().map(|line| plain(line).chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 80), "{said}");
}

/// Removes the colours of a line.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn form_is_filled_in_line_by_line_and_invalid_values_are_asked_for_again() {
    let machine = Machine::new();
    machine.run(["add", "--trust", "-s", "user", "demo", "--", MCP, "demo", "--stdio"]);
    let mut session = Session::start(&machine, &["call", "demo/order_pizza"], &[]);
    session.expect("demo asks: Which pizza shall it be?");
    session.expect("answer it? [y/N]");
    session.type_in("y\n");
    session.expect("Kind (margherita or funghi or diavola): ");
    session.type_in("hawaii\n");
    session.expect("one of margherita, funghi, diavola");
    session.expect("Kind (");
    session.type_in("funghi\n");
    session.expect("How many (a whole number) [1]: ");
    session.type_in("2\n");
    session.expect("ordered: 2 funghi");
    assert_eq!(session.end().0, 0);
    let mut session = Session::start(&machine, &["call", "demo/order_pizza"], &[]);
    session.expect("answer it?");
    // The default is no, as for every question.
    session.type_in("\n");
    session.expect("nothing was ordered");
    assert_eq!(session.end().0, 0);
}

#[test]
fn progress_is_shown_during_a_call() {
    let machine = Machine::with_demo();
    let call = ["call", "demo/find_primes", "limit=1000", "pause_ms=30", "-y"];
    let mut session = Session::start(&machine, &call, &[]);
    session.expect(" % ");
    session.expect("primes up to");
    session.expect("168 primes up to 1000; the largest: 997, 991, 983");
    assert_eq!(session.end().0, 0);
}

#[test]
fn colours_are_only_for_terminals_that_support_them() {
    let machine = Machine::with_demo();
    let painted = Session::start(&machine, &["list", "--connect"], &[]).end().1;
    assert!(painted.contains("\u{1b}[32mconnected\u{1b}[0m"), "{painted:?}");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = Session::start(&machine, &["list", "--offline"], &[variable]).end().1;
        assert!(plain.contains("idle") && !plain.contains("\u{1b}[1m"), "{plain:?}");
    }
}

/// Adds a server whose input from the host is written to a file.
fn machine_with_wire() -> Machine {
    let machine = Machine::new();
    let script = format!("tee wire | {MCP} demo --stdio");
    machine.run(["add", "--trust", "-s", "user", "demo", "--", "sh", "-c", &script]);
    machine
}

#[test]
fn ctrl_c_cancels_the_call_on_the_wire() {
    let machine = machine_with_wire();
    let call = ["call", "demo/find_primes", "limit=1000", "pause_ms=10000"];
    let mut session = Session::start(&machine, &call, &[]);
    session.expect(" % ");
    session.type_in(CTRL_C);
    session.expect("stopping…");
    assert_eq!(session.end().0, 130);
    let wire = machine.read("project/wire");
    assert!(wire.contains(r#""method":"notifications/cancelled""#), "{wire}");
    assert_no_process(&machine.project().to_string_lossy());
}

#[test]
fn second_ctrl_c_exits_at_once_and_kills_every_child() {
    let machine = Machine::new();
    // It ignores the end of its input and SIGTERM.
    let mark = format!("8{}", std::process::id());
    let script = format!("trap '' TERM; {MCP} demo --stdio; sleep {mark} & wait; sleep {mark}");
    machine.run(["add", "--trust", "-s", "user", "demo", "--", "sh", "-c", &script]);
    let call = ["call", "demo/find_primes", "limit=1000", "pause_ms=10000"];
    let mut session = Session::start(&machine, &call, &[]);
    session.expect(" % ");
    session.type_in(CTRL_C);
    session.expect("Ctrl-C again to exit at once");
    let begun = Instant::now();
    session.type_in(CTRL_C);
    assert_eq!(session.end().0, 130);
    // A graceful shutdown of this server would take four seconds.
    assert!(begun.elapsed() < Duration::from_millis(3_500), "{:?}", begun.elapsed());
    assert_no_process(&mark);
}

/// Asserts that no process has this word in its command line, now or shortly.
fn assert_no_process(word: &str) {
    let begun = Instant::now();
    loop {
        let mut left = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            if line.contains(word) {
                left.push(line);
            }
        }
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "still there: {left:?}");
        std::thread::yield_now();
    }
}

/// A server in a few lines of shell that requests a URL elicitation before it answers a call.
const SENDS_TO_A_PAGE: &str = r#"
page=$1
say() { printf '%s\n' "$1"; }
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"method":"initialize"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}' ;;
  *'"method":"tools/list"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}}' ;;
  *'"method":"tools/call"'*) call=$id; say '{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"mode":"url","elicitationId":"1","url":"'"$page"'","message":"Confirm it there"}}' ;;
  *'"action":"accept"'*) say '{"jsonrpc":"2.0","id":'$call',"result":{"content":[{"type":"text","text":"paid"}]}}' ;;
  *'"error":'*) say '{"jsonrpc":"2.0","id":'$call',"result":{"content":[{"type":"text","text":"refused"}]}}' ;;
  *'"action":'*) say '{"jsonrpc":"2.0","id":'$call',"result":{"content":[{"type":"text","text":"not paid"}]}}' ;;
  *'"method":"notifications/'*) ;;
  *'"method":'*) say '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"unknown method"}}' ;;
  esac
done
"#;

fn machine_with_bank(page: &str) -> Machine {
    let machine = Machine::new();
    let add = ["add", "--trust", "-s", "user", "bank", "--", "sh", "-c", SENDS_TO_A_PAGE, "sh"];
    machine.run(add.into_iter().chain([page]));
    machine
}

#[test]
fn url_elicitation_shows_the_host_and_opens_no_browser() {
    let page = format!("https://bank.example.evil.example/pay?sum={}", "1".repeat(3_000));
    let machine = machine_with_bank(&page);
    for (typed, outcome) in [("y\n", "paid"), ("\n", "not paid")] {
        let marker = machine.home().join("opened");
        let browser = machine.write("browser", "#!/bin/sh\ntouch \"$HOME/opened\"\n");
        let variables = [("BROWSER", browser.to_str().unwrap())];
        let mut session = Session::start(&machine, &["call", "bank/pay"], &variables);
        session.expect("bank asks: Confirm it there");
        session.expect("open this page of bank.example.evil.example yourself:");
        session.expect(&page);
        session.expect("continue? [y/N] ");
        session.type_in(typed);
        session.expect(outcome);
        assert_eq!(session.end().0, 0);
        assert!(!marker.exists(), "no browser was started");
    }
}

#[test]
fn url_with_misleading_user_information_is_not_shown() {
    let machine = machine_with_bank("https://bank.example@evil.example/");
    let mut session = Session::start(&machine, &["call", "bank/pay"], &[]);
    session.expect("refused");
    let (_, rest) = session.end();
    assert!(!rest.contains("evil"), "{rest}");
}

#[test]
fn elicitation_can_be_interrupted() {
    let machine = machine_with_wire();
    let mut session = Session::start(&machine, &["call", "demo/order_pizza"], &[]);
    session.expect("answer it? [y/N]");
    session.type_in(CTRL_C);
    session.expect("stopping…");
    assert_eq!(session.end().0, 130);
    assert_no_process(&machine.project().to_string_lossy());
}
