//! The last lines of a test run: `N passed, M failed, K skipped`, and each skip with its reason and remedy.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// The results of all test binaries of a run, and the skips that their tests recorded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    passed: usize,
    failed: usize,
    ignored: usize,
    /// The tests that skipped all or a part, by reason and remedy.
    skips: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Summary {
    /// Adds the counts of one binary if `line` is its last: `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
    pub(super) fn read_line(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        let count = |what: &str| {
            let before = counts.split_once(what).map_or("", |(before, _)| before).trim_end();
            before.rsplit([' ', ';']).next().and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        self.passed += count(" passed");
        self.failed += count(" failed");
        self.ignored += count(" ignored");
    }

    /// Adds the lines that `mcp_skip::skip` wrote: test, reason and remedy, separated by tabs.
    pub(super) fn read_skips(&mut self, lines: &str) {
        for line in lines.lines() {
            let mut fields = line.splitn(3, '\t').map(str::to_owned);
            let (Some(test), Some(reason), Some(remedy)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            self.skips.entry((reason, remedy)).or_default().insert(test);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.passed + self.failed + self.ignored == 0
    }

    /// An error if a test was skipped where everything is installed.
    pub(super) fn judge(&self, everything_is_installed: bool) -> Result<(), String> {
        match self.skipped() {
            count if count > 0 && everything_is_installed => Err(format!(
                "{count} tests were skipped, and with `CI=true` every test has to run; see above"
            )),
            _ => Ok(()),
        }
    }

    /// A test counts once, even if it skipped several parts.
    fn skipped(&self) -> usize {
        self.skips.values().flatten().collect::<BTreeSet<_>>().len() + self.ignored
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((reason, remedy), tests) in &self.skips {
            writeln!(f, "skipped: {reason}: {remedy}")?;
            for test in tests {
                writeln!(f, "    {test}")?;
            }
        }
        if self.ignored > 0 {
            writeln!(f, "skipped: {} are marked as ignored in the source", self.ignored)?;
        }
        // The harness counts a test that returns early as passed.
        let ran = self.passed.saturating_sub(self.skipped() - self.ignored);
        write!(f, "{ran} passed, {} failed, {} skipped", self.failed, self.skipped())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(lines: &[&str], skips: &str) -> Summary {
        let mut summary = Summary::default();
        for line in lines {
            summary.read_line(line);
        }
        summary.read_skips(skips);
        summary
    }

    const OK: &str = "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.01s";
    const FAILED: &str =
        "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
    const SKIPS: &str = "a\tno bus\tinstall `dbus-daemon`\na\tno bus\tinstall `dbus-daemon`\n\
        b\tno browser\tinstall `chromium`\nc\tno bus\tinstall `dbus-daemon`\nshort\n";

    #[test]
    fn counts_of_all_binaries_are_summed() {
        let summary = summary(&["running 12 tests", OK, "test a ... ok", FAILED], "");
        assert_eq!(summary.to_string(), "14 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn colours_do_not_hide_a_result() {
        let summary =
            summary(&["test result: \u{1b}[32mok\u{1b}[m. 12 passed; 0 failed; 2 ignored;"], "");
        assert_eq!((summary.passed, summary.failed, summary.ignored), (12, 0, 2));
    }

    #[test]
    fn each_skip_has_its_reason_and_its_package_and_counts_once() {
        assert_eq!(
            summary(&[OK], SKIPS).to_string(),
            "skipped: no browser: install `chromium`\n    b\n\
             skipped: no bus: install `dbus-daemon`\n    a\n    c\n\
             9 passed, 0 failed, 3 skipped"
        );
    }

    #[test]
    fn a_skip_is_a_failure_only_in_ci() {
        assert_eq!(summary(&[OK], SKIPS).judge(false), Ok(()));
        assert!(summary(&[OK], SKIPS).judge(true).unwrap_err().starts_with("3 tests were skipped"));
        assert_eq!(summary(&[OK], "").judge(true), Ok(()));
    }

    #[test]
    fn a_run_without_results_is_empty() {
        assert!(summary(&["0 tests, 0 benchmarks"], "").is_empty());
        assert!(!summary(&[OK], "").is_empty());
    }
}
