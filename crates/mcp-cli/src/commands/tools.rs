//! `mcp tools`: lists tools, or shows the arguments of one.

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::{Bridge, ToolSpec};
use mcp_search::validate::{Report, Validator};
use serde_json::{Value, json};

use super::{flag, signature, text};
use crate::{
    exit::{Done, Exit},
    host::{app::App, config::NO_SERVERS, left_out, tools},
    terminal::{
        out::brief,
        paint::Paint,
        table::{Table, plain},
    },
};

pub(super) fn command() -> Command {
    Command::new("tools")
        .about("List the tools of one or all servers, or show the arguments of a tool")
        .after_help(
            "EFFECT is the server's claim about a tool: reads; adds (changes, but destroys nothing); writes (may \
             destroy).\n\nExamples:\n  mcp tools\n  mcp tools github --json\n  mcp tools github/list_issues\n  \
             mcp tools --refresh\n  mcp tools --scores",
        )
        .arg(
            Arg::new("what")
                .value_name("SERVER or TOOL")
                .help("A server to list the tools of, or a tool to show the arguments of"),
        )
        .arg(flag("refresh", "Connect to every server instead of using remembered tools"))
        .arg(flag("scores", "Show the score that `mcp validate` gives each tool"))
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let server = text(matches, "what");
    let bridge = app.bridge();
    // If a name is both a server and a tool, the server wins.
    if !server.is_empty() && app.config.resolution.get(server).is_none() {
        return match tools::find(app, &bridge, server).await {
            Ok(tool) => show(app, tool.spec()),
            // Without a slash, the name was probably meant to be a server.
            Err(_) if !server.contains('/') => Err(app.config.missing(server)),
            Err(problem) => Err(problem),
        };
    }
    let mut left_out = Vec::new();
    if !server.is_empty() {
        app.config.server(server)?;
        app.settle(&bridge, &[server.to_owned()]).await?;
        match tools::unreachable(app, &bridge, server) {
            Some(problem) if tools::known(&bridge, server).is_none() => return Err(problem),
            Some(problem) => {
                app.out.remark(format!("showing remembered tools: {}", problem.message));
            }
            None => {}
        }
    } else if matches.get_flag("refresh") {
        let names: Vec<_> = bridge.status().iter().map(|s| s.name.to_string()).collect();
        app.settle(&bridge, &names).await?;
        left_out = left_out::report(app, &bridge);
    } else {
        tools::learn(app, &bridge).await?;
        left_out = left_out::report(app, &bridge);
    }
    let all = tools::all(&bridge);
    let wanted = all.iter().map(|tool| tool.spec());
    let wanted: Vec<_> =
        wanted.filter(|spec| server.is_empty() || spec.server() == Some(server)).collect();
    let scores = matches.get_flag("scores").then(|| scores(&bridge, &wanted));
    list(app, &wanted, scores.as_deref(), &left_out)
}

/// Scores each tool as its server published it.
fn scores(bridge: &Bridge, wanted: &[&ToolSpec]) -> Vec<Report> {
    let validator = Validator::default();
    wanted.iter().map(|spec| validator.check(&tools::published(bridge, spec))).collect()
}

fn list(app: &App, wanted: &[&ToolSpec], scores: Option<&[Report]>, left_out: &[Value]) -> Done {
    let score = |index: usize| scores.and_then(|scores| scores.get(index));
    if app.out.json {
        let described = wanted.iter().enumerate().map(|(index, spec)| {
            let mut value = tools::describe(spec);
            if let Some(report) = score(index) {
                value["score"] = json!(report.score);
            }
            value
        });
        app.out
            .value(&json!({"tools": described.collect::<Vec<Value>>(), "notSearched": left_out}))?;
        return Ok(Exit::Done);
    }
    if wanted.is_empty() && !app.has_servers() {
        app.out.remark(NO_SERVERS);
        return Ok(Exit::Done);
    }
    let mut head = vec!["TOOL", "EFFECT", "SCORE", "DESCRIPTION"];
    head.retain(|title| scores.is_some() || *title != "SCORE");
    let mut table = Table::new(&head);
    for (index, spec) in wanted.iter().enumerate() {
        let (kind, paint) = effect(spec);
        let mut row = vec![(tools::short(spec), Paint::Bold), (kind.to_owned(), paint)];
        if let Some(report) = score(index) {
            let paint = if report.passed { Paint::Good } else { Paint::Bad };
            row.push((report.score.to_string(), paint));
        }
        row.push(plain(brief(&spec.description, 100)));
        table.row(row);
    }
    table.print(app.out)?;
    Ok(Exit::Done)
}

/// Returns the effect of a tool, according to its annotations, as one word.
fn effect(spec: &ToolSpec) -> (&'static str, Paint) {
    match (spec.hints.is_read_only(), spec.hints.is_destructive()) {
        (true, _) => ("reads", Paint::Good),
        (_, true) => ("writes", Paint::Warn),
        _ => ("adds", Paint::Plain),
    }
}

/// Shows the description and arguments of one tool.
fn show(app: &App, spec: &ToolSpec) -> Done {
    if app.out.json {
        app.out.value(&json!({ "tools": [tools::describe(spec)] }))?;
        return Ok(Exit::Done);
    }
    app.out.line(Paint::Bold.of(brief(&tools::short(spec), 200)))?;
    if !spec.description.is_empty() {
        app.out.line(&spec.description)?;
    }
    let schema: Value = serde_json::from_str(spec.input_schema.as_str()).unwrap_or_default();
    let required = signature::required(&schema);
    let properties = schema["properties"].as_object();
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        app.out.line("this tool takes no arguments")?;
        return Ok(Exit::Done);
    };
    let mut table = Table::new(&["ARGUMENT", "TYPE", "", "DESCRIPTION"]);
    for (name, about) in properties {
        let is_required = required.contains(&name.as_str());
        table.row([
            (brief(name, 60), Paint::Bold),
            plain(signature::kind(about)),
            plain(if is_required { "required" } else { "" }),
            plain(brief(about["description"].as_str().unwrap_or_default(), 200)),
        ]);
    }
    table.print(app.out)?;
    Ok(Exit::Done)
}
