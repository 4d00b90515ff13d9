//! `mcp approve`: servers that came with a repository.

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_config::ServerConfig;
use serde_json::json;

use super::texts;
use crate::{
    app::App,
    exit::{Done, Exit, Problem},
};

pub(super) fn command() -> Command {
    Command::new("approve")
        .about("Let servers start that came with this project")
        .long_about(
            "Let servers start that came with this project.\n\n\
             An approval is for exactly what the entry says now: if it changes, you are asked again.",
        )
        .after_help("Examples:\n  mcp approve\n  mcp approve files\n  mcp approve files --reject")
        .arg(Arg::new("servers").value_name("SERVER").num_args(0..))
        .arg(
            Arg::new("reject")
                .long("reject")
                .action(ArgAction::SetTrue)
                .help("Never start them, as they are"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let names = texts(matches, "servers");
    let resolution = &app.config.resolution;
    let waiting: Vec<&ServerConfig> =
        resolution.unapproved().map(|candidate| &candidate.entry.config).collect();
    for name in &names {
        if !waiting.iter().any(|config| config.name.as_str() == name) {
            let message = format!("{name} does not wait for approval");
            return Err(Problem::new(Exit::NotFound, message)
                .hint(format!("`mcp explain {name}` says how it stands")));
        }
    }
    let is_rejected = matches.get_flag("reject");
    let mut decided = Vec::new();
    for config in waiting {
        let name = config.name.as_str();
        let is_named = names.iter().any(|wanted| wanted == name);
        if !names.is_empty() && !is_named {
            continue;
        }
        if !is_named {
            let what = resolution.explain(name).to_string();
            app.out.remark(what.trim_end());
            let verb = if is_rejected { "reject" } else { "approve" };
            if !app.interrupt.or(app.terminal.confirm(&format!("{verb} {name}?"))).await? {
                continue;
            }
        }
        decided.push(config.clone());
    }
    let project = &app.config.project;
    if !decided.is_empty() {
        let store = app.config.approvals();
        let store =
            store.ok_or_else(|| Problem::new(Exit::Config, "there is no home directory"))?;
        let stored = store.update(project, |approvals| {
            for config in &decided {
                if is_rejected {
                    approvals.reject(project, config);
                } else {
                    approvals.approve(project, config);
                }
            }
        });
        stored.map_err(|error| Problem::chain(Exit::Config, &error))?;
    }
    let names: Vec<&str> = decided.iter().map(|config| config.name.as_str()).collect();
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
