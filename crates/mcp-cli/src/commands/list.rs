//! `mcp list`: the servers there are, and how they are.

use std::{collections::HashMap, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_bridge::{ServerState, ServerStatus};
use mcp_config::{Candidate, Verdict};
use serde_json::{Value, json};

use crate::{
    app::App,
    config::NO_SERVERS,
    exit::{Done, Exit, Problem},
    out::{Paint, brief},
    state,
    table::{Table, plain},
    tools,
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
            Arg::new("connect")
                .long("connect")
                .action(ArgAction::SetTrue)
                .conflicts_with("offline")
                .help("Connect every server, and say how long that took"),
        )
        .arg(Arg::new("offline").long("offline").action(ArgAction::SetTrue).help("Start nothing"))
}

/// One line of the list.
struct Row<'a> {
    candidate: &'a Candidate,
    status: Option<ServerStatus>,
    latency: Option<Duration>,
    /// `None` if nobody has asked it yet.
    tools: Option<usize>,
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let bridge = app.bridge();
    let took = if matches.get_flag("offline") {
        Vec::new()
    } else if matches.get_flag("connect") {
        let names: Vec<_> = bridge.status().iter().map(|s| s.name.to_string()).collect();
        app.settle(&bridge, &names).await?
    } else {
        app.learn(&bridge).await?
    };
    let took: HashMap<String, Duration> = took.into_iter().collect();
    let statuses = bridge.status();
    let shown = |candidate: &&Candidate| {
        matches!(
            candidate.verdict,
            Verdict::Active | Verdict::Disabled(_) | Verdict::Unapproved { .. }
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
            Row { candidate, latency: took.get(name).copied(), status, tools }
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
    /// The state in a word, and how to paint it.
    fn state(&self) -> (&'static str, Paint) {
        let Some(status) = &self.status else {
            return match self.candidate.verdict {
                Verdict::Unapproved { .. } => ("unapproved", Paint::Warn),
                _ => ("disabled", Paint::Dim),
            };
        };
        state::word(status)
    }

    fn problem(&self) -> Option<&str> {
        self.status.as_ref()?.problem.as_deref()
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
    let mut table = Table::new(&["SERVER", "STATE", "TRANSPORT", "SCOPE", "TOOLS", "LATENCY", ""]);
    for row in rows {
        let config = &row.candidate.entry.config;
        let (state, paint) = row.state();
        let count = row.tools.map_or("–".into(), |tools| tools.to_string());
        let latency = row.latency().map_or("–".into(), |latency| format!("{latency} ms"));
        table.row([
            (config.name.to_string(), Paint::Bold),
            (state.to_owned(), paint),
            plain(config.transport.kind()),
            plain(row.candidate.scope.as_str()),
            plain(count),
            plain(latency),
            (brief(row.problem().unwrap_or_default(), 300), Paint::Dim),
        ]);
    }
    table.print(app.out)?;
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
