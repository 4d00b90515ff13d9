//! Several processes write one log, and are killed.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use mcp_audit::{AuditKey, AuditLog, LogOptions};

use crate::{Fixture, call};

const FOLDER: &str = "AUDIT_TEST_FOLDER";
const KEY: &str = "AUDIT_TEST_KEY";
/// How many lines each writer has written at least when it is killed.
const LINES: u64 = 30;
const PATIENCE: Duration = Duration::from_secs(60);

/// The child processes run the same test as their parent; the two variables tell them to write.
fn append_until_killed(folder: &str, key: &str) {
    let key = AuditKey::from_text(key).unwrap();
    let options = LogOptions::default().with_max_bytes(20_000).with_max_files(usize::MAX);
    let log = AuditLog::open(Path::new(folder), key, options).unwrap();
    let (began, mut out) = (Instant::now(), std::io::stdout());
    for number in 0_u64.. {
        log.append(&call(&format!("{}-{number}", std::process::id()))).unwrap();
        // Told only after the line is with the system.
        writeln!(out, "appended {number}").unwrap();
        if began.elapsed() > PATIENCE {
            return;
        }
    }
}

fn writer(fixture: &Fixture) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::no_complete_line_is_lost_when_writers_are_killed"])
        .arg("--nocapture")
        .env(FOLDER, fixture.path())
        .env(KEY, &*fixture.key.to_text())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Reads the numbers that a writer tells until it ends. Returns the last one.
fn last_appended(output: impl std::io::Read, is_busy: &mpsc::Sender<()>) -> u64 {
    let mut last = 0;
    for line in BufReader::new(output).lines() {
        let line = line.unwrap();
        let Some(number) = line.strip_prefix("appended ").and_then(|text| text.parse().ok()) else {
            continue;
        };
        last = number;
        if last == LINES {
            is_busy.send(()).unwrap();
        }
    }
    last
}

#[test]
fn no_complete_line_is_lost_when_writers_are_killed() {
    if let (Ok(folder), Ok(key)) = (std::env::var(FOLDER), std::env::var(KEY)) {
        return append_until_killed(&folder, &key);
    }
    let fixture = Fixture::new();
    let mut writers: Vec<Child> = (0..3).map(|_| writer(&fixture)).collect();
    let (is_busy, all_busy) = mpsc::channel();
    let outputs: Vec<_> = writers
        .iter_mut()
        .map(|writer| {
            let (pid, output) = (writer.id(), writer.stdout.take().unwrap());
            let is_busy = is_busy.clone();
            thread::spawn(move || (pid, last_appended(output, &is_busy)))
        })
        .collect();
    (0..writers.len()).for_each(|_| all_busy.recv_timeout(PATIENCE).unwrap());
    for writer in &mut writers {
        writer.kill().unwrap();
        writer.wait().unwrap();
    }
    fixture.write(1, LogOptions::default());
    let found = fixture.verify();
    assert!(found.is_intact() && found.first == 1, "{found:?}");
    let lines = fixture.lines();
    for output in outputs {
        let (pid, last) = output.join().unwrap();
        let kept = format!("\"tool\":\"{pid}-{last}\"");
        assert!(lines.iter().any(|line| line.contains(&kept)), "{kept} is missing");
    }
}
