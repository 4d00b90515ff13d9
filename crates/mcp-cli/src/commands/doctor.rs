//! `mcp doctor`: what is wrong, why, and what to do next.

mod checks;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};

use crate::{
    app::App,
    exit::{Done, Exit, Problem},
    out::{Paint, shown},
};

pub(super) fn command() -> Command {
    Command::new("doctor")
        .about("Check files, programs, network, logins and the clock")
        .long_about(
            "Check files, programs, network, logins and the clock, and say what to do about each failure. \
             Exit code 1 if there is one.",
        )
        .after_help("Examples:\n  mcp doctor\n  mcp doctor --offline\n  mcp doctor --json")
        .arg(
            Arg::new("offline")
                .long("offline")
                .action(ArgAction::SetTrue)
                .help("Start and reach for nothing"),
        )
}

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    what: String,
    verdict: Verdict,
    found: String,
    next: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Warning,
    Bad,
}

impl Check {
    fn good(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), verdict: Verdict::Good, found: found.into(), next: None }
    }

    fn warning(what: impl Into<String>, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warning, next: Some(next.into()), ..Self::good(what, found) }
    }

    fn bad(what: impl Into<String>, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { verdict: Verdict::Bad, next: Some(next.into()), ..Self::good(what, found) }
    }
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let mut all = vec![checks::clock()];
    all.extend(checks::folders(&app.config.places));
    all.extend(checks::files(&app.config));
    all.extend(checks::servers(&app.config));
    all.extend(checks::custom_tools(&app.config));
    if !matches.get_flag("offline") {
        all.extend(app.interrupt.or(checks::secrets(app)).await?);
        all.extend(checks::live(app).await?);
    }
    print(app, &all)?;
    let is_bad = all.iter().any(|check| check.verdict == Verdict::Bad);
    Ok(if is_bad { Exit::Failed } else { Exit::Done })
}

fn print(app: &App, all: &[Check]) -> Result<(), Problem> {
    let word = |verdict: Verdict| match verdict {
        Verdict::Good => ("ok", Paint::Good),
        Verdict::Warning => ("warn", Paint::Warn),
        Verdict::Bad => ("FAIL", Paint::Bad),
    };
    if app.out.json {
        let checks: Vec<Value> = all
            .iter()
            .map(|check| {
                json!({"check": check.what, "verdict": word(check.verdict).0.to_lowercase(),
                    "found": check.found, "next": check.next})
            })
            .collect();
        let failed = all.iter().filter(|check| check.verdict == Verdict::Bad).count();
        app.out.value(&json!({"checks": checks, "failed": failed}))?;
        return Ok(());
    }
    for check in all {
        let (word, paint) = word(check.verdict);
        let word = app.out.paint(paint, &format!("{word:<4}"));
        app.out.line(format!("{word}  {}: {}", check.what, shown(&check.found)))?;
        if let Some(next) = &check.next {
            app.out.line(format!("      → {}", shown(next)))?;
        }
    }
    Ok(())
}
