//! `mcp approve`: servers and custom tools that came with a repository.

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_config::{CustomCandidate, Resolution, ServerConfig};
use serde_json::json;

use super::texts;
use crate::{
    app::App,
    exit::{Done, Exit, Problem},
};

pub(super) fn command() -> Command {
    Command::new("approve")
        .about("Let servers start, and custom tools be used, that came with this project")
        .long_about(
            "Let servers start, and custom tools be used, that came with this project.\n\n\
             An approval is for exactly what the entry says now: if it changes, you are asked again.",
        )
        .after_help("Examples:\n  mcp approve\n  mcp approve files\n  mcp approve files --reject")
        .arg(Arg::new("names").value_name("NAME").num_args(0..))
        .arg(
            Arg::new("reject")
                .long("reject")
                .action(ArgAction::SetTrue)
                .help("Never use them, as they are"),
        )
}

/// What waits to be decided about.
enum Waiting<'a> {
    Server(&'a ServerConfig),
    Tool(&'a CustomCandidate),
}

impl Waiting<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Server(config) => config.name.as_str(),
            Self::Tool(candidate) => &candidate.entry.tool.name,
        }
    }

    /// All there is to know before deciding.
    fn shown(&self, resolution: &Resolution) -> String {
        match self {
            Self::Server(config) => resolution.explain(config.name.as_str()).to_string(),
            Self::Tool(candidate) => candidate.to_string(),
        }
    }
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let names = texts(matches, "names");
    let resolution = &app.config.resolution;
    let servers = resolution.unapproved().map(|c| Waiting::Server(&c.entry.config));
    let tools = resolution.unapproved_tools().map(Waiting::Tool);
    let waiting: Vec<Waiting<'_>> = servers.chain(tools).collect();
    for name in &names {
        if !waiting.iter().any(|waits| waits.name() == name) {
            let message = format!("{name} does not wait for approval");
            return Err(Problem::new(Exit::NotFound, message)
                .hint(format!("`mcp explain {name}` says how it stands")));
        }
    }
    let is_rejected = matches.get_flag("reject");
    let mut decided = Vec::new();
    for waits in waiting {
        let is_named = names.iter().any(|wanted| wanted == waits.name());
        if !names.is_empty() && !is_named {
            continue;
        }
        if !is_named {
            app.out.remark(waits.shown(resolution).trim_end());
            let verb = if is_rejected { "reject" } else { "approve" };
            let question = format!("{verb} {}?", waits.name());
            if !app.interrupt.or(app.terminal.confirm(&question)).await? {
                continue;
            }
        }
        decided.push(waits);
    }
    let project = &app.config.project;
    if !decided.is_empty() {
        let store = app.config.approvals();
        let store =
            store.ok_or_else(|| Problem::new(Exit::Config, "there is no home directory"))?;
        let stored = store.update(project, |approvals| {
            for waits in &decided {
                match waits {
                    Waiting::Server(config) if is_rejected => approvals.reject(project, config),
                    Waiting::Server(config) => approvals.approve(project, config),
                    Waiting::Tool(candidate) => {
                        approvals.decide_tool(project, &candidate.entry.tool, !is_rejected);
                    }
                }
            }
        });
        stored.map_err(|error| Problem::chain(Exit::Config, &error))?;
    }
    let names: Vec<&str> = decided.iter().map(Waiting::name).collect();
    let key = if is_rejected { "rejected" } else { "approved" };
    if app.out.json {
        app.out.value(&json!({ key: names }))?;
    } else if names.is_empty() {
        app.out.line(format!("nothing {key}"))?;
    } else {
        app.out.line(format!("{key}: {}", names.join(", ")))?;
    }
    Ok(Exit::Done)
}
