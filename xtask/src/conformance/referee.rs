//! Runs the official suite, one scenario at a time.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    catalogue::Run,
    judge::{Evidence, Verdict, judge},
};
use crate::process::{capture, exists};

/// Concurrent runs. Each run has two programs, and scenarios have time limits.
const AT_ONCE: usize = 2;
/// Time limit for one run of the client, in milliseconds.
const TIME_LIMIT: &str = "30000";

/// The installed suite and the client under test.
#[derive(Debug)]
pub(super) struct Referee {
    node: PathBuf,
    script: PathBuf,
    driver: String,
    results: PathBuf,
}

impl Referee {
    /// The suite installed in `modules`, with this client.
    pub(super) fn new(modules: &Path, driver: &str, results: &Path) -> Result<Self, String> {
        clear(results).map_err(|error| format!("could not clear the old results: {error}"))?;
        let script = modules.join("@modelcontextprotocol/conformance/dist/index.js");
        Ok(Self {
            node: node(modules)?,
            script,
            driver: driver.to_owned(),
            results: results.into(),
        })
    }

    /// Runs `list` and returns its output.
    pub(super) fn list(&self, arguments: &[&str]) -> Result<String, String> {
        capture(Command::new(&self.node).arg(&self.script).arg("list").args(arguments))
    }

    /// A verdict for each run, in order.
    pub(super) fn judge_all(&self, runs: &[Run]) -> Vec<Verdict> {
        let next = AtomicUsize::new(0);
        let verdicts: Vec<OnceLock<Verdict>> = runs.iter().map(|_| OnceLock::new()).collect();
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let (Some(run), Some(slot)) = (runs.get(index), verdicts.get(index)) else {
                            return;
                        };
                        let _ = slot.set(self.judge_one(run));
                        // Progress: the whole suite takes minutes, and the table is printed at the end.
                        eprint!(".");
                    }
                });
            }
        });
        eprintln!();
        let lost = || Err(vec!["the run was lost".to_owned()]);
        verdicts.into_iter().map(|slot| slot.into_inner().unwrap_or_else(lost)).collect()
    }

    fn judge_one(&self, run: &Run) -> Verdict {
        let folder = self.results.join(&run.revision);
        let mut command = Command::new(&self.node);
        command
            .arg(&self.script)
            .args(["client", "--command", &self.driver, "--timeout", TIME_LIMIT])
            .args(["--scenario", &run.scenario, "--spec-version", &run.revision, "-o"])
            .arg(&folder)
            .stdin(Stdio::null());
        without_proxy(&mut command);
        if run.is_forced {
            command.arg("--force");
        }
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => return Err(vec![format!("the referee does not start: {error}")]),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        let end = (!output.status.success())
            .then(|| said.lines().find(|line| is_about_the_end(line)).map(str::to_owned))
            .flatten();
        let checks = results_of(&folder, &run.scenario)
            .and_then(|folder| fs::read_to_string(folder.join("checks.json")).ok());
        judge(&run.scenario, &Evidence { is_content: output.status.success(), end, checks })
    }
}

/// Keeps loopback requests away from the machine's proxy.
pub(super) fn without_proxy(command: &mut Command) {
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, "localhost,127.0.0.1,::1");
    }
}

/// Whether this line is about the exit of the client. The client's last line explains more than its exit code, but
/// only the code is always present.
fn is_about_the_end(line: &str) -> bool {
    ["Client exited with code", "Client timed out", "Client test error"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// The referee appends a timestamp to the name. The folder was cleared, so there is only one.
fn results_of(folder: &Path, scenario: &str) -> Option<PathBuf> {
    let path = folder.join(scenario);
    let start = format!("{}-2", path.file_name()?.to_str()?);
    let entries = fs::read_dir(path.parent()?).ok()?;
    let mut found = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(&start)));
    found.next().map(|entry| entry.path())
}

fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    }
}

/// The Node.js that was installed with the suite, or the system's if it is new enough.
fn node(modules: &Path) -> Result<PathBuf, String> {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let installed = modules.join(format!("node-{system}-{machine}/bin/node"));
    if installed.exists() {
        return Ok(installed);
    }
    let version = if exists("node") {
        capture(Command::new("node").arg("--version"))?
    } else {
        String::new()
    };
    let major =
        version.trim_start_matches('v').split('.').next().and_then(|n| n.parse::<u32>().ok());
    match major {
        Some(22..) => Ok("node".into()),
        _ => Err("the conformance suite needs Node.js 22 or newer on this kind of machine".into()),
    }
}
