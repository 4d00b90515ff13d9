//! `cargo xtask ci`: the steps of CI, in one list.
//!
//! `.ci/run` prepares a fresh machine, then runs each line of `--list` with a log of its own.

use std::time::Instant;

use crate::find;

/// The name of a task, and its arguments in CI.
pub(crate) const STEPS: &[(&str, &[&str])] = &[
    ("lint", &[]),
    ("tidy", &[]),
    ("docs", &[]),
    ("api", &["--check"]),
    // Compiles mdbook first, which takes a minute on two cores.
    ("book", &["--build"]),
    ("test", &[]),
    ("features", &[]),
    ("examples", &[]),
    ("deny", &[]),
    ("fuzz", &["--seconds", "2", "--seed", "1"]),
    ("load", &["--quick"]),
    ("models", &[]),
    // The whole corpus takes minutes; a sample has servers of each class.
    ("attack", &["--sample", "3"]),
    ("conformance", &[]),
    ("conformance-server", &[]),
    ("faults", &["--check"]),
    // Both check what the installed toolchains and the fetched crates allow, and name the rest: `NOT CHECKED`. The GitHub
    // workflow installs the toolchains and passes `--strict`.
    ("platforms", &[]),
    ("versions", &["--locked"]),
    ("picture", &["--check"]),
    ("dist", &["--quick"]),
    // All mutants take long; a sample shows that the redaction of secrets is still tested.
    ("mutants", &["--sample", "8", "--only", "crates/mcp-safe/src/secrets/redactor.rs"]),
];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if arguments == ["--list"] {
        println!("{}", list());
        return Ok(());
    }
    let is_step = |name: &&String| STEPS.iter().any(|(step, _)| step == name);
    if let Some(unknown) = arguments.iter().find(|name| !is_step(name)) {
        let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("`{unknown}` is not a step; the steps are {}", names.join(", ")));
    }
    let is_wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|one| one == name);
    let began = Instant::now();
    let mut times = Vec::new();
    for (name, arguments) in STEPS.iter().filter(|(name, _)| is_wanted(name)) {
        println!("==> {name}");
        let step_began = Instant::now();
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        find(name)?(&arguments).map_err(|sentence| format!("step `{name}` failed: {sentence}"))?;
        let seconds = step_began.elapsed().as_secs_f64();
        println!("<== {name}: {seconds:.1} s");
        times.push(format!("{name} {seconds:.1} s"));
    }
    println!("ci passed in {:.1} s ({})", began.elapsed().as_secs_f64(), times.join(", "));
    Ok(())
}

/// One line per step: the arguments of `cargo xtask`.
fn list() -> String {
    let line = |(name, arguments): &(&str, &[&str])| [&[*name], *arguments].concat().join(" ");
    STEPS.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_runs_the_listed_steps_and_no_others() {
        let script = include_str!("../../.ci/run");
        let is_step = |line: &&str| line.trim_start().starts_with("step ");
        let steps: Vec<&str> = script.lines().filter(is_step).map(str::trim).collect();
        assert_eq!(
            steps,
            [
                "step fetch cargo fetch --locked",
                "step xtask cargo build --locked --package xtask",
                "step \"${words[0]}\" cargo xtask \"${words[@]}\"",
            ]
        );
        assert!(script.contains("list=$(cargo xtask ci --list)\n"));
    }

    #[test]
    fn test_command_of_the_readme_is_a_step() {
        let readme = include_str!("../../README.md");
        assert!(readme.contains("```sh\ncargo xtask test\n```"));
        assert!(list().lines().any(|line| line == "test"));
    }

    #[test]
    fn arguments_of_steps_are_single_words() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (line, (name, arguments)) in list().lines().zip(STEPS) {
            assert_eq!(words(line), [&[*name], *arguments].concat());
        }
    }

    #[test]
    fn every_step_is_a_task_and_an_unknown_one_is_named() {
        assert!(STEPS.iter().all(|(name, _)| find(name).is_ok()));
        let error = task(&["tests".to_owned()]).unwrap_err();
        assert!(error.starts_with("`tests` is not a step; the steps are lint, "), "{error}");
    }
}
