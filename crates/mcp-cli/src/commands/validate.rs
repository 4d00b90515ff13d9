//! `mcp validate`: scores tool descriptions.

use clap::{ArgMatches, Command};
use mcp_search::validate::{Report, Validator};
use serde_json::{Value, json};

use super::{server_arg, text};
use crate::{
    exit::{Done, Exit},
    host::{app::App, config::NO_SERVERS, left_out, tools},
    terminal::{
        paint::Paint,
        table::{Table, plain},
    },
};

pub(super) fn command() -> Command {
    Command::new("validate")
        .about("Score how well tools describe themselves")
        .long_about(
            "Score how well tools describe themselves, from 0 to 100. 40 is enough; the exit code is 1 if a tool has less.",
        )
        .after_help("Examples:\n  mcp validate\n  mcp validate my-server --json")
        .arg(server_arg())
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let server = text(matches, "server");
    let bridge = app.bridge();
    let mut left_out = Vec::new();
    if server.is_empty() {
        tools::learn(app, &bridge).await?;
        left_out = left_out::report(app, &bridge);
    } else {
        app.config.server(server)?;
        app.settle(&bridge, &[server.to_owned()]).await?;
        if let Some(problem) = tools::unreachable(app, &bridge, server) {
            return Err(problem);
        }
    }
    let validator = Validator::default();
    let mut reports: Vec<(String, Report)> = tools::all(&bridge)
        .iter()
        .filter(|tool| server.is_empty() || tool.spec().server() == Some(server))
        .map(|tool| {
            (tools::short(tool.spec()), validator.check(&tools::published(&bridge, tool.spec())))
        })
        .collect();
    reports.sort_by_key(|(_, report)| report.score);
    let failed = reports.iter().filter(|(_, report)| !report.passed).count();
    if app.out.json {
        let described: Vec<Value> = reports
            .iter()
            .map(|(name, report)| {
                json!({"name": name, "score": report.score, "passed": report.passed,
                    "problems": report.problems.iter().map(ToString::to_string).collect::<Vec<_>>()})
            })
            .collect();
        app.out.value(&json!({"tools": described, "failed": failed, "notSearched": left_out}))?;
    } else if app.has_servers() {
        let mut table = Table::new(&["SCORE", "TOOL", "PROBLEMS"]);
        for (name, report) in &reports {
            let problems: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
            let paint = if report.passed { Paint::Good } else { Paint::Bad };
            table.row([
                (report.score.to_string(), paint),
                (name.clone(), Paint::Bold),
                plain(problems.join("; ")),
            ]);
        }
        table.print(app.out)?;
    } else {
        app.out.remark(NO_SERVERS);
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}
