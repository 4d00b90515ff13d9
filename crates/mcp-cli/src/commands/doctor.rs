//! `mcp doctor`: checks the installation and suggests a fix for each failure.

mod checks;

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use super::flag;
use crate::{
    exit::{Done, Exit, Problem},
    host::app::App,
    terminal::paint::Paint,
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
            flag("offline", "Start no servers and use no network"),
        )
}

/// The result of one check.
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
    all.extend(checks::command_name());
    all.extend(checks::background(app).await);
    all.extend(checks::gateway_log(&app.config.places));
    all.extend(checks::folders(&app.config.places));
    all.extend(checks::files(&app.config));
    all.extend(checks::servers(&app.config, &*app.secrets));
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
    for group in GROUPS {
        let mut of_group = all.iter().filter(|check| group_of(&check.what) == *group).peekable();
        if of_group.peek().is_some() {
            app.out.line(Paint::Bold.of(*group))?;
        }
        for check in of_group {
            let (word, paint) = word(check.verdict);
            let word = paint.of(format!("  {word:<4}"));
            app.out.line(word.then(format!("  {}: {}", check.what, check.found)))?;
            if let Some(next) = &check.next {
                app.out.line(format!("        → {next}"))?;
            }
        }
    }
    let count = |verdict: Verdict| all.iter().filter(|check| check.verdict == verdict).count();
    let (bad, odd) = (count(Verdict::Bad), count(Verdict::Warning));
    let paint = if bad > 0 { Paint::Bad } else { Paint::Good };
    let summary = format!("{bad} failed, {odd} warnings, {} ok", count(Verdict::Good));
    app.out.line(paint.of(summary))?;
    Ok(())
}

/// The groups of checks, in display order.
const GROUPS: &[&str] = &["this machine", "configuration", "servers"];

fn group_of(what: &str) -> &'static str {
    match what {
        "configuration" => GROUPS[1],
        what if what.starts_with("server ") || what.starts_with("connection ") => GROUPS[2],
        what if what.starts_with("custom tool ") => GROUPS[1],
        _ => GROUPS[0],
    }
}
