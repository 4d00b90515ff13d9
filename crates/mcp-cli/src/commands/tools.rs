//! `mcp tools`: what can be called.

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::ToolSpec;
use serde_json::{Value, json};

use super::text;
use crate::{
    app::App,
    config::NO_SERVERS,
    exit::{Done, Exit},
    out::{Paint, brief, shown},
    table::{Table, plain},
    tools,
};

pub(super) fn command() -> Command {
    Command::new("tools")
        .about("List the tools of one server, or of all, or show what one takes")
        .after_help(
            "Examples:\n  mcp tools\n  mcp tools github --json\n  mcp tools github/list_issues",
        )
        .arg(
            Arg::new("what")
                .value_name("SERVER or TOOL")
                .help("A server, whose tools are listed, or a tool, whose arguments are"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let server = text(matches, "what");
    let bridge = app.bridge();
    // Servers first: a name that is both is a server's.
    if !server.is_empty() && app.config.resolution.get(server).is_none() {
        return match tools::find(app, &bridge, server).await {
            Ok(tool) => show(app, tool.spec()),
            // Without a slash it was more likely meant to be a server.
            Err(_) if !server.contains('/') => Err(app.config.missing(server)),
            Err(problem) => Err(problem),
        };
    }
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

/// One tool: what it is for, and what it takes.
fn show(app: &App, spec: &ToolSpec) -> Done {
    if app.out.json {
        app.out.value(&json!({ "tools": [tools::describe(spec)] }))?;
        return Ok(Exit::Done);
    }
    app.out.line(app.out.paint(Paint::Bold, &tools::short(spec)))?;
    if !spec.description.is_empty() {
        app.out.line(shown(&spec.description))?;
    }
    let schema: Value = serde_json::from_str(spec.input_schema.as_str()).unwrap_or_default();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object();
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        app.out.line("it takes no arguments")?;
        return Ok(Exit::Done);
    };
    let mut table = Table::new(&["ARGUMENT", "TYPE", "", "DESCRIPTION"]);
    for (name, about) in properties {
        let is_required = required.contains(&name.as_str());
        table.row([
            (brief(name, 60), Paint::Bold),
            plain(kind(about)),
            plain(if is_required { "required" } else { "" }),
            plain(brief(about["description"].as_str().unwrap_or_default(), 200)),
        ]);
    }
    table.print(app.out)?;
    Ok(Exit::Done)
}

/// What kind of value an argument is, in a word or its choices.
fn kind(about: &Value) -> String {
    if let Some(choices) = about["enum"].as_array() {
        let words: Vec<String> = choices.iter().map(ToString::to_string).collect();
        return brief(&words.join("|"), 60);
    }
    match &about["type"] {
        Value::String(kind) if kind == "array" => match about["items"]["type"].as_str() {
            Some(of) => brief(&format!("array of {of}"), 40),
            None => "array".to_owned(),
        },
        Value::String(kind) => brief(kind, 40),
        Value::Array(kinds) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            brief(&kinds.join("|"), 60)
        }
        _ => "any".to_owned(),
    }
}
