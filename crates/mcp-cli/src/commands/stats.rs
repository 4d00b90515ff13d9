//! `mcp stats`: estimates the token cost of tools, and the saving of loading them on demand.

use clap::{Arg, ArgMatches, Command, value_parser};
use mcp_search::cost::{Cost, Estimate, SessionCost, Statistics};
use serde_json::{Value, json};

use crate::{
    exit::{Done, Exit},
    host::{app::App, config::NO_SERVERS, left_out, tools},
    terminal::{
        paint::Paint,
        table::{Table, plain},
    },
};

pub(super) fn command() -> Command {
    Command::new("stats")
        .about("Estimate the token cost of tools")
        .after_help("Examples:\n  mcp stats\n  mcp stats --turns 20 --json")
        .arg(
            Arg::new("turns")
                .long("turns")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("Estimate the cost of servers' instructions over N turns [default: 50]"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let turns = matches.get_one::<u32>("turns").map_or(SessionCost::TURNS, |turns| *turns as usize);
    let bridge = app.bridge();
    tools::learn(app, &bridge).await?;
    let left_out = left_out::report(app, &bridge);
    let mut statistics = bridge.conversation().statistics();
    for said in bridge.instructions(usize::MAX) {
        statistics.set_instructions(&said.server, &said.text, &Estimate);
    }
    let rows: Vec<(&str, Cost)> =
        statistics.servers().filter(|(server, _)| !server.is_empty()).collect();
    let total = rows.iter().map(|(_, cost)| *cost).sum::<Cost>();
    if app.out.json {
        let servers: Vec<Value> =
            rows.iter().map(|(name, cost)| describe(Some(name), *cost)).collect();
        let instructions: Vec<Value> = instructions(&statistics, turns)
            .map(|(server, cost)| {
                json!({"server": server, "tokens": cost.tokens, "turns": cost.turns,
                    "uncachedTokens": cost.uncached(), "cachedTokens": cost.cached()})
            })
            .collect();
        app.out.value(&json!({"servers": servers, "total": describe(None, total),
            "instructions": instructions, "notSearched": left_out}))?;
    } else if app.has_servers() {
        let mut table =
            Table::new(&["SERVER", "TOOLS", "TOKENS, ALL LOADED", "AS SUMMARIES", "SAVED"]);
        for (name, cost) in rows.iter().copied().chain([("total", total)]) {
            table.row([
                (name.to_owned(), Paint::Bold),
                plain(cost.tools.to_string()),
                plain(cost.definitions.to_string()),
                plain(cost.summaries.to_string()),
                plain(format!("{} %", saved(cost))),
            ]);
        }
        table.print(app.out)?;
        if instructions(&statistics, turns).next().is_some() {
            app.out.line("")?;
            instructions_table(&statistics, turns).print(app.out)?;
        }
        app.out.remark("estimated; `tool_search` is used above 20 tools");
    } else {
        app.out.remark(NO_SERVERS);
    }
    Ok(Exit::Done)
}

fn instructions(
    statistics: &Statistics,
    turns: usize,
) -> impl Iterator<Item = (&str, SessionCost)> {
    statistics
        .instructions()
        .map(move |(server, tokens)| (server, SessionCost::new(tokens).with_turns(turns)))
}

fn instructions_table(statistics: &Statistics, turns: usize) -> Table {
    let mut table = Table::new(&["INSTRUCTIONS OF", "TOKENS", "TURNS", "UNCACHED", "CACHED"]);
    for (server, cost) in instructions(statistics, turns) {
        table.row([
            (server.to_owned(), Paint::Bold),
            plain(cost.tokens.to_string()),
            plain(cost.turns.to_string()),
            plain(cost.uncached().to_string()),
            plain(cost.cached().to_string()),
        ]);
    }
    table
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
