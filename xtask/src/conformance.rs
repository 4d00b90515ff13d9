//! `cargo xtask conformance`: tests our client against the official suite and against real servers.
//!
//! The official conformance suite is applied more strictly than it applies itself: see [`judge`]. The matrix
//! (`mcp-matrix` of the package `mcp-tests`) runs our scenarios with published servers and scripts on the official
//! SDKs. Both print a table, and the last line has the totals.

mod catalogue;
mod judge;
mod known;
mod referee;
mod table;

use std::{
    fmt, fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use self::{known::Known, referee::Referee, table::Outcome};
use crate::{
    process::{cargo, run},
    refservers::{self, Kit, MATRIX_KITS, SUITE},
    workspace::Workspace,
};

const HELP: &str = "\
cargo xtask conformance [what] [options] [names]

  suite | matrix     only that half
  install            only what the halves need
  names              only the scenarios, or the servers, whose name contains one of them
  --revision R       only the runs of the suite at that revision of the protocol
  --driver COMMAND   another client for the suite; our list of known failures is then left aside

Results of the suite stay in conformance/results of the target directory.";

/// Scenarios that cannot pass yet, each with its reason.
const KNOWN: &str = "tests/conformance/known-failures.txt";
/// The folder with the scripts of the matrix.
const SERVERS: &str = "tests/servers";

/// Numbers of passed and failed scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Score {
    passed: usize,
    failed: usize,
}

impl Score {
    /// Parses the output of `Display`.
    fn parse(line: &str) -> Option<Self> {
        let (passed, failed) = line.strip_suffix(" failed")?.split_once(" passed, ")?;
        Some(Self { passed: passed.parse().ok()?, failed: failed.parse().ok()? })
    }

    fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let Some(wish) = Wish::parse(arguments)? else {
        println!("{HELP}");
        return Ok(());
    };
    let target = Workspace::load()?.target;
    let mut kits: Vec<&Kit> = Vec::new();
    if wish.suite {
        kits.push(&SUITE);
    }
    if wish.matrix {
        kits.extend(MATRIX_KITS);
    }
    install(&kits, &target)?;
    if wish.only_install {
        return Ok(());
    }
    if wish.matrix || wish.driver.is_none() {
        run(&mut cargo(["build", "-p", "mcp-tests", "--bins"]))?;
    }
    let mut score = Score::default();
    if wish.suite {
        score = score.and(suite(&wish, &target)?);
    }
    if wish.matrix {
        score = score.and(matrix(&wish, &target)?);
    }
    println!("{score}");
    match score {
        Score { passed: 0, failed: 0 } => Err("nothing was run: no name fits".into()),
        Score { failed: 0, .. } => Ok(()),
        Score { failed: 1, .. } => Err("one run failed".into()),
        Score { failed, .. } => Err(format!("{failed} runs failed")),
    }
}

/// The options of the command line.
#[derive(Debug, PartialEq)]
struct Wish {
    suite: bool,
    matrix: bool,
    only_install: bool,
    revision: Option<String>,
    driver: Option<String>,
    names: Vec<String>,
}

impl Wish {
    /// `None` if help was requested.
    fn parse(arguments: &[String]) -> Result<Option<Self>, String> {
        let mut wish = Self {
            suite: true,
            matrix: true,
            only_install: false,
            revision: None,
            driver: None,
            names: Vec::new(),
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next().cloned().map(Some).ok_or_else(|| format!("`{argument}` needs a value"))
            };
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "suite" => wish.matrix = false,
                "matrix" => wish.suite = false,
                "install" => wish.only_install = true,
                "--revision" => wish.revision = value()?,
                "--driver" => wish.driver = value()?,
                flag if flag.starts_with('-') => return Err(format!("unknown option `{flag}`")),
                name => wish.names.push(name.to_owned()),
            }
        }
        // These options apply to the suite only, so the matrix does not run with them.
        wish.matrix &= wish.revision.is_none() && wish.driver.is_none();
        if !wish.suite && !wish.matrix {
            return Err("there is nothing left to run".into());
        }
        Ok(Some(wish))
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| name.contains(wanted.as_str()))
    }
}

