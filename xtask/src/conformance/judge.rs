//! Decides whether a run counts as passed.
//!
//! Where a scenario only records failures, the referee accepts a client that does nothing. We require at least one
//! successful check, and no missing ones.

use serde_json::Value;

/// Scenarios that need this number of checks to pass.
const ALL_OF: &[(&str, usize)] = &[("http-standard-headers", 9)];

/// `Ok` holds the number of successful checks, `Err` every reason why the run failed.
pub(super) type Verdict = Result<usize, Vec<String>>;

/// The results that the referee wrote.
#[derive(Debug)]
pub(super) struct Evidence {
    /// Whether the referee itself passed the run. This includes the time limit and, unless the scenario expects a
    /// failure, the exit code.
    pub(super) is_content: bool,
    /// The referee's message about the end of the client.
    pub(super) end: Option<String>,
    /// Its `checks.json`, if it was written.
    pub(super) checks: Option<String>,
}

pub(super) fn judge(scenario: &str, evidence: &Evidence) -> Verdict {
    let mut reasons: Vec<String> = evidence.end.iter().cloned().collect();
    let checks = match evidence.checks.as_deref().map(serde_json::from_str::<Vec<Value>>) {
        None => Vec::new(),
        Some(Ok(checks)) => checks,
        Some(Err(error)) => {
            reasons.push(format!("checks.json cannot be read: {error}"));
            Vec::new()
        }
    };
    let has = |check: &Value, status: &str| check["status"] == status;
    let bad = |check: &&Value| has(check, "FAILURE") || has(check, "WARNING");
    reasons.extend(checks.iter().filter(bad).map(describe));
    let successes = checks.iter().filter(|check| has(check, "SUCCESS")).count();
    let needed = ALL_OF.iter().find(|(name, _)| *name == scenario).map_or(1, |(_, count)| *count);
    if successes < needed {
        reasons.push(format!("{successes} checks succeeded, {needed} must"));
    }
    if !evidence.is_content && reasons.is_empty() {
        reasons.push("the referee failed the run without a reason".into());
    }
    if reasons.is_empty() { Ok(successes) } else { Err(reasons) }
}

/// `WARNING some-check: message`
fn describe(check: &Value) -> String {
    let text = |key: &str| check[key].as_str().filter(|text| !text.is_empty());
    let what = text("errorMessage").or_else(|| text("description")).unwrap_or("no reason given");
    let status = text("status").unwrap_or_default();
    format!("{status} {}: {}", text("id").unwrap_or("?"), what.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(scenario: &str, is_content: bool, statuses: &[&str]) -> Verdict {
        let checks: Vec<Value> = statuses
            .iter()
            .map(|status| serde_json::json!({"id": "a", "status": status, "description": "b"}))
            .collect();
        let checks = Some(Value::from(checks).to_string());
        judge(scenario, &Evidence { is_content, end: None, checks })
    }

    fn reasons(reasons: &[&str]) -> Verdict {
        Err(reasons.iter().map(|&reason| reason.to_owned()).collect())
    }

    #[test]
    fn success_without_failures_is_a_pass() {
        assert_eq!(verdict("x", true, &["SUCCESS", "INFO", "SKIPPED"]), Ok(1));
    }

    #[test]
    fn failures_and_warnings_are_named() {
        assert_eq!(
            verdict("x", false, &["SUCCESS", "FAILURE", "WARNING"]),
            reasons(&["FAILURE a: b", "WARNING a: b"])
        );
        // Also if the referee passes the run.
        assert_eq!(verdict("x", true, &["SUCCESS", "WARNING"]), reasons(&["WARNING a: b"]));
    }

    #[test]
    fn run_without_checks_is_not_a_pass() {
        let nothing = reasons(&["0 checks succeeded, 1 must"]);
        assert_eq!(verdict("x", true, &[]), nothing);
        assert_eq!(verdict("x", true, &["INFO", "SKIPPED"]), nothing);
        assert_eq!(judge("x", &Evidence { is_content: true, end: None, checks: None }), nothing);
    }

    #[test]
    fn scenarios_with_a_required_number_of_checks_need_all() {
        let name = "http-standard-headers";
        assert_eq!(verdict(name, true, &["SUCCESS"; 9]), Ok(9));
        assert_eq!(verdict(name, true, &["SUCCESS"; 8]), reasons(&["8 checks succeeded, 9 must"]));
    }

    #[test]
    fn failed_client_exit_fails_a_run_with_good_checks() {
        let checks = Some(r#"[{"status": "SUCCESS"}]"#.to_owned());
        let end = Some("Client timed out after 30000ms".to_owned());
        let evidence = Evidence { is_content: false, end, checks };
        assert_eq!(judge("x", &evidence), reasons(&["Client timed out after 30000ms"]));
        let evidence = Evidence { end: None, ..evidence };
        assert!(judge("x", &evidence).unwrap_err()[0].contains("failed the run"));
    }
}
