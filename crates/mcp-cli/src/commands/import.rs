//! `mcp import`: import servers from the configuration of other tools.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches, Command, value_parser};
use mcp_config::{
    ConfigFile, Dialect, Document, Scope, ServerConfig,
    diagnostic::Severity,
    files::{FileSource, ImportOutcome, ImportPlan, Importable, KnownFile, Platform, Source},
    known_files,
    resolve::Layer,
};
use mcp_server::http::AccessToken;
use serde_json::{Value, json};

use super::{add, flag, serve::token::GatewayToken, text};
use crate::{
    exit::{Done, Exit, Problem, chain},
    host::{app::App, config::Config, own_gateway, places},
};

/// Names of tools on the command line, and the dialects of their files.
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
    ("copilot", Dialect::CopilotCli),
    ("cline", Dialect::Cline),
    ("roo", Dialect::Roo),
    ("kiro", Dialect::Kiro),
    ("amp", Dialect::Amp),
    ("qwen", Dialect::Qwen),
    ("lmstudio", Dialect::LmStudio),
    ("junie", Dialect::Junie),
];

pub(super) fn command() -> Command {
    Command::new("import")
        .about("Import servers from the configuration of other tools")
        .long_about(
            "Import servers from the configuration of other tools. Shows the servers it finds; `--yes` imports them.\n\n\
             Servers in this project's files for other tools come from a repository: they are skipped, and \
             `--project` shows each entry in full and imports them into the local scope.",
        )
        .after_help(
            "Examples:\n  mcp import\n  mcp import --from cursor --yes\n  mcp import -s user --yes\n  \
             mcp import --project\n  mcp import servers.json --yes\n  mcp import --from claude --move",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with_all(["from", "project"])
                .help("Import only from this file, in any supported format"),
        )
        .arg(flag("move", "Remove the imported servers from the other tool's file"))
        .arg(flag("project", "Import only the servers of this project"))
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("TOOL")
                .value_parser(TOOLS.iter().map(|(name, _)| *name).collect::<Vec<_>>())
                .help("Import only from this tool"),
        )
        .arg(add::scope_arg().help("Scope to import into [default: user; local for servers of this project]"))
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
    let found: Vec<Layer> = match matches.get_one::<PathBuf>("file") {
        Some(path) => vec![named(app, path, scope_of(path, config, &known))?],
        None => known
            .iter()
            .filter(is_wanted)
            .filter_map(|file| {
                let document = file.source(&config.project).document()?;
                Some(Layer::new(file.scope, without_us(document, app)))
            })
            .collect(),
    };
    let (mut new, mut servers, mut is_done) = (0, Vec::new(), false);
    let is_project = matches.get_flag("project");
    if is_project && asked.is_some_and(|scope| scope != Scope::Local) {
        return Err(Problem::usage(
            "servers of a project can only be imported into the local scope",
        )
        .hint("remove -s; another scope would start them in every folder, or for everybody"));
    }
    // The user's own servers go to the user scope by default. Servers of a repository are asked about separately and
    // stay local to it, also if its file is named on the command line.
    let has_file = matches.contains_id("file");
    let is_of_repository = has_file && found.iter().any(|layer| layer.scope == Scope::Project);
    let groups: &[(Scope, Scope)] = if is_project || is_of_repository {
        &[(Scope::Project, Scope::Local)]
    } else {
        &[(Scope::User, Scope::User), (Scope::Local, Scope::Local)]
    };
    for &(from, to) in groups {
        let (file, scope) = config.target(asked.or((!config.is_named()).then_some(to)))?;
        let plan = ImportPlan::new(&config.layers, &found, from, scope, Dialect::McpJson);
        if plan.servers.is_empty() {
            continue;
        }
        let coming = plan.servers.iter().filter(|s| s.outcome == ImportOutcome::New).count();
        new += coming;
        if app.out.json {
            servers.extend(plan.servers.iter().map(described));
        } else {
            app.out.line(plan.to_string().trim_end())?;
            app.out.flush()?;
            for name in trusted(&plan) {
                app.out.remark(format!("note: {name} is trusted there, and will be trusted here"));
            }
        }
        // Servers that are configured here already can still be removed there.
        let is_moved = matches.get_flag("move");
        let is_double = |s: &&Importable| matches!(s.outcome, ImportOutcome::AlreadyThere(_));
        let double = plan.servers.iter().filter(is_double).count();
        let question = match (coming, is_moved && double > 0) {
            (0, false) => continue,
            (0, true) => format!("remove {} from the other tool's file?", counted(double)),
            _ => format!("add {} to the {scope} scope?", counted(coming)),
        };
        if !app.interrupt.or(app.terminal.confirm(&question)).await? {
            continue;
        }
        is_done = true;
        if coming > 0 {
            config.places.secure(&file.path);
            plan.apply(&file)?;
        }
        if is_moved {
            remove_originals(app, &plan);
        }
        if coming > 0 && !app.out.json {
            app.out.line(format!("{} added to {}", counted(coming), file.path.display()))?;
        }
    }
    let of_project = if is_project || is_of_repository { 0 } else { count(&found, Scope::Project) };
    if of_project > 0 {
        app.out.remark(format!(
            "{} of this project skipped: `mcp import --project` shows them",
            counted(of_project)
        ));
    }
    if app.out.json {
        app.out.value(&json!({"servers": servers, "new": new, "imported": is_done,
            "ofProject": of_project}))?;
    } else if new == 0 && !is_done {
        app.out.remark("no new servers found");
    } else if !is_done {
        app.out.remark("nothing was changed; `--yes` adds them");
    }
    Ok(Exit::Done)
}

