//! `mcp import`: the servers other tools already have.

use clap::{Arg, ArgMatches, Command};
use mcp_config::{
    Dialect, Document, ImportOutcome, ImportPlan, Importable, KnownFile, Platform, Scope,
    ServerConfig, Source, Transport, known_files,
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
        .arg(add::scope_arg().help("Where to put them [default: user; local for those of this project]"))
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let wanted = TOOLS.iter().find(|(name, _)| *name == text(matches, "from"));
    let config = &app.config;
    let asked = add::scope(matches);
    let known = known_files(Platform::current(), &config.environment, &config.project);
    let is_wanted = |file: &&KnownFile| {
        file.scope != Scope::Enterprise
            && !config.files().contains(&file.path)
            && wanted.is_none_or(|(_, dialect)| *dialect == file.dialect)
    };
    let found = |is_project: Option<bool>| -> Vec<Document> {
        let files = known.iter().filter(is_wanted);
        let files = files.filter(|f| is_project.is_none_or(|is| is == (f.scope == Scope::Project)));
        let documents = files.filter_map(|file| file.source(&config.project).document());
        documents.map(without_us).collect()
    };
    // The user's own go to the user, unless they say otherwise. What a repository brings stays with it: it
    // would run in every folder. A file that was named needs no scope.
    let groups = if config.is_named() || asked.is_some() {
        vec![(asked, found(None))]
    } else {
        vec![(Some(Scope::User), found(Some(false))), (Some(Scope::Local), found(Some(true)))]
    };
    let (mut new, mut servers, mut is_done) = (0, Vec::new(), false);
    for (scope, documents) in groups.into_iter().filter(|(_, documents)| !documents.is_empty()) {
        let (file, scope) = config.target(scope)?;
        let plan = ImportPlan::new(&config.layers, &documents, scope, Dialect::McpJson);
        let coming = plan.servers.iter().filter(|s| s.outcome == ImportOutcome::New).count();
        new += coming;
        if app.out.json {
            servers.extend(plan.servers.iter().map(described));
        } else {
            app.out.line(plan.to_string().trim_end())?;
            app.out.flush()?;
        }
        let question = format!("add {} to the {scope} scope?", counted(coming));
        if coming == 0 || !app.interrupt.or(app.terminal.confirm(&question)).await? {
            continue;
        }
        if let Some(folder) = file.path.parent() {
            // If it cannot be made, writing the file says why.
            let _ = std::fs::create_dir_all(folder);
        }
        plan.apply(&file)?;
        is_done = true;
        if !app.out.json {
            app.out.line(format!("{} added to {}", counted(coming), file.path.display()))?;
        }
    }
    if app.out.json {
        app.out.value(&json!({"servers": servers, "new": new, "imported": is_done}))?;
    } else if new == 0 {
        app.out.remark("there is nothing new");
    } else if !is_done {
        app.out.remark("nothing was changed; `--yes` adds them");
    }
    Ok(Exit::Done)
}

fn counted(servers: usize) -> String {
    if servers == 1 { "1 server".to_owned() } else { format!("{servers} servers") }
}

fn described(server: &Importable) -> Value {
    json!({"name": server.entry.config.name.as_str(), "from": server.entry.dialect.title(),
        "file": server.entry.place.to_string(), "outcome": word(&server.outcome)})
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
