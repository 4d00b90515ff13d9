//! Running the official suite, one scenario at a time.

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

/// Each run is two programs, and scenarios watch the clock.
const AT_ONCE: usize = 2;
/// For one run of the client, in milliseconds.
const TIME_LIMIT: &str = "30000";

/// The suite, ready to run.
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

    /// What `list` prints.
    pub(super) fn list(&self, arguments: &[&str]) -> Result<String, String> {
        capture(Command::new(&self.node).arg(&self.script).arg("list").args(arguments))
    }

    /// A verdict for each run, in their order.
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
                        // It takes minutes in all, and the table comes at the end.
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

/// A proxy of the machine must not get to see what goes to the loopback.
pub(super) fn without_proxy(command: &mut Command) {
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, "localhost,127.0.0.1,::1");
    }
}

/// The last line of a client that failed says more than its exit code, but only the code is sure
/// to be there.
fn is_about_the_end(line: &str) -> bool {
    ["Client exited with code", "Client timed out", "Client test error"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// The referee adds a time to the name. The folder was cleared, so there is one.
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

/// The Node.js that was installed with the suite, or the machine's own if it is new enough.
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
