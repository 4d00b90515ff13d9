//! `mcp search`: finds tools by keywords.

use clap::{Arg, ArgMatches, Command, value_parser};
use mcp_search::{Query, SearchOptions};
use serde_json::{Value, json};

use super::{flag, texts};
use crate::{
    exit::{Done, Exit, Problem},
    host::{app::App, left_out, tools},
    terminal::{
        out::brief,
        paint::Paint,
        table::{Table, plain},
    },
};

pub(super) fn command() -> Command {
    Command::new("search")
        .about("Find tools by what they do")
        .after_help(
            "Examples:\n  mcp search read a file\n  mcp search 'server:github +issue'\n  \
             mcp search --regex 'list_.*'",
        )
        .arg(Arg::new("query").value_name("WORDS").num_args(1..).required(true))
        .arg(flag("regex", "Read the query as a regular expression"))
        .arg(
            Arg::new("limit")
                .long("limit")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u16).range(1..=1_000))
                .default_value("10")
                .help("Maximum number of tools to show"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let words = texts(matches, "query").join(" ");
    let query = if matches.get_flag("regex") {
        let bad = |error| Problem::usage(format!("not a regular expression: {error}"));
        Query::regex(&words).map_err(bad)?
    } else {
        Query::parse(&words)
    };
    let bridge = app.bridge();
    tools::learn(app, &bridge).await?;
    let left_out = left_out::report(app, &bridge);
    let mut options = SearchOptions::default();
    options.limit = usize::from(matches.get_one::<u16>("limit").copied().unwrap_or(10));
    let results = tools::index(&tools::all(&bridge)).search(&query, &options);
    if app.out.json {
        let hits: Vec<Value> = results
            .hits
            .iter()
            .map(|hit| {
                json!({"name": hit.card.id, "server": hit.card.server,
                    "description": hit.card.description, "score": hit.score})
            })
            .collect();
        app.out.value(&json!({"matches": hits, "matched": results.matched,
            "notSearched": left_out}))?;
    } else if results.hits.is_empty() {
        app.explain_empty("no tools match");
    } else {
        let mut table = Table::new(&["TOOL", "DESCRIPTION"]);
        for hit in &results.hits {
            table.row([
                (hit.card.id.clone(), Paint::Bold),
                plain(brief(&hit.card.description, 100)),
            ]);
        }
        table.print(app.out)?;
    }
    let exit = if results.hits.is_empty() { Exit::NotFound } else { Exit::Done };
    Ok(exit)
}
