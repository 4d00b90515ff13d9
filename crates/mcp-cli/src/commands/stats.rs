//! `mcp stats`: what tools cost a model in tokens, and what loading them on demand would save.

use clap::{ArgMatches, Command};
use mcp_search::Cost;
use serde_json::{Value, json};

use crate::{
    app::App,
    exit::{Done, Exit},
    out::Paint,
    table::{Table, plain},
};

pub(super) fn command() -> Command {
    Command::new("stats")
        .about("Count what tools cost a model in tokens")
        .after_help("Examples:\n  mcp stats\n  mcp stats --json")
}

pub(super) async fn run(app: &App, _: &ArgMatches) -> Done {
    let bridge = app.bridge();
    app.learn(&bridge).await?;
    let statistics = bridge.conversation().statistics();
    let rows: Vec<(&str, Cost)> =
        statistics.servers().filter(|(server, _)| !server.is_empty()).collect();
    let total = rows.iter().map(|(_, cost)| *cost).sum::<Cost>();
    if app.out.json {
        let servers: Vec<Value> =
            rows.iter().map(|(name, cost)| describe(Some(name), *cost)).collect();
        app.out.value(&json!({"servers": servers, "total": describe(None, total)}))?;
    } else if app.has_servers() {
        let mut table =
            Table::new(&["SERVER", "TOOLS", "TOKENS, ALL LOADED", "AS SUMMARIES", "SAVED"]);
        for (name, cost) in rows.iter().copied().chain([("in all", total)]) {
            table.row([
                (name.to_owned(), Paint::Bold),
                plain(cost.tools.to_string()),
                plain(cost.definitions.to_string()),
                plain(cost.summaries.to_string()),
                plain(format!("{} %", saved(cost))),
            ]);
        }
        table.print(app.out)?;
        app.out.remark("estimated; `tool_search` is used above 20 tools");
    }
    Ok(Exit::Done)
}

fn saved(cost: Cost) -> usize {
    (cost.definitions.saturating_sub(cost.summaries) * 100)
        .checked_div(cost.definitions)
        .unwrap_or(0)
}

fn describe(server: Option<&str>, cost: Cost) -> Value {
    let mut value = json!({"tools": cost.tools, "definitionTokens": cost.definitions,
        "summaryTokens": cost.summaries, "savedPercent": saved(cost)});
    if let Some(server) = server {
        value["server"] = json!(server);
    }
    value
}
