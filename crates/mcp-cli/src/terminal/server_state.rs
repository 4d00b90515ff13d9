//! Maps server status to the word and colour shown by one-shot commands.

use mcp_bridge::{Bridge, ServerState, ServerStatus, report::Explanation};

use crate::terminal::paint::Paint;

/// Returns the state as a word, with its colour.
///
/// A long-lived bridge reports a server that it will retry as pending. A one-shot command does not retry, so the
/// server has failed.
pub(crate) fn word(status: &ServerStatus) -> (&'static str, Paint) {
    match status.state {
        ServerState::Connected => ("connected", Paint::Good),
        ServerState::NeedsLogin => ("needs-auth", Paint::Warn),
        ServerState::Disabled => ("disabled", Paint::Dim),
        ServerState::Failed { .. }
        | ServerState::Waiting { .. }
        | ServerState::Connecting { attempt: 2.. } => ("failed", Paint::Bad),
        ServerState::Idle => ("idle", Paint::Plain),
        _ => ("pending", Paint::Warn),
    }
}

/// The prefix of evidence about searched folders.
const SEARCHED_FOLDERS: &str = "looked in: ";

/// Explains a failure, the most specific part first: the line of stderr with the error, if there is one, and the exit
/// status.
pub(crate) fn reason(bridge: &Bridge, status: &ServerStatus) -> Option<String> {
    let problem = status.problem.as_deref()?;
    let evidence = bridge.explain(&status.name).map(|explained| explained.evidence);
    Some(specific_reason(problem, &evidence.unwrap_or_default()))
}

fn specific_reason(problem: &str, evidence: &[String]) -> String {
    let stderr = || evidence.iter().filter_map(|line| line.strip_prefix("stderr: "));
    // Warnings and stack traces have the same words as errors.
    let line =
        stderr().find(|line| is_error(line)).or_else(|| stderr().find(|line| names_error(line)));
    let Some(line) = line else {
        return problem.to_owned();
    };
    let exit =
        evidence.iter().find(|line| line.starts_with("exit ") || line.starts_with("killed "));
    match exit {
        Some(exit) => format!("{} ({exit})", line.trim()),
        None => format!("{} ({problem})", line.trim()),
    }
}

/// Whether a line of stderr says that it is an error.
fn is_error(line: &str) -> bool {
    let line = line.trim_start().to_lowercase();
    ["error:", "error ", "fatal", "panic"].iter().any(|word| line.starts_with(word))
}

/// Whether a line of stderr describes an error, rather than where to read about it.
fn names_error(line: &str) -> bool {
    let line = line.to_lowercase();
    let words = [
        "error:",
        "error ",
        "exception",
        "cannot",
        "can't",
        "could not",
        "not found",
        "no such",
        "failed",
        "denied",
        "invalid",
        "missing",
        "panicked",
        "unable",
        "refused",
        "required",
    ];
    let is_pointer = line.contains("complete log of this run") || line.contains("hint:");
    !is_pointer && words.iter().any(|word| line.contains(word))
}

/// Suggests what the user can do about a server whose entry is at `place`, a file and position.
pub(crate) fn next_step(status: &ServerStatus, explained: &Explanation, place: &str) -> String {
    let name = &status.name;
    match status.state {
        // A server without a login names the header or variable to set.
        ServerState::NeedsLogin if explained.next_step.starts_with("set ") => {
            explained.next_step.clone()
        }
        ServerState::NeedsLogin => format!("mcp login {name}"),
        state if state.next_try().is_some() => {
            format!("check that it runs and is reachable; `mcp logs {name}` shows its output")
        }
        ServerState::Failed { .. }
            if explained.evidence.iter().any(|line| line.starts_with(SEARCHED_FOLDERS)) =>
        {
            format!("install the program, or set its full path in {place}")
        }
        ServerState::Failed { .. } => {
            format!(
                "fix its entry in {place} (`mcp add --replace {name} …`), then `mcp connect {name}`"
            )
        }
        _ => explained.next_step.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_the_first_error_line_of_stderr() {
        let evidence = |lines: &[&str]| -> Vec<String> {
            let stderr = lines.iter().map(|line| format!("stderr: {line}"));
            ["phase: initialize".to_owned(), "exit status 1".to_owned()]
                .into_iter()
                .chain(stderr)
                .collect()
        };
        let node =
            evidence(&["node:internal", "Error: Cannot find module 'x'", "Node.js v20.20.2"]);
        assert_eq!(
            specific_reason("ended", &node),
            "Error: Cannot find module 'x' (exit status 1)"
        );
        let npm = evidence(&[
            "npm error 404 Not Found",
            "npm error A complete log of this run can be found in: x",
        ]);
        assert_eq!(specific_reason("ended", &npm), "npm error 404 Not Found (exit status 1)");
        let warned = evidence(&["Warning: cannot read a", "Error: no folder", "    at x (failed)"]);
        assert_eq!(specific_reason("ended", &warned), "Error: no folder (exit status 1)");
        assert_eq!(
            specific_reason("no answer within 15s", &evidence(&["starting"])),
            "no answer within 15s"
        );
    }
}
