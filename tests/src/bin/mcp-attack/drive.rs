//! One run of one server: start, drive its tools, stop, and look around.

use std::{
    error::Error,
    fmt,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use mcp_sandbox::{Entry, Launch, Level, Profile};
use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    sys::{
        signal::{Signal, kill, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use crate::{
    corpus::Server,
    machine::{Machine, Snapshot},
    traps::Traps,
};

const PATIENCE: Duration = Duration::from_secs(40);

/// Something that a server must not achieve.
pub(crate) enum Finding {
    Read,
    Wrote(String),
    Sent(String),
    Reached(String),
    LeftRunning(String),
    Ended,
    Exhausted,
    /// The server did not respond: nothing is known.
    Silent(String),
}

impl Finding {
    /// Whether it counts under a level. The network is open under `standard`.
    pub(crate) fn counts(&self, level: Level) -> bool {
        match self {
            Self::Sent(_) => level != Level::Standard,
            Self::Silent(_) => level != Level::Off,
            _ => true,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read a secret"),
            Self::Wrote(path) => write!(f, "changed {path}"),
            Self::Sent(what) => write!(f, "sent: {what}"),
            Self::Reached(what) => write!(f, "reached: {what}"),
            Self::LeftRunning(what) => write!(f, "left running: {what}"),
            Self::Ended => f.write_str("ended a process of the user"),
            Self::Exhausted => f.write_str("passed a limit"),
            Self::Silent(text) => write!(f, "no answer: {text}"),
        }
    }
}

pub(crate) fn run(
    server: &Server,
    level: Level,
    folder: &Path,
) -> Result<Vec<Finding>, Box<dyn Error>> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let machine = Machine::make(folder, number)?;
    let python = crate::corpus::python()?;
    let mut traps = Traps::set(&machine, &python, number)?;
    // A descriptor that the host forgot to mark.
    let leaked = File::open(machine.outside.join("ledger.txt"))?;
    fcntl(&leaked, FcntlArg::F_SETFD(FdFlag::empty()))?;
    let before = machine.snapshot();

    let mut found = Vec::new();
    let mut text = String::new();
    for start in 0..server.starts {
        let mut command = command(server, level, &machine)?;
        command.env("ATTACK_TARGETS", traps.targets.to_string());
        let (said, responded) = drive(command.spawn()?)?;
        // After what a server did in an earlier start, the launcher may refuse it.
        if !responded && start == 0 {
            found.push(Finding::Silent(said.chars().take(300).collect()));
        }
        text.push_str(&said);
    }
    drop(leaked);

    if text.contains(&machine.canary) {
        found.push(Finding::Read);
    }
    if text.contains("EXHAUSTED") {
        found.push(Finding::Exhausted);
    }
    found.extend(changes(&machine, level, &before));
    found.extend(traps.dropped().into_iter().map(Finding::Wrote));
    found.extend(traps.network().into_iter().map(Finding::Sent));
    found.extend(traps.session().into_iter().map(Finding::Reached));
    if traps.bystander.try_wait()?.is_some() {
        found.push(Finding::Ended);
    }
    found.extend(leftovers(traps.bystander.id()));
    traps.remove();
    Ok(found)
}

fn command(server: &Server, level: Level, machine: &Machine) -> Result<Command, Box<dyn Error>> {
    let (program, args) = if level == Level::Off {
        (server.program.clone(), server.args.iter().map(Into::into).collect())
    } else {
        let mut entry = Entry::new(&server.program, &machine.home, &machine.state);
        entry.args = server.args.iter().map(Into::into).collect();
        entry.project = Some(machine.project.clone());
        let mut profile = Profile::new(level);
        profile.read.clone_from(&server.read);
        profile.write.clone_from(&server.write);
        let resolved = profile.resolve(&entry)?;
        Launch::prepare(resolved.rules)?.command(&server.program, entry.args)
    };
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &machine.home)
        .current_dir(&machine.project)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// Calls every tool, then stops the server as a host does. Returns all it wrote, and whether its tools responded.
fn drive(mut child: Child) -> Result<(String, bool), Box<dyn Error>> {
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let stdout = child.stdout.take().ok_or("no output")?;
    let mut stderr = child.stderr.take().ok_or("no errors")?;
    let (send, lines) = mpsc::channel();
    let errors = send.clone();
    thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
    });
    thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        errors.send(text)
    });
    let mut text = String::new();
    let mut ask = |id: u32, method: &str, params: &str| -> Option<serde_json::Value> {
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"
        );
        stdin.write_all(request.as_bytes()).ok()?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line =
                lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
            text.push_str(&line);
            text.push('\n');
            let value: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if value["id"] == id {
                return Some(value);
            }
        }
    };
    let hello = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"attack","version":"1"}}"#;
    let mut responded = ask(1, "initialize", hello).is_some();
    let tools = ask(2, "tools/list", "{}").unwrap_or_default();
    for (at, tool) in (3..).zip(tools["result"]["tools"].as_array().into_iter().flatten()) {
        let params = serde_json::json!({ "name": tool["name"], "arguments": {} });
        responded &= ask(at, "tools/call", &params.to_string()).is_some();
    }
    drop(stdin);
    stop(&mut child);
    text.extend(lines.try_iter());
    Ok((text, responded))
}

/// Waits after the end of its input, then sends SIGTERM and SIGKILL to its group.
fn stop(child: &mut Child) {
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            if child.try_wait().is_ok_and(|status| status.is_some()) {
                let _ = killpg(group, Signal::SIGKILL);
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = killpg(group, signal);
    }
    let _ = child.wait();
}

fn changes(machine: &Machine, level: Level, before: &Snapshot) -> Vec<Finding> {
    let after = machine.snapshot();
    let mut paths: Vec<_> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    let is_allowed = |path: &&Path| level == Level::Standard && machine.may_change(path);
    let mut found: Vec<Finding> = changed
        .map(std::path::PathBuf::as_path)
        .filter(|path| !is_allowed(path))
        .map(|path| Finding::Wrote(path.display().to_string()))
        .collect();
    if machine.state.join("reports/forged").exists() {
        found.push(Finding::Wrote("a forged report".into()));
    }
    found
}

/// Processes that are neither ours nor the bystander. Ends them.
fn leftovers(bystander: u32) -> Vec<Finding> {
    let ours = [std::process::id(), bystander];
    let deadline = Instant::now() + Duration::from_millis(500);
    loop {
        while matches!(waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)), Ok(status) if status != WaitStatus::StillAlive)
        {
        }
        let found: Vec<u32> = processes().filter(|pid| !ours.contains(pid)).collect();
        if found.is_empty() {
            return Vec::new();
        }
        if Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
            continue;
        }
        let name = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
        };
        let shown = found.iter().map(|pid| Finding::LeftRunning(name(pid))).collect();
        for pid in found {
            let _ = kill(Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX)), Signal::SIGKILL);
        }
        return shown;
    }
}

/// All processes but zombies, which only wait to be collected.
fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let state = stat.rsplit_once(')')?.1.trim_start().chars().next()?;
        (state != 'Z').then_some(pid)
    })
}
