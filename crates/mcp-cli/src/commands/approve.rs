//! `mcp approve`: servers and custom tools that came with a repository.

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_bridge::ToolApprovals;
use mcp_config::{CustomCandidate, CustomVerdict, Resolution, ServerConfig, Verdict, glob_matches};
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
        .after_help(
            "Examples:\n  mcp approve\n  mcp approve files\n  mcp approve files --reject\n  \
             mcp approve --always\n  mcp approve --revoke 'mcp:files:*'",
        )
        .arg(Arg::new("names").value_name("NAME").num_args(0..))
        .arg(
            Arg::new("reject")
                .long("reject")
                .action(ArgAction::SetTrue)
                .help("Never use them, as they are"),
        )
        .arg(
            Arg::new("always")
                .long("always")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["names", "reject"])
                .help("List the tools you have approved for good"),
        )
        .arg(
            Arg::new("revoke")
                .long("revoke")
                .value_name("GLOB")
                .conflicts_with_all(["names", "reject", "always"])
                .help("Ask again about tools you have approved for good"),
        )
}

/// Tools that were approved for good: listed, and taken back.
fn tools_for_good(app: &App, glob: Option<&String>) -> Done {
    let path = app.config.places.state.as_ref().map(|state| state.join("tools.json"));
    let approvals = match path {
        Some(path) => ToolApprovals::load(path).map_err(|e| Problem::chain(Exit::Config, &e))?,
        None => ToolApprovals::new(),
    };
    let mut permissions = approvals.permissions();
    if let Some(glob) = glob {
        permissions.retain(|permission| glob_matches(glob, permission));
        for permission in &permissions {
            approvals.revoke(permission).map_err(|e| Problem::chain(Exit::Config, &e))?;
        }
    }
    let key = if glob.is_some() { "revoked" } else { "always" };
    if app.out.json {
        app.out.value(&json!({ key: permissions }))?;
    } else if permissions.is_empty() {
        app.out.remark("no such tools are approved for good");
    } else {
        for permission in &permissions {
            app.out.line(permission)?;
        }
    }
    let is_missing = glob.is_some() && permissions.is_empty();
    Ok(if is_missing { Exit::NotFound } else { Exit::Done })
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
    let glob = matches.get_one::<String>("revoke");
    if glob.is_some() || matches.get_flag("always") {
        return tools_for_good(app, glob);
    }
    let names = texts(matches, "names");
    let resolution = &app.config.resolution;
    // Who names what they turned down has thought better of it.
    let is_named = |name: &str| names.iter().any(|wanted| wanted == name);
    let servers = resolution.candidates.iter().filter(|c| match c.verdict {
        Verdict::Unapproved { .. } => true,
        Verdict::Rejected => is_named(c.entry.config.name.as_str()),
        _ => false,
    });
    let tools = resolution.custom_tools.iter().filter(|c| match c.verdict {
        CustomVerdict::Unapproved { .. } => true,
        CustomVerdict::Rejected => is_named(&c.entry.tool.name),
        _ => false,
    });
    let servers = servers.map(|c| Waiting::Server(&c.entry.config));
    let waiting: Vec<Waiting<'_>> = servers.chain(tools.map(Waiting::Tool)).collect();
    for name in &names {
        if !waiting.iter().any(|waits| waits.name() == name) {
            let message = format!("{name} does not wait for approval");
            return Err(Problem::new(Exit::NotFound, message)
                .hint(format!("`mcp explain {name}` says how it stands")));
        }
    }
    let is_rejected = matches.get_flag("reject");
    let mut decided = Vec::new();
    for (index, waits) in waiting.iter().enumerate() {
        let is_named = names.iter().any(|wanted| wanted == waits.name());
        if !names.is_empty() && !is_named {
            continue;
        }
        // A name that is a server's and a tool's says too little: each is shown.
        let is_twice = waiting
            .iter()
            .enumerate()
            .any(|(other, twin)| other != index && twin.name() == waits.name());
        if !is_named || is_twice {
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
    let names: Vec<&str> = decided.iter().map(|waits| waits.name()).collect();
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