fn install(kits: &[&Kit], target: &Path) -> Result<(), String> {
    let missing = refservers::missing(kits, target)?;
    thread::scope(|scope| {
        let installs: Vec<_> =
            missing.iter().map(|kit| scope.spawn(|| kit.install(target))).collect();
        installs.into_iter().try_for_each(|install| {
            install.join().map_err(|_| "an installation panicked".to_owned())?
        })
    })
}

/// Runs the official suite.
fn suite(wish: &Wish, target: &Path) -> Result<Score, String> {
    let driver = match &wish.driver {
        Some(command) => command.clone(),
        None => program(target, "mcp-conformance-client"),
    };
    let referee =
        Referee::new(&SUITE.programs(target), &driver, &target.join("conformance/results"))?;
    let known = if wish.driver.is_some() { Known::default() } else { Known::load(KNOWN)? };
    let mut runs = catalogue::runs(&referee)?;
    known.check_names(&runs)?;
    runs.retain(|run| {
        wish.wants(&run.scenario) && wish.revision.as_ref().is_none_or(|r| *r == run.revision)
    });
    let verdicts = referee.judge_all(&runs);
    let outcomes: Vec<Outcome> = runs
        .iter()
        .zip(verdicts)
        .map(|(run, verdict)| Outcome { run, verdict, known: known.reason(run) })
        .collect();
    Ok(table::print(&outcomes))
}

/// Runs our scenarios with real servers. They print their own table, with the score in the last line.
fn matrix(wish: &Wish, target: &Path) -> Result<Score, String> {
    let mut command = Command::new(program(target, "mcp-matrix"));
    command.args(&wish.names).env("MCP_SERVERS", node_servers(target)?);
    referee::without_proxy(&mut command);
    for kit in MATRIX_KITS {
        command.env(kit.variable, kit.programs(target));
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| format!("could not start the matrix: {error}"))?;
    let mut score = None;
    let stdout = child.stdout.take().ok_or("the matrix has no stdout")?;
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|error| format!("the matrix cannot be read: {error}"))?;
        score = Score::parse(&line);
        println!("{line}");
    }
    let status = child.wait().map_err(|error| format!("the matrix was lost: {error}"))?;
    score.ok_or_else(|| format!("the matrix ended with {status} and without a score"))
}

/// Node resolves imports relative to the script, so ours are copied next to the SDKs, together with the Python ones.
fn node_servers(target: &Path) -> Result<std::path::PathBuf, String> {
    let to = target.join("tsref").join("servers");
    let copy = || {
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(SERVERS)? {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        Ok(())
    };
    copy().map_err(|error: std::io::Error| format!("could not copy {SERVERS}: {error}"))?;
    Ok(to)
}

fn program(target: &Path, name: &str) -> String {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    target.join("debug").join(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(arguments: &str) -> Result<Option<Wish>, String> {
        let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        Wish::parse(&words)
    }

    #[test]
    fn score_round_trips_through_text() {
        let score = Score { passed: 12, failed: 3 };
        assert_eq!(Score::parse(&score.to_string()), Some(score));
        for line in ["12 passed", "12 passed, 3 failed!", "x passed, 3 failed", ""] {
            assert_eq!(Score::parse(line), None, "{line}");
        }
    }

    #[test]
    fn suite_and_matrix_run_by_default() {
        let all = wish("").unwrap().unwrap();
        assert!(all.suite && all.matrix && !all.only_install && all.wants("anything"));
        let some = wish("suite auth/ sse").unwrap().unwrap();
        assert!(some.suite && !some.matrix);
        assert!(some.wants("auth/dpop") && some.wants("sse-retry") && !some.wants("initialize"));
        assert!(!wish("--driver x").unwrap().unwrap().matrix);
        assert_eq!(wish("--help"), Ok(None));
    }

    #[test]
    fn invalid_conformance_arguments_are_an_error() {
        assert_eq!(wish("--driver"), Err("`--driver` needs a value".into()));
        assert_eq!(wish("--fast"), Err("unknown option `--fast`".into()));
        assert_eq!(wish("matrix --driver x"), Err("there is nothing left to run".into()));
    }
}
