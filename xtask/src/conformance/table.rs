//! Prints the results of the suite.

use super::{Score, catalogue::Run, judge::Verdict};

/// A run, its verdict, and the reason if it was expected to fail.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) run: &'a Run,
    pub(super) verdict: Verdict,
    pub(super) known: Option<&'a str>,
}

impl Outcome<'_> {
    fn word(&self) -> &'static str {
        match (&self.verdict, self.known) {
            (Ok(_), None) => "pass",
            (Ok(_), Some(_)) => "STALE",
            (Err(_), None) => "FAIL",
            (Err(_), Some(_)) => "known",
        }
    }

    /// A known failure is counted separately.
    fn is_failure(&self) -> bool {
        self.verdict.is_ok() == self.known.is_some()
    }

    fn remarks(&self) -> Vec<String> {
        match (&self.verdict, self.known) {
            (Ok(_), None) => Vec::new(),
            (Ok(_), Some(_)) => {
                vec!["passes, and is on the list of known failures: remove it".into()]
            }
            (Err(_), Some(reason)) => vec![reason.to_owned()],
            (Err(reasons), None) => reasons.clone(),
        }
    }
}

/// Prints one line per run, with reasons below, and a summary. Returns the score.
pub(super) fn print(outcomes: &[Outcome<'_>]) -> Score {
    let width = outcomes.iter().map(|o| o.run.scenario.len()).max().unwrap_or_default();
    for outcome in outcomes {
        let Outcome { run, verdict, .. } = outcome;
        let mark = if run.is_required { "required" } else { "        " };
        let checks = verdict.as_ref().map_or_else(|_| String::new(), |n| format!("{n} checks"));
        let line = format!(
            "{:5}  {:width$}  {}  {mark}  {checks}",
            outcome.word(),
            run.scenario,
            run.revision
        );
        println!("{}", line.trim_end());
        for remark in outcome.remarks() {
            println!("         {remark}");
        }
    }
    let (summary, score) = sum(outcomes);
    println!("{summary}");
    score
}

fn sum(outcomes: &[Outcome<'_>]) -> (String, Score) {
    let count = |which: &dyn Fn(&Outcome<'_>) -> bool| outcomes.iter().filter(|o| which(o)).count();
    let is_pass = |o: &Outcome<'_>| o.verdict.is_ok() && o.known.is_none();
    let score = Score { passed: count(&is_pass), failed: count(&|o| o.is_failure()) };
    let summary = format!(
        "suite: {score}, {} known failures; required runs: {} of {} passed",
        count(&|o| o.verdict.is_err() && o.known.is_some()),
        count(&|o| o.run.is_required && o.verdict.is_ok()),
        count(&|o| o.run.is_required),
    );
    (summary, score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_failures_count_apart_and_stale_entries_as_failures() {
        let run = |is_required| Run {
            scenario: "a".into(),
            revision: "b".into(),
            is_required,
            is_forced: false,
        };
        let (required, other) = (run(true), run(false));
        let fails = || Err(vec!["so it is".to_owned()]);
        let outcomes = [
            Outcome { run: &required, verdict: Ok(1), known: None },
            Outcome { run: &required, verdict: fails(), known: None },
            Outcome { run: &required, verdict: fails(), known: Some("why") },
            Outcome { run: &other, verdict: Ok(1), known: Some("why") },
        ];
        assert_eq!(outcomes.each_ref().map(Outcome::word), ["pass", "FAIL", "known", "STALE"]);
        let (summary, score) = sum(&outcomes);
        assert_eq!(score, Score { passed: 1, failed: 2 });
        assert_eq!(
            summary,
            "suite: 1 passed, 2 failed, 1 known failures; required runs: 1 of 3 passed"
        );
    }
}
