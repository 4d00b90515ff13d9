//! `cargo xtask test`: runs every test, including those with real servers, and prints a summary of all test binaries.

mod summary;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use self::summary::Summary;
use crate::{
    process::{cargo, run, run_through},
    refservers::{self, Kit, TEST_KITS},
    workspace::Workspace,
};

/// Skips the reference servers: nothing is installed, and the tests that need them are skipped.
const RUST_ONLY: &str = "--rust-only";

/// Names the file that `mcp_skip::skip` appends to.
const SKIPS: &str = "MCP_SKIPS";

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let (ours, cargos): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| *argument == RUST_ONLY);
    let target = Workspace::load()?.target;
    let mut test = cargo(cargo_test(&cargos));
    for kit in TEST_KITS {
        test.env_remove(kit.variable);
    }
    let rust_only = !ours.is_empty();
    if !rust_only {
        for kit in install(&target, cargos.is_empty())? {
            test.env(kit.variable, kit.programs(&target));
        }
    }
    let skips = fresh_skips(&target)?;
    test.env(SKIPS, &skips);
    let mut summary = Summary::default();
    let ended = run_through(&mut test, |line| summary.read_line(line));
    summary.read_skips(&fs::read_to_string(&skips).unwrap_or_default());
    // No test ran: a query such as `--list`, or a compile error.
    if summary.is_empty() {
        return ended;
    }
    println!("{summary}");
    ended?;
    // Tests skipped on request do not count as missing.
    if rust_only { Ok(()) } else { summary.judge(env::var("CI").is_ok_and(|ci| ci == "true")) }
}

/// An empty file for the skips of this run. Concurrent runs have separate files.
fn fresh_skips(target: &Path) -> Result<PathBuf, String> {
    let file = target.join("skips").join(format!("{}.tsv", std::process::id()));
    let folder = file.parent().unwrap_or(target);
    let failed = |error| format!("cannot write {}: {error}", file.display());
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(&file, "").map_err(failed)?;
    Ok(file)
}

/// Installs missing kits and, if `all` tests are wanted, compiles the tests meanwhile. Returns the installed kits:
/// the tests of the others are skipped.
fn install(target: &Path, all: bool) -> Result<Vec<&'static Kit>, String> {
    let mut usable = Vec::new();
    for kit in TEST_KITS {
        match kit.missing_tool(target) {
            None => usable.push(kit),
            Some(tool) => eprintln!("`{tool}` does not run: tests that need {} skip", kit.variable),
        }
    }
    let missing = refservers::missing(&usable, target)?;
    if missing.is_empty() {
        return Ok(usable);
    }
    thread::scope(|scope| {
        let installs: Vec<_> =
            missing.iter().map(|kit| scope.spawn(|| kit.install(target))).collect();
        let compiled = if all { run(&mut compile_tests()) } else { Ok(()) };
        for install in installs {
            install.join().map_err(|_| "an installation panicked".to_owned())??;
        }
        compiled.map(|()| usable)
    })
}

fn compile_tests() -> Command {
    let mut command = cargo(cargo_test(&[]));
    command.arg("--no-run");
    command
}

/// Tests everything by default. If packages or features are selected, tests only those.
fn cargo_test<'a>(arguments: &[&'a String]) -> Vec<&'a str> {
    let before_dashes = || arguments.iter().take_while(|argument| **argument != "--");
    let picks = |flags: &[&str]| {
        before_dashes().any(|argument| {
            let name = argument.split_once('=').map_or(argument.as_str(), |(name, _)| name);
            flags.contains(&name)
        })
    };
    let mut words = vec!["test"];
    if !picks(&["-p", "--package", "--manifest-path"]) {
        words.push("--workspace");
    }
    if !picks(&["-F", "--features", "--no-default-features"]) {
        words.push("--all-features");
    }
    words.extend(arguments.iter().map(|argument| argument.as_str()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(arguments: &str) -> String {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        cargo_test(&arguments.iter().collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn everything_is_tested_by_default() {
        assert_eq!(words(""), "test --workspace --all-features");
        assert_eq!(words("framing"), "test --workspace --all-features framing");
    }

    #[test]
    fn a_picked_package_or_feature_replaces_the_default() {
        assert_eq!(words("-p xtask"), "test --all-features -p xtask");
        assert_eq!(words("--package=xtask"), "test --all-features --package=xtask");
        assert_eq!(words("-p a --features http"), "test -p a --features http");
    }

    #[test]
    fn the_helper_of_the_tests_writes_to_the_file_that_is_collected() {
        let helper = include_str!("../../tests/skip/src/lib.rs");
        assert!(helper.contains(&format!("VARIABLE: &str = {SKIPS:?};")));
    }

    #[test]
    fn flags_of_the_test_binary_are_not_cargos() {
        assert_eq!(words("-- -p"), "test --workspace --all-features -- -p");
    }
}
