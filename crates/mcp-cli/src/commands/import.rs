//! `mcp import`: the servers other tools already have.

use clap::{Arg, ArgMatches, Command};
use mcp_config::{
    Dialect, Document, ImportOutcome, ImportPlan, KnownFile, Platform, Scope, ServerConfig, Source,
    Transport, known_files,
};
use serde_json::{Value, json};

use super::{add, text};
use crate::{
    app::App,
    exit::{Done, Exit},
};

/// Tools by the names people call them, and the dialects of their files.
pub(super) const TOOLS: &[(&str, Dialect)] = &[
    ("claude", Dialect::ClaudeCode),
    ("claude-desktop", Dialect::ClaudeDesktop),
    ("cursor", Dialect::Cursor),
    ("vscode", Dialect::VsCode),
    ("windsurf", Dialect::Windsurf),
    ("zed", Dialect::Zed),
    ("codex", Dialect::Codex),
    ("opencode", Dialect::OpenCode),
    ("gemini", Dialect::Gemini),
    ("goose", Dialect::Goose),
];

pub(super) fn command() -> Command {
    Command::new("import")
        .about("Bring over the servers other tools already have")
        .long_about("Bring over the servers other tools already have. Shows what would come; `--yes` does it.")
        .after_help("Examples:\n  mcp import\n  mcp import --from cursor --yes\n  mcp import -s user --yes")
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("TOOL")
                .value_parser(TOOLS.iter().map(|(name, _)| *name).collect::<Vec<_>>())
                .help("Only what this tool has"),
        )
        .arg(add::scope_arg().help("Where to put them [default: user]"))
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let wanted = TOOLS.iter().find(|(name, _)| *name == text(matches, "from"));
    let config = &app.config;
    // The user's own, unless they say otherwise; a file that was named needs no scope.
    let asked = add::scope(matches);
    let (file, scope) =
        config.target(if config.is_named() { asked } else { asked.or(Some(Scope::User)) })?;
    let known = known_files(Platform::current(), &config.environment, &config.project);
    let is_wanted = |file: &&KnownFile| {
        file.scope != Scope::Enterprise
            && !config.files().contains(&file.path)
            && wanted.is_none_or(|(_, dialect)| *dialect == file.dialect)
    };
    let documents: Vec<Document> = known
        .iter()
        .filter(is_wanted)
        .filter_map(|file| file.source(&config.project).document())
        .map(without_us)
        .collect();
    let plan = ImportPlan::new(&config.layers, &documents, scope, Dialect::McpJson);
    let new = plan.servers.iter().filter(|s| s.outcome == ImportOutcome::New).count();
    if !app.out.json {
        app.out.line(plan.to_string().trim_end())?;
        app.out.flush()?;
    }
    let question = format!("add {new} servers to the {scope} scope?");
    let is_done = new > 0 && app.interrupt.or(app.terminal.confirm(&question)).await?;
    if is_done {
        if let Some(folder) = file.path.parent() {
            // If it cannot be made, writing the file says why.
            let _ = std::fs::create_dir_all(folder);
        }
        plan.apply(&file)?;
    }
    if app.out.json {
        let servers: Vec<Value> = plan
            .servers
            .iter()
            .map(|server| {
                json!({"name": server.entry.config.name.as_str(), "from": server.entry.dialect.title(),
                    "file": server.entry.place.to_string(), "outcome": word(&server.outcome)})
            })
            .collect();
        app.out.value(&json!({"servers": servers, "new": new, "imported": is_done}))?;
    } else if is_done {
        app.out.line(format!("{new} servers added to {}", file.path.display()))?;
    } else if new == 0 {
        app.out.remark("there is nothing new");
    } else {
        app.out.remark("nothing was changed; `--yes` adds them");
    }
    Ok(Exit::Done)
}

/// Without our own gateway, which would then start itself.
fn without_us(mut document: Document) -> Document {
    document.entries.retain(|entry| !is_gateway(&entry.config));
    document
}

/// Whether an entry starts this program as a gateway.
pub(super) fn is_gateway(config: &ServerConfig) -> bool {
    let Transport::Stdio(program) = &config.transport else { return false };
    let command = std::path::Path::new(program.command.unexpanded());
    command.file_stem().is_some_and(|name| name == "mcp")
        && program.args.first().is_some_and(|first| first.unexpanded() == "serve")
}

fn word(outcome: &ImportOutcome) -> &'static str {
    match outcome {
        ImportOutcome::New => "new",
        ImportOutcome::AlreadyThere(_) => "already-there",
        ImportOutcome::NameTaken(_) => "name-taken",
        ImportOutcome::Refused(_) => "refused",
        _ => "inexpressible",
    }
}