/// Returns whether a file named on the command line is the user's own, or part of the project or another repository.
/// Only the user's own entries may be trusted, and are shown without their secrets.
fn scope_of(path: &Path, config: &Config, known: &[KnownFile]) -> Scope {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_path = |other: &Path| fs::canonicalize(other).is_ok_and(|other| other == path);
    if known.iter().any(|file| file.scope == Scope::User && is_path(&file.path)) {
        return Scope::User;
    }
    let project = fs::canonicalize(&config.project).unwrap_or_else(|_| config.project.clone());
    if path.starts_with(project) || places::is_in_repository(&path) {
        Scope::Project
    } else {
        Scope::User
    }
}

/// Reads the servers of a file named on the command line.
fn named(app: &App, path: &Path, scope: Scope) -> Result<Layer, Problem> {
    let document = FileSource::new(scope, path).document();
    let Some(document) = document else {
        let message = format!("file not found: {}", path.display());
        return Err(Problem::new(Exit::NotFound, message));
    };
    if let Some(error) = document.diagnostics.iter().find(|d| d.severity == Severity::Error)
        && document.entries.is_empty()
    {
        return Err(Problem::new(Exit::Config, error.to_string()));
    }
    Ok(Layer::new(scope, without_us(document, app)))
}

/// Plans to remove the servers of another tool's document that are also configured here. Nothing is added.
pub(super) fn doubles(app: &App, theirs: Document) -> ImportPlan {
    let layer = Layer::new(Scope::User, without_us(theirs, app));
    let mut plan =
        ImportPlan::new(&app.config.layers, &[layer], Scope::User, Scope::User, Dialect::McpJson);
    plan.servers.retain(|server| matches!(server.outcome, ImportOutcome::AlreadyThere(_)));
    plan
}

/// Returns the names that the servers of such a plan have in the other tool's file.
pub(super) fn names_of_doubles(plan: &ImportPlan) -> Vec<&str> {
    plan.servers.iter().map(|server| server.entry.config.name.as_str()).collect()
}

/// Removes imported servers from their original files. A failure is only reported.
pub(super) fn remove_originals(app: &App, plan: &ImportPlan) {
    let is_here = |server: &&Importable| {
        matches!(server.outcome, ImportOutcome::New | ImportOutcome::AlreadyThere(_))
    };
    for server in plan.servers.iter().filter(is_here) {
        let (name, place) = (server.entry.config.name.as_str(), &server.entry.place);
        let mut file = ConfigFile::new(Path::new(&*place.file));
        file.dialect = Some(server.entry.dialect);
        match file.remove(name) {
            Ok(()) => app.out.remark(format!("removed {name} from {}", place.file)),
            Err(error) => {
                app.out.remark(format!("{name} stays in {}: {}", place.file, chain(&error)));
            }
        }
    }
}

/// Counts the servers in files of this scope.
fn count(found: &[Layer], scope: Scope) -> usize {
    let layers = found.iter().filter(|layer| layer.scope == scope);
    layers.map(|layer| layer.document.entries.len()).sum()
}

/// Returns the new servers that are marked as trusted.
fn trusted(plan: &ImportPlan) -> impl Iterator<Item = &str> {
    let new = plan.servers.iter().filter(|server| server.outcome == ImportOutcome::New);
    new.filter(|server| server.entry.config.trust).map(|s| s.entry.config.name.as_str())
}

fn counted(servers: usize) -> String {
    if servers == 1 { "1 server".to_owned() } else { format!("{servers} servers") }
}

fn described(server: &Importable) -> Value {
    json!({"name": server.entry.config.name.as_str(), "from": server.entry.dialect.title(),
        "file": server.entry.place.to_string(), "outcome": word(&server.outcome)})
}

/// Removes this gateway from the servers, because it would start itself.
fn without_us(mut document: Document, app: &App) -> Document {
    let token = GatewayToken::known(app);
    let has_token = |config: &ServerConfig| {
        token.as_ref().is_some_and(|token| sends_token(config, token))
            || own_gateway::is_address(config, &app.config.places)
    };
    document
        .entries
        .retain(|entry| !own_gateway::is_program(&entry.config) && !has_token(&entry.config));
    document
}

/// Whether an entry sends the token of this user's gateways, and is therefore one of them.
fn sends_token(config: &ServerConfig, token: &AccessToken) -> bool {
    let header = config.transport.remote().and_then(|remote| remote.headers.get("Authorization"));
    header.is_some_and(|header| header.expose().strip_prefix("Bearer ") == Some(token.expose()))
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
