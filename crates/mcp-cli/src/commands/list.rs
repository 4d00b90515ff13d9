//! `mcp list`: lists servers and their states.

use std::{collections::HashMap, io::IsTerminal as _, time::Duration};

use clap::{ArgMatches, Command};
use mcp_bridge::{ServerState, ServerStatus};
use mcp_config::resolve::{Candidate, Verdict};
use serde_json::{Value, json};

use super::flag;
use crate::{
    exit::{Done, Exit, Problem},
    host::{app::App, config::NO_SERVERS, sandbox::Shown, tools},
    terminal::{
        out::brief,
        paint::Paint,
        server_state,
        table::{Table, plain},
    },
};

pub(super) fn command() -> Command {
    Command::new("list")
        .visible_alias("ls")
        .about("List servers with their state, transport, scope and tools")
        .long_about(
            "List servers with their state, transport, scope and tools.\n\n\
             Servers whose tools are remembered from last time are not started; the others are.",
        )
        .after_help(
            "Examples:\n  mcp list\n  mcp list --connect\n  mcp list --json | jq '.servers[].name'",
        )
        .arg(
            flag("connect", "Connect to every server, and show how long that took")
                .conflicts_with("offline"),
        )
        .arg(flag("offline", "Start no servers"))
}

/// One row of the table.
struct Row<'a> {
    candidate: &'a Candidate,
    status: Option<ServerStatus>,
    latency: Option<Duration>,
    /// `None` if the tools are not known yet.
    tools: Option<usize>,
    /// The current failure, or a remembered one of the last minutes.
    problem: Option<String>,
    failure: Option<String>,
    /// `None` for servers that are not local programs.
    sandbox: Option<Shown>,
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let bridge = app.bridge();
    let took = if matches.get_flag("offline") {
        Vec::new()
    } else if matches.get_flag("connect") {
        let names: Vec<_> = bridge.status().iter().map(|s| s.name.to_string()).collect();
        app.settle(&bridge, &names).await?
    } else {
        tools::learn(app, &bridge).await?
    };
    let took: HashMap<String, Duration> = took.into_iter().collect();
    let statuses = bridge.status();
    let failures = app.failures();
    let shown = |candidate: &&Candidate| {
        matches!(
            candidate.verdict,
            Verdict::Active | Verdict::Disabled(_) | Verdict::Unapproved { .. } | Verdict::Rejected
        )
    };
    let rows: Vec<Row<'_>> = app
        .config
        .resolution
        .candidates
        .iter()
        .filter(shown)
        .map(|candidate| {
            let name = candidate.entry.config.name.as_str();
            let status = (candidate.verdict == Verdict::Active)
                .then(|| statuses.iter().find(|status| &*status.name == name).cloned())
                .flatten();
            let tools = status.as_ref().and_then(|_| tools::known(&bridge, name));
            // `--timeout` has ended the wait for a server that is still connecting: the next command, which does not
            // try it again, shows the same state.
            let is_late = |state: &ServerState| matches!(state, ServerState::Connecting { .. });
            let is_asked = |status: &ServerStatus| status.state.is_idle() || is_late(&status.state);
            let failure = failures.of(name).filter(|_| status.as_ref().is_some_and(is_asked));
            let failure = failure.map(str::to_owned);
            let problem = status.as_ref().and_then(|status| server_state::reason(&bridge, status));
            let latency = took.get(name).copied();
            let mut config = candidate.entry.config.clone();
            config.trust = candidate.is_trusted();
            let sandbox = Shown::new(&app.config, &config);
            Row { candidate, status, latency, tools, problem, failure, sandbox }
        })
        .collect();
    if app.out.json {
        print_json(app, &rows)?;
    } else {
        print(app, &rows)?;
    }
    Ok(Exit::Done)
}

impl Row<'_> {
    /// Returns the state as a word, with its colour.
    fn state(&self) -> (&'static str, Paint) {
        let Some(status) = &self.status else {
            return match self.candidate.verdict {
                Verdict::Unapproved { .. } => ("unapproved", Paint::Warn),
                Verdict::Rejected => ("rejected", Paint::Dim),
                _ => ("disabled", Paint::Dim),
            };
        };
        if self.failure.is_some() {
            return ("failed", Paint::Bad);
        }
        server_state::word(status)
    }

    fn problem(&self) -> Option<&str> {
        self.problem.as_deref().or(self.failure.as_deref())
    }

    fn latency(&self) -> Option<u128> {
        let is_up = self.status.as_ref()?.state == ServerState::Connected;
        self.latency.filter(|_| is_up).map(|latency| latency.as_millis())
    }
}

fn print(app: &App, rows: &[Row<'_>]) -> Result<(), Problem> {
    if rows.is_empty() {
        app.out.remark(NO_SERVERS);
        return Ok(());
    }
    let head = ["SERVER", "STATE", "TRANSPORT", "SCOPE", "PROFILE", "TOOLS", "LATENCY", "PROBLEM"];
    // On a terminal, problems are printed below the table, where they are not truncated.
    let is_terminal = std::io::stdout().is_terminal();
    let has_column = !is_terminal && rows.iter().any(|row| row.problem().is_some());
    let mut table = Table::new(if has_column { &head[..] } else { &head[..7] });
    for row in rows {
        let config = &row.candidate.entry.config;
        let (state, paint) = row.state();
        let count = row.tools.map_or("–".into(), |tools| tools.to_string());
        let latency = row.latency().map_or("–".into(), |latency| format!("{latency} ms"));
        let mut cells = vec![
            (config.name.to_string(), Paint::Bold),
            (state.to_owned(), paint),
            plain(config.transport.kind()),
            plain(row.candidate.scope.as_str()),
            plain(row.sandbox.as_ref().map_or("–".into(), Shown::word)),
            plain(count),
            plain(latency),
        ];
        if has_column {
            cells.push((brief(row.problem().unwrap_or_default(), 300), Paint::Dim));
        }
        table.row(cells);
    }
    table.print(app.out)?;
    let failed: Vec<&Row<'_>> = rows.iter().filter(|row| row.problem().is_some()).collect();
    for row in failed.iter().filter(|_| is_terminal) {
        let name = Paint::Bold.of(row.candidate.entry.config.name.to_string());
        let problem = brief(row.problem().unwrap_or_default(), 300);
        app.out.line(name.then(format!(": {problem}")))?;
    }
    if let Some(row) = failed.first() {
        app.out
            .remark(format!("`mcp explain {}` shows the details", row.candidate.entry.config.name));
    }
    Ok(())
}

fn print_json(app: &App, rows: &[Row<'_>]) -> Result<(), Problem> {
    let servers: Vec<Value> = rows
        .iter()
        .map(|row| {
            let config = &row.candidate.entry.config;
            json!({
                "name": config.name.as_str(),
                "state": row.state().0,
                "transport": config.transport.kind(),
                "scope": row.candidate.scope.as_str(),
                "file": row.candidate.entry.place.to_string(),
                "trusted": row.candidate.is_trusted(),
                "sandbox": row.sandbox.as_ref().map(Shown::json),
                "tools": row.tools,
                "latencyMs": row.latency(),
                "problem": row.problem(),
            })
        })
        .collect();
    let diagnostics: Vec<String> = app.config.errors().map(ToString::to_string).collect();
    app.out.value(&json!({"servers": servers, "diagnostics": diagnostics}))?;
    Ok(())
}
