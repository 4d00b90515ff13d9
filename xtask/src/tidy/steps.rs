//! Checks that `.ci/run` and `cargo xtask ci` run the same steps.

use super::Finding;
use crate::ci::STEPS;

pub(super) const SCRIPT: &str = ".ci/run";

pub(super) fn check(script: &str) -> Vec<Finding> {
    let expected: Vec<String> = STEPS
        .iter()
        .map(|(name, arguments)| {
            let words = ["step", name, "cargo xtask", name];
            words.iter().chain(*arguments).copied().collect::<Vec<_>>().join(" ")
        })
        .collect();
    let lines = script.lines().filter(|line| line.starts_with("step ") && line.contains(" xtask "));
    let found: Vec<&str> = lines.collect();
    let missing = expected.iter().filter(|line| !found.contains(&line.as_str()));
    let missing = missing.map(|line| format!("`{line}` is a step of xtask/src/ci.rs only"));
    let unknown = found.iter().filter(|line| !expected.iter().any(|known| known == *line));
    let unknown = unknown.map(|line| format!("`{line}` is not a step of xtask/src/ci.rs"));
    let mut findings: Vec<Finding> =
        missing.chain(unknown).map(|what| Finding::new(SCRIPT, what)).collect();
    if findings.is_empty() && !expected.iter().eq(found.iter()) {
        findings
            .push(Finding::new(SCRIPT, "the steps are in another order than in xtask/src/ci.rs"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> String {
        let lines = STEPS.iter().map(|(name, arguments)| {
            format!("step {name} cargo xtask {name} {}", arguments.join(" ")).trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn findings(script: &str) -> Vec<String> {
        check(script).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn same_steps_in_the_same_order_are_fine() {
        assert_eq!(findings(&format!("step fetch cargo fetch\n{}\n", script())), [""; 0]);
    }

    #[test]
    fn missing_unknown_and_reordered_steps_are_named() {
        let changed =
            script().replace("step lint cargo xtask lint", "step lint cargo xtask lint --x");
        assert_eq!(
            findings(&changed),
            [
                ".ci/run: `step lint cargo xtask lint` is a step of xtask/src/ci.rs only",
                ".ci/run: `step lint cargo xtask lint --x` is not a step of xtask/src/ci.rs",
            ]
        );
        let script = script();
        let reversed: Vec<&str> = script.lines().rev().collect();
        assert_eq!(
            findings(&reversed.join("\n")),
            [".ci/run: the steps are in another order than in xtask/src/ci.rs"]
        );
    }
}
