//! `cargo xtask ci`: every step of `.ci/run`, the fastest first.
//!
//! `.ci/run` has the same steps for a fresh machine, with a log for each. `tidy` compares both lists.

use std::time::Instant;

use crate::find;

/// The name of a task, and its arguments in CI.
pub(crate) const STEPS: &[(&str, &[&str])] = &[
    ("lint", &[]),
    ("tidy", &[]),
    ("docs", &[]),
    ("api", &["--check"]),
    ("book", &[]),
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
    ("dist", &["--quick"]),
    // All mutants take long; a sample shows that the redaction of secrets is still tested.
    ("mutants", &["--sample", "8", "--only", "crates/mcp-safe/src/secrets/redactor.rs"]),
];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_a_task_and_an_unknown_one_is_named() {
        assert!(STEPS.iter().all(|(name, _)| find(name).is_ok()));
        let error = task(&["tests".to_owned()]).unwrap_err();
        assert!(error.starts_with("`tests` is not a step; the steps are lint, "), "{error}");
    }
}
