//! `cargo xtask conformance-server`: tests our servers with the official suite.
//!
//! Every server scenario runs at every revision it applies to, with `mcp-conformance-server` of the package `mcp-tests`
//! and with `mcp serve` in front of that server. A scenario passes if at least one check succeeded and there is no
//! failure, warning or missing check. Scenarios that do not apply are listed in a file with a reason.

mod subject;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use self::subject::{Running, Subject};
use crate::{
    list,
    process::{capture, cargo, run},
    workspace::Workspace,
};

const SUITE: &str = "@modelcontextprotocol/conformance";
const SUITE_VERSION: &str = "0.2.0-alpha.12";
const NODE_VERSION: &str = "22.23.3";
/// Time limit for one scenario, in milliseconds.
const TIME_LIMIT: &str = "30000";

/// The names of scenarios with the revisions they apply to.
type Scenarios = BTreeMap<String, Vec<String>>;

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let subjects = Subject::chosen(arguments)?;
    let target = Workspace::load()?.target;
    let referee = Referee::install(&target)?;
    run(&mut cargo(["build", "-p", "mcp-tests", "--bin", "mcp-conformance-server"]))?;
    if subjects.contains(&Subject::Gateway) {
        run(&mut cargo(["build", "-p", "mcp-cli", "--bin", "mcp"]))?;
    }
    let scenarios = scenarios(&referee.capture(&["list", "--server"])?);
    let (mut passed, mut failed) = (0, 0);
    for subject in subjects {
        let folder = target.join("conformance-server").join(subject.name());
        let left_out = read_left_out(subject.left_out(), &scenarios)?;
        clear(&folder)?;
        let running = subject.start(&target, &folder)?;
        let (good, bad) = play(&referee, subject, &running, &scenarios, &left_out, &folder)?;
        passed += good;
        failed += bad;
        for (name, reason) in &left_out {
            println!("n/a   {subject}  {name}: {reason}");
        }
    }
    println!("{passed} passed, {failed} failed");
    match (passed, failed) {
        (0, 0) => Err("nothing was run: the suite's list has another form".into()),
        (_, 0) => Ok(()),
        _ => Err(format!("{failed} scenarios failed")),
    }
}

/// Runs and judges all scenarios for one subject. Returns the numbers of passed and failed ones.
fn play(
    referee: &Referee,
    subject: Subject,
    running: &Running,
    scenarios: &Scenarios,
    left_out: &BTreeMap<String, String>,
    folder: &Path,
) -> Result<(u32, u32), String> {
    let (mut passed, mut failed) = (0, 0);
    for revision in revisions(scenarios) {
        let folder = folder.join(revision);
        referee.play(&running.url, revision, &folder)?;
        let names = scenarios.iter().filter(|(name, at)| {
            at.iter().any(|one| one == revision) && !left_out.contains_key(*name)
        });
        for (name, _) in names {
            match judge(&folder, name) {
                Ok(checks) => {
                    passed += 1;
                    println!("pass  {subject}  {revision}  {name}  {checks} checks");
                }
                Err(reasons) => {
                    failed += 1;
                    println!("FAIL  {subject}  {revision}  {name}");
                    for reason in reasons {
                        println!("        {reason}");
                    }
                }
            }
        }
    }
    Ok((passed, failed))
}

fn clear(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("old results stay: {error}"))?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("no place for results: {error}"))
}

/// The official suite, with the Node.js it needs.
struct Referee {
    node: PathBuf,
    script: PathBuf,
}

impl Referee {
    fn install(target: &Path) -> Result<Self, String> {
        let folder = target.join("conformance");
        let modules = folder.join("node_modules");
        let script = modules.join(SUITE).join("dist/index.js");
        let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let package = format!("node-{system}-{machine}");
        let node = modules.join(&package).join("bin/node");
        let manifest = fs::read_to_string(modules.join(SUITE).join("package.json"));
        let is_current = manifest.is_ok_and(|text| {
            text.contains(&format!("\"version\": \"{SUITE_VERSION}\"")) && node.exists()
        });
        if !is_current {
            let wanted = [format!("{package}@{NODE_VERSION}"), format!("{SUITE}@{SUITE_VERSION}")];
            let mut npm = Command::new("npm");
            npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
            capture(npm.arg(&folder).args(wanted))?;
        }
        Ok(Self { node, script })
    }

    fn capture(&self, arguments: &[&str]) -> Result<String, String> {
        capture(Command::new(&self.node).arg(&self.script).args(arguments))
    }

    /// Runs all scenarios of a revision. The results are written to `folder`.
    fn play(&self, url: &str, revision: &str, folder: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.node);
        command
            .arg(&self.script)
            .args(["server", "--suite", "all", "--url", url, "--spec-version", revision])
            .args(["--timeout", TIME_LIMIT, "-o"])
            .arg(folder)
            .stdin(Stdio::null())
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env("no_proxy", "127.0.0.1,localhost");
        command.output().map_err(|error| format!("the suite does not start: {error}"))?;
        Ok(())
    }
}

/// Parses lines like `  - ping [2025-06-18,2025-11-25]`.
fn scenarios(list: &str) -> Scenarios {
    let entry = |line: &str| {
        let (name, revisions) = line.strip_prefix("  - ")?.split_once(" [")?;
        let revisions = revisions.strip_suffix(']')?.split(',').map(str::to_owned).collect();
        Some((name.to_owned(), revisions))
    };
    list.lines().filter_map(entry).collect()
}

