//! The report: a table, the verdict, and JSON.

use std::{fmt, sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};

use crate::{
    leaks::Looks,
    plan::{Kind, Plan},
    tally::Tally,
};

/// Measurements beyond the calls themselves.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) looks: Looks,
    pub(crate) in_flight: u64,
    pub(crate) processes: usize,
    pub(crate) executed: u64,
    /// Late responses, and invalid ones.
    pub(crate) late: (u64, u64),
    pub(crate) started_in: Duration,
    pub(crate) seconds: f64,
    pub(crate) problems: Vec<String>,
    /// The injected failures, by name.
    pub(crate) injected: Vec<(&'static str, u64)>,
    pub(crate) reconnects: u64,
}

/// The result of a run.
pub(crate) struct Report {
    mode: &'static str,
    seed: u64,
    rows: Vec<Value>,
    facts: Vec<(&'static str, String)>,
    json: Value,
    /// The reasons why the run failed.
    complaints: Vec<String>,
}

impl Report {
    pub(crate) fn of_load(plan: &Plan, tally: &Tally, account: &Account) -> Self {
        let mut report = Self::new(plan, tally, account);
        let given_up = tally.sum(|row| &row.given_up);
        let answered = tally.sum(|row| &row.answered);
        let wanted = u64::from(plan.servers()) * u64::from(plan.callers);
        report.check(account.in_flight >= wanted, || {
            format!("{} of {wanted} calls were in flight at once", account.in_flight)
        });
        report.check(answered == plan.calls(), || {
            format!("{answered} of {} calls were answered", plan.calls())
        });
        report.check((answered..=answered + given_up).contains(&account.executed), || {
            format!("the servers answered {} questions", account.executed)
        });
        report.check(account.late.1 == 0, || format!("{} strange answers", account.late.1));
        let rate = report.facts_of_load(account, given_up, answered);
        report.json["calls_per_second"] = json!(rate);
        report.json["in_flight"] = json!(account.in_flight);
        report.json["executed"] = json!(account.executed);
        report.json["late"] = json!(account.late.0);
        report.judge_leaks(account);
        report
    }

    fn facts_of_load(&mut self, account: &Account, given_up: u64, answered: u64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate for people"
        )]
        let rate = (answered as f64 / account.seconds.max(0.001)) as u64;
        let speed = format!("{answered} calls in {:.1} s, {rate} a second", account.seconds);
        self.facts.push(("in flight at once", account.in_flight.to_string()));
        self.facts.push(("speed", speed));
        let dropped = format!("{given_up}, of which {} were answered too late", account.late.0);
        self.facts.push(("calls dropped on their way", dropped));
        rate
    }

    pub(crate) fn of_soak(plan: &Plan, tally: &Tally, account: &Account) -> Self {
        let mut report = Self::new(plan, tally, account);
        for (what, times) in &account.injected {
            report.facts.push((what, times.to_string()));
        }
        report.facts.push(("reconnects", account.reconnects.to_string()));
        report.json["trouble"] =
            account.injected.iter().map(|(what, n)| ((*what).to_owned(), json!(n))).collect();
        report.json["reconnects"] = json!(account.reconnects);
        report.check(account.reconnects > 0, || "nothing was reconnected".into());
        report.judge_leaks(account);
        report
    }

    fn new(plan: &Plan, tally: &Tally, account: &Account) -> Self {
        let rows: Vec<Value> = Kind::ALL
            .iter()
            .map(|kind| {
                let row = tally.of(*kind);
                let servers = plan.counts.iter().find(|(known, _)| known == kind);
                let count = |n: &std::sync::atomic::AtomicU64| n.load(Ordering::SeqCst);
                json!({
                    "transport": kind.name(),
                    "servers": servers.map_or(0, |(_, n)| *n),
                    "calls": count(&row.asked),
                    "answered": count(&row.answered),
                    "unavailable": count(&row.refused),
                    "lost": count(&row.lost),
                    "crossed": count(&row.crossed),
                    "given_up": count(&row.given_up),
                    "median_us_below": row.within(50),
                    "p99_us_below": row.within(99),
                })
            })
            .collect();
        let (lost, crossed) = (tally.sum(|row| &row.lost), tally.sum(|row| &row.crossed));
        let mut json = json!({
            "mode": plan.mode,
            "seed": plan.seed,
            "servers": plan.servers(),
            "processes": account.processes,
            "calls": tally.sum(|row| &row.asked),
            "answered": tally.sum(|row| &row.answered),
            "lost": lost,
            "crossed": crossed,
            "seconds": (account.seconds * 10.0).round() / 10.0,
            "rows": rows,
        });
        for (name, gauge) in account.looks.all() {
            json[name] = json!({
                "resident_kib": gauge.resident_kib,
                "heap_kib": gauge.heap_kib,
                "blocks": gauge.blocks,
                "files": gauge.files,
                "processes": gauge.children,
            });
        }
        let mut report = Self {
            mode: plan.mode,
            seed: plan.seed,
            rows,
            facts: Vec::new(),
            json,
            complaints: account.problems.clone(),
        };
        report.check(lost == 0, || format!("{lost} calls were lost"));
        report.check(crossed == 0, || format!("{crossed} answers were wrong"));
        report.complaints.extend(tally.quoted());
        report.facts.push(("servers", plan.servers().to_string()));
        let processes = format!("{}, started in {:.1?}", account.processes, account.started_in);
        report.facts.push(("processes", processes));
        report
    }

    /// Checks that memory and files are flat and nothing is left.
    fn judge_leaks(&mut self, account: &Account) {
        self.facts.extend(account.looks.facts());
        self.complaints.extend(account.looks.complaints());
        self.json["passed"] = json!(self.passed());
    }

    fn check(&mut self, holds: bool, complaint: impl FnOnce() -> String) {
        if !holds {
            self.complaints.push(complaint());
        }
    }

    pub(crate) fn passed(&self) -> bool {
        self.complaints.is_empty()
    }

    pub(crate) fn json(&self) -> &Value {
        &self.json
    }
}

const COLUMNS: [(&str, &str); 9] = [
    ("transport", "transport"),
    ("servers", "servers"),
    ("calls", "calls"),
    ("answered", "answered"),
    ("unavailable", "unavailable"),
    ("lost", "lost"),
    ("crossed", "crossed"),
    ("median_us_below", "half within µs"),
    ("p99_us_below", "99 % within µs"),
];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        writeln!(f, "{}", line(COLUMNS.iter().map(|(_, head)| (*head).to_owned()).collect()))?;
        writeln!(f, "|---|{}", "--:|".repeat(COLUMNS.len() - 1))?;
        for row in &self.rows {
            writeln!(f, "{}", line(COLUMNS.iter().map(|(key, _)| cell(&row[*key])).collect()))?;
        }
        writeln!(f)?;
        for (what, value) in &self.facts {
            writeln!(f, "- {what}: {value}")?;
        }
        writeln!(f)?;
        for complaint in &self.complaints {
            writeln!(f, "error: {complaint}")?;
        }
        let verdict = if self.passed() { "passed" } else { "FAILED" };
        write!(f, "{} (seed {}): {verdict}", self.mode, self.seed)
    }
}
