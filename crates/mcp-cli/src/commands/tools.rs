//! `mcp tools`: what can be called.

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use super::{server_arg, text};
use crate::{
    app::App,
    config::NO_SERVERS,
    exit::{Done, Exit},
    out::{Paint, brief},
    table::{Table, plain},
    tools,
};

pub(super) fn command() -> Command {
    Command::new("tools")
        .about("List the tools of one server, or of all")
        .after_help("Examples:\n  mcp tools\n  mcp tools github --json")
        .arg(server_arg())
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let server = text(matches, "server");
    let bridge = app.bridge();
    if server.is_empty() {
        app.learn(&bridge).await?;
    } else {
        app.config.server(server)?;
        if tools::known(&bridge, server).is_none() {
            app.settle(&bridge, &[server.to_owned()]).await?;
            if let Some(problem) = tools::unreachable(&bridge, server) {
                return Err(problem);
            }
        }
    }
    let all = tools::all(&bridge);
    let wanted = all.iter().map(|tool| tool.spec());
    let wanted: Vec<_> =
        wanted.filter(|spec| server.is_empty() || spec.server() == Some(server)).collect();
    if app.out.json {
        let described: Vec<Value> = wanted.iter().map(|spec| tools::describe(spec)).collect();
        app.out.value(&json!({ "tools": described }))?;
    } else if wanted.is_empty() && app.config.resolution.servers().next().is_none() {
        app.out.remark(NO_SERVERS);
    } else {
        let mut table = Table::new(&["TOOL", "", "DESCRIPTION"]);
        for spec in wanted {
            let kind = match (spec.hints.is_read_only(), spec.hints.is_destructive()) {
                (true, _) => ("reads", Paint::Good),
                (_, true) => ("writes", Paint::Warn),
                _ => ("adds", Paint::Plain),
            };
            table.row([
                (tools::short(spec), Paint::Bold),
                (kind.0.to_owned(), kind.1),
                plain(brief(&spec.description, 100)),
            ]);
        }
        table.print(app.out)?;
    }
    Ok(Exit::Done)
}
