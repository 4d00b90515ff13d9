//! The scenarios that are known to fail. They are run anyway: one that passes must be removed from the list.

use super::catalogue::Run;
use crate::list;

/// Matches every revision.
const ANY: &str = "*";

/// The parsed list.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    scenario: String,
    revision: String,
    reason: String,
}

impl Known {
    pub(super) fn load(path: &str) -> Result<Self, String> {
        list::load(path, Entry::read).map(Self)
    }

    /// Why this run is expected to fail, if it is.
    pub(super) fn reason(&self, run: &Run) -> Option<&str> {
        self.0.iter().find(|entry| entry.is_about(run)).map(|entry| entry.reason.as_str())
    }

    /// Rejects entries for unknown scenarios, which would otherwise stay forever.
    pub(super) fn check_names(&self, runs: &[Run]) -> Result<(), String> {
        match self.0.iter().find(|entry| !runs.iter().any(|run| entry.is_about(run))) {
            None => Ok(()),
            Some(Entry { scenario, revision, .. }) => Err(format!(
                "the list of known failures has `{scenario}` at {revision}, and the suite does not"
            )),
        }
    }
}

impl Entry {
    /// The scenario, the revision or `*`, and the reason.
    fn read(line: &str) -> Result<Self, String> {
        let word = |text: &'_ str| {
            let (word, rest) = text.split_once(char::is_whitespace)?;
            Some((word.to_owned(), rest.trim_start().to_owned()))
        };
        word(line)
            .and_then(|(scenario, rest)| Some((scenario, word(&rest)?)))
            .map(|(scenario, (revision, reason))| Self { scenario, revision, reason })
            .ok_or_else(|| format!("`{line}` is not a scenario, a revision and a reason"))
    }

    fn is_about(&self, run: &Run) -> bool {
        self.scenario == run.scenario && (self.revision == ANY || self.revision == run.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Known, String> {
        list::parse(text, Entry::read).map(Known)
    }

    fn run(scenario: &str, revision: &str) -> Run {
        Run {
            scenario: scenario.to_owned(),
            revision: revision.to_owned(),
            is_required: false,
            is_forced: false,
        }
    }

    #[test]
    fn an_entry_is_about_a_revision_or_all_of_them() {
        let text = "# why\n\na 2025-11-25 not yet, really\nb   *   never\n";
        let known = parse(text).unwrap();
        assert_eq!(known.reason(&run("a", "2025-11-25")), Some("not yet, really"));
        assert_eq!(known.reason(&run("a", "2026-07-28")), None);
        assert_eq!(known.reason(&run("b", "2026-07-28")), Some("never"));
    }

    #[test]
    fn an_entry_without_a_reason_or_a_scenario_is_an_error() {
        assert!(parse("a *").unwrap_err().contains("a reason"));
        let known = parse("a * b").unwrap();
        assert!(known.check_names(&[run("b", "x")]).unwrap_err().contains("`a` at *"));
        assert_eq!(known.check_names(&[run("a", "x")]), Ok(()));
    }
}
