//! The scenarios of the suite and the revisions at which each is run.

use super::referee::Referee;

/// The revisions with a set of required scenarios, oldest first.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// The marker of scenarios that do not belong to a revision.
const EXTENSION: &str = "extension";

/// One scenario at one revision of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) scenario: String,
    pub(super) revision: String,
    /// Whether a client must pass it to claim the revision.
    pub(super) is_required: bool,
    /// Whether the referee requires `--force` for it.
    pub(super) is_forced: bool,
}

/// Every client scenario at every revision it applies to, in the referee's order.
pub(super) fn runs(referee: &Referee) -> Result<Vec<Run>, String> {
    let list = referee.list(&["--client"])?;
    let required = REVISIONS
        .into_iter()
        .map(|revision| Ok((revision, referee.list(&["--requirements", revision])?)))
        .collect::<Result<Vec<_>, String>>()?;
    let runs = plan(&list, &required);
    // If the format of the list changed, there would be no runs and nothing would fail.
    for (revision, text) in &required {
        let wanted = client_names(text).count();
        let found = runs.iter().filter(|run| run.is_required && run.revision == *revision).count();
        if wanted == 0 || wanted != found {
            return Err(format!(
                "{wanted} scenarios are required at {revision}, and the suite's list has {found}"
            ));
        }
    }
    Ok(runs)
}

fn plan(list: &str, required: &[(&str, String)]) -> Vec<Run> {
    let mut runs = Vec::new();
    for (scenario, applies) in list.lines().filter_map(entry) {
        let is_extension = applies == [EXTENSION];
        let revisions = if is_extension { REVISIONS.to_vec() } else { applies };
        runs.extend(revisions.into_iter().map(|revision| Run {
            scenario: scenario.to_owned(),
            revision: revision.to_owned(),
            is_required: required.iter().any(|(of, text)| {
                *of == revision && client_names(text).any(|name| name == scenario)
            }),
            is_forced: is_extension,
        }));
    }
    runs
}

/// `  - auth/dpop [extension]`
fn entry(line: &str) -> Option<(&str, Vec<&str>)> {
    let (name, revisions) = line.strip_prefix("  - ")?.split_once(" [")?;
    Some((name, revisions.strip_suffix(']')?.split(',').collect()))
}

/// The names in the client's section of a list of requirements.
fn client_names(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .skip_while(|line| !line.starts_with("Client scenarios"))
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| line.strip_prefix("  - "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "Client scenarios (test against a client):
  - initialize [2025-06-18,2025-11-25]
  - tools_call [2025-11-25,2026-07-28]
  - auth/dpop [extension]
";
    const REQUIRED: &str = "Required for 2025-11-25 (2 scenarios, frozen):

Server scenarios (test against a server):
  - ping

Client scenarios (test against a client):
  - initialize
  - tools_call

Run and reported, but never scored:
  extension (1):
    - auth/dpop [client]
";

    #[test]
    fn a_scenario_is_run_at_each_of_its_revisions() {
        let runs = plan(LIST, &[("2025-11-25", REQUIRED.to_owned())]);
        let lines: Vec<String> = runs
            .iter()
            .map(|run| {
                let marks = [(run.is_required, "required"), (run.is_forced, "forced")];
                let marks = marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark);
                format!("{} {} {}", run.scenario, run.revision, marks.collect::<String>())
            })
            .collect();
        assert_eq!(
            lines,
            [
                "initialize 2025-06-18 ",
                "initialize 2025-11-25 required",
                "tools_call 2025-11-25 required",
                "tools_call 2026-07-28 ",
                "auth/dpop 2025-11-25 forced",
                "auth/dpop 2026-07-28 forced",
            ]
        );
    }
}
