//! `mcp get` and `mcp explain`: one server, where it comes from, and why it is as it is.

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_config::{CustomCandidate, CustomVerdict, Verdict};
use serde_json::json;

use super::{server_arg, text};
use crate::{
    app::App,
    exit::{Done, Exit},
    out::{Paint, shown},
    state,
};

pub(super) fn command() -> Command {
    Command::new("get")
        .visible_alias("explain")
        .about("Explain one server, or custom tool: where it is configured, and whether it works")
        .after_help("Examples:\n  mcp explain github\n  mcp get github --offline")
        .arg(server_arg().required(true))
        .arg(Arg::new("offline").long("offline").action(ArgAction::SetTrue).help("Start nothing"))
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let explanation = app.config.resolution.explain(name);
    let all = &app.config.resolution.custom_tools;
    let tools: Vec<_> = all.iter().filter(|tool| tool.entry.tool.name == name).collect();
    if explanation.entries.is_empty() && explanation.diagnostics.is_empty() {
        return if tools.is_empty() {
            Err(app.config.missing(name))
        } else {
            explain_tool(app, name, &tools)
        };
    }
    let is_active = explanation.entries.first().is_some_and(|c| c.verdict == Verdict::Active);
    let is_asked = is_active && !matches.get_flag("offline");
    let bridge = app.bridge();
    if is_asked {
        app.settle(&bridge, &[name.to_owned()]).await?;
    }
    let live = bridge.explain(name).filter(|_| is_active);
    let status = bridge.status().into_iter().find(|status| *status.name == *name);
    let word = status.as_ref().map_or("unknown", |status| state::word(status).0);
    let next = live.as_ref().zip(status).map(|(live, status)| state::next_step(&status, live));
    let quarantined = bridge.quarantined(name);
    if app.out.json {
        let quarantined: Vec<_> = quarantined
            .iter()
            .map(|tool| json!({"tool": tool.tool, "reason": tool.reason.clone()}))
            .collect();
        app.out.value(&json!({
            "name": name,
            "active": is_active,
            "configuration": explanation.to_string().lines().collect::<Vec<_>>(),
            "state": live.as_ref().map(|_| word),
            "tools": crate::tools::known(&bridge, name),
            "cause": live.as_ref().map(|live| live.cause.clone()),
            "evidence": live.as_ref().map(|live| live.evidence.clone()),
            "nextStep": next,
            "quarantined": quarantined,
            "customTools": in_words(&tools),
        }))?;
    } else {
        app.out.line(explanation.to_string().trim_end())?;
        if let Some(live) = &live {
            app.out.line(format!("{} {}", app.out.paint(Paint::Bold, "state:"), word))?;
            app.out.line(format!(
                "{} {}",
                app.out.paint(Paint::Bold, "cause:"),
                shown(&live.cause)
            ))?;
            for line in &live.evidence {
                app.out.line(format!("  {}", shown(line)))?;
            }
            let title = app.out.paint(Paint::Bold, "next:");
            app.out.line(format!("{title} {}", next.unwrap_or_default()))?;
        }
        for line in in_words(&tools) {
            app.out.line(line)?;
        }
        for tool in &quarantined {
            app.out.line(format!("set aside: {}: {}", shown(&tool.tool), tool.reason))?;
        }
    }
    let exit = match crate::tools::unreachable(&bridge, name) {
        Some(problem) if is_asked => problem.exit,
        _ => Exit::Done,
    };
    Ok(exit)
}

/// The same for a tool the user made of others.
fn explain_tool(app: &App, name: &str, tools: &[&CustomCandidate]) -> Done {
    let is_active = tools.iter().any(|tool| tool.verdict == CustomVerdict::Active);
    if app.out.json {
        let lines = in_words(tools);
        app.out.value(&json!({"name": name, "active": is_active, "configuration": lines}))?;
    } else {
        app.out.line(in_words(tools).join("\n"))?;
    }
    Ok(Exit::Done)
}

fn in_words(tools: &[&CustomCandidate]) -> Vec<String> {
    let lines = tools.iter().map(ToString::to_string);
    lines.flat_map(|words| words.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}