/// All revisions of the scenarios, oldest first. Extensions have none.
fn revisions(scenarios: &Scenarios) -> Vec<&str> {
    let mut all: Vec<&str> = scenarios.values().flatten().map(String::as_str).collect();
    all.retain(|revision| revision.starts_with("20"));
    all.sort_unstable();
    all.dedup();
    all
}

/// The scenarios that these files exempt a subject from, with the reasons.
fn read_left_out(
    paths: &[&str],
    scenarios: &Scenarios,
) -> Result<BTreeMap<String, String>, String> {
    let mut all = BTreeMap::new();
    for path in paths {
        let entries = list::load(path, left_out_entry)?.into_iter().collect();
        check_names(&entries, scenarios).map_err(|problem| format!("{path}: {problem}"))?;
        all.extend(entries);
    }
    let is_extension = |at: &[String]| !at.iter().any(|revision| revision.starts_with("20"));
    match scenarios.iter().find(|(name, at)| is_extension(at) && !all.contains_key(*name)) {
        Some((name, _)) => {
            Err(format!("{}: no entry for the extension `{name}`", paths.join(", ")))
        }
        None => Ok(all),
    }
}

/// Parses a line: the scenario and the reason.
fn left_out_entry(line: &str) -> Result<(String, String), String> {
    let (name, reason) =
        line.split_once(char::is_whitespace).ok_or(format!("`{line}`: missing reason"))?;
    Ok((name.to_owned(), reason.trim().to_owned()))
}

/// Rejects entries for unknown scenarios.
fn check_names(left_out: &BTreeMap<String, String>, scenarios: &Scenarios) -> Result<(), String> {
    match left_out.keys().find(|name| !scenarios.contains_key(*name)) {
        Some(name) => Err(format!("unknown scenario `{name}`")),
        None => Ok(()),
    }
}

/// The number of successful checks, or every reason why the scenario failed.
fn judge(folder: &Path, scenario: &str) -> Result<usize, Vec<String>> {
    let start = format!("server-{scenario}-20");
    let entries = fs::read_dir(folder).map_err(|error| vec![format!("no results: {error}")])?;
    let mut found = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(&start)));
    let path = found.next().ok_or_else(|| vec!["it was not played".to_owned()])?.path();
    let text = fs::read_to_string(path.join("checks.json"))
        .map_err(|error| vec![format!("no checks: {error}")])?;
    judge_checks(&text)
}

fn judge_checks(text: &str) -> Result<usize, Vec<String>> {
    let checks: Vec<Value> =
        serde_json::from_str(text).map_err(|error| vec![format!("no checks: {error}")])?;
    let is_bad = |check: &&Value| check["status"] == "FAILURE" || check["status"] == "WARNING";
    let mut reasons: Vec<String> = checks.iter().filter(is_bad).map(describe).collect();
    let successes = checks.iter().filter(|check| check["status"] == "SUCCESS").count();
    if successes == 0 {
        reasons.push("nothing succeeded".into());
    }
    if reasons.is_empty() { Ok(successes) } else { Err(reasons) }
}

fn describe(check: &Value) -> String {
    let text = |key: &str| check[key].as_str().unwrap_or("?").replace('\n', " ");
    format!("{} {}: {}", text("status"), text("id"), text("errorMessage"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> BTreeMap<String, String> {
        list::parse(text, left_out_entry).unwrap().into_iter().collect()
    }

    const LIST: &str = "Server scenarios:
  - ping [2025-06-18,2025-11-25]
  - caching [2026-07-28]
  - tasks [extension]
";

    #[test]
    fn scenario_list_is_parsed_with_revisions() {
        let scenarios = scenarios(LIST);
        assert_eq!(scenarios["ping"], ["2025-06-18", "2025-11-25"]);
        assert_eq!(revisions(&scenarios), ["2025-06-18", "2025-11-25", "2026-07-28"]);
    }

    #[test]
    fn exempted_scenarios_exist_and_have_a_reason() {
        let scenarios = scenarios(LIST);
        let without = read("# why\n\ntasks   not supported\n");
        assert_eq!(without["tasks"], "not supported");
        assert_eq!(check_names(&without, &scenarios), Ok(()));
        assert!(check_names(&read("gone  why"), &scenarios).is_err());
        assert_eq!(left_out_entry("tasks"), Err("`tasks`: missing reason".into()));
    }

    #[test]
    fn every_extension_has_an_entry() {
        let scenarios = scenarios(LIST);
        let problem = read_left_out(&[], &scenarios).unwrap_err();
        assert!(problem.ends_with("no entry for the extension `tasks`"), "{problem}");
    }

    #[test]
    fn warnings_fail_and_a_check_is_required() {
        let one =
            |status: &str| format!(r#"[{{"id":"a","status":"{status}","errorMessage":"b"}}]"#);
        assert_eq!(judge_checks(&one("SUCCESS")), Ok(1));
        assert!(judge_checks(&one("WARNING")).unwrap_err()[0].starts_with("WARNING a: b"));
        assert!(judge_checks(&one("INFO")).is_err() && judge_checks("[]").is_err());
    }
}
