//! `mcp demo`: a tour with a built-in server.

use std::sync::Arc;

use clap::{ArgMatches, Command};
use mcp_bridge::{Bridge, RawJson, connect::DefaultConnector};
use mcp_search::{Query, SearchOptions};
use serde_json::json;

use super::{call, flag};
use crate::{
    demo,
    exit::{Done, Exit, Problem},
    host::{app::App, tools},
    terminal::{
        out::brief,
        paint::{Line, Paint},
        table::{Table, plain},
    },
};

pub(super) fn command() -> Command {
    Command::new("demo")
        .about("Take a tour with a built-in server: no configuration, no network")
        .after_help("Examples:\n  mcp demo\n  mcp add demo -- mcp demo --stdio")
        .arg(flag("stdio", "Run the built-in server on stdin and stdout instead, for any MCP host"))
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    if matches.get_flag("stdio") {
        app.interrupt.or(demo::server().serve_stdio()).await??;
        return Ok(Exit::Done);
    }
    let bridge = bridge(app)?;
    if app.out.json {
        let all: Vec<_> = {
            app.settle(&bridge, &[demo::NAME.to_owned()]).await?;
            tools::all(&bridge).iter().map(|tool| tools::describe(tool.spec())).collect()
        };
        app.out.value(&json!({ "tools": all }))?;
    } else {
        tour(app, &bridge).await?;
    }
    Ok(Exit::Done)
}

/// Returns a bridge to the built-in server only.
fn bridge(app: &App) -> Result<Bridge, Problem> {
    let mut options = app.options();
    let connector =
        DefaultConnector::new().register(demo::NAME, Arc::new(demo::server().in_process()));
    options.connector = Arc::new(connector);
    options.catalogue = None;
    options.approvals = Arc::default();
    let config = demo::config();
    let config = config.map_err(|error| Problem::new(Exit::Failed, error.to_string()))?;
    Ok(app.bridge_of(options, vec![config]))
}

async fn tour(app: &App, bridge: &Bridge) -> Result<(), Problem> {
    let title = |text: &str| app.out.line(Line::from("\n").then(Paint::Bold.of(text)));
    title("1. Discovery: one built-in server")?;
    app.settle(bridge, &[demo::NAME.to_owned()]).await?;
    let all = tools::all(bridge);
    let mut table = Table::new(&["TOOL", "DESCRIPTION"]);
    for tool in &all {
        table.row([plain(tools::short(tool.spec())), plain(brief(&tool.spec().description, 90))]);
    }
    table.print(app.out)?;

    title("2. Search: `mcp search how far is it in miles`")?;
    let query = Query::parse("how far is it in miles");
    let results = tools::index(&all).search(&query, &SearchOptions::default());
    for hit in results.hits.iter().take(2) {
        app.out.line(format!("{}  {}", hit.card.id, brief(&hit.card.description, 80)))?;
    }

    title("3. A call: `mcp call demo/convert_units value=42.195 from=km to=miles`")?;
    show(app, bridge, "convert_units", r#"{"value":42.195,"from":"km","to":"miles"}"#).await?;

    title("4. Progress of a long call: `mcp call demo/find_primes limit=200000`")?;
    show(app, bridge, "find_primes", r#"{"limit":200000}"#).await?;

    title(
        "5. Invalid arguments are rejected before they are sent: `mcp call demo/weekday day=today`",
    )?;
    show(app, bridge, "weekday", r#"{"day":"today"}"#).await?;

    title("6. Trust: this server is not trusted, so a destructive tool asks first")?;
    show(app, bridge, "delete_notes", "{}").await?;

    title("7. Token cost of these tools: `mcp stats`")?;
    let statistics = bridge.conversation().statistics();
    let cost = statistics.server(demo::NAME);
    app.out.line(format!(
        "{} tools, about {} tokens if all are loaded, {} as one-line summaries",
        cost.tools, cost.definitions, cost.summaries
    ))?;
    let counters = bridge.counters();
    app.out.line(format!(
        "{} calls, {} of them stopped before they ran",
        counters.calls, counters.failures
    ))?;

    title("Next")?;
    app.out.line("mcp add files -- npx -y @modelcontextprotocol/server-filesystem .")?;
    app.out
        .line("mcp import           # the servers of Claude Code, Cursor, VS Code and others")?;
    app.out.line("mcp serve            # all servers behind one gateway, for any agent")?;
    Ok(())
}

/// Calls a tool of the tour. An error is printed, not returned, because it is part of the tour.
async fn show(app: &App, bridge: &Bridge, tool: &str, arguments: &str) -> Result<(), Problem> {
    let tool = tools::find(app, bridge, &format!("{}/{tool}", demo::NAME)).await?;
    let arguments = RawJson::parse(arguments.to_owned());
    let arguments = arguments.map_err(|error| Problem::new(Exit::Failed, error.to_string()))?;
    // Only the destructive tool asks: the other calls of the tour should not interrupt it.
    let is_asked = tool.spec().hints.is_destructive();
    let outcome = call::call_with(app, &*tool, arguments, !is_asked).await?;
    match call::print(app, bridge, &*tool, &outcome) {
        Ok(_) => Ok(()),
        Err(problem) if problem.is_silent => Err(problem),
        Err(problem) => {
            let hint = problem.hint.map(|hint| format!("\n  ({})", brief(&hint, 100)));
            app.out.line(format!("→ {}{}", problem.message, hint.unwrap_or_default()))?;
            Ok(())
        }
    }
}
