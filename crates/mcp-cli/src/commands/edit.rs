//! `mcp remove`, `mcp enable`, `mcp disable`: servers that are there already.

use clap::{ArgMatches, Command};
use mcp_config::{ConfigFile, Scope, Verdict};
use serde_json::json;

use super::{add, server_arg, text};
use crate::{
    app::App,
    exit::{Done, Exit, Problem},
};

pub(super) fn remove_command() -> Command {
    Command::new("remove")
        .visible_alias("rm")
        .about("Remove a server")
        .after_help("Examples:\n  mcp remove files\n  mcp remove files -s user")
        .arg(server_arg().required(true))
        .arg(add::scope_arg())
}

pub(super) fn enable_command() -> Command {
    Command::new("enable")
        .about("Switch a server on")
        .after_help("Examples:\n  mcp enable files")
        .arg(server_arg().required(true))
        .arg(add::scope_arg())
}

pub(super) fn disable_command() -> Command {
    Command::new("disable")
        .about("Switch a server off, and keep its configuration")
        .after_help("Examples:\n  mcp disable files")
        .arg(server_arg().required(true))
        .arg(add::scope_arg())
}

pub(super) fn remove(app: &App, matches: &ArgMatches) -> Done {
    let (file, scope) = home(app, matches)?;
    let name = text(matches, "server");
    file.remove(name)?;
    say(app, name, scope, &file, "removed", "from")
}

pub(super) fn enable(app: &App, matches: &ArgMatches, on: bool) -> Done {
    let (file, scope) = home(app, matches)?;
    let name = text(matches, "server");
    let was_approved = scope == Scope::Project
        && app.config.resolution.candidates.iter().any(|candidate| {
            candidate.scope == scope
                && candidate.entry.config.name.as_str() == name
                && !matches!(candidate.verdict, Verdict::Unapproved { .. })
        });
    file.enable(name, on)?;
    if was_approved && let Some(entry) = file.read().get(name) {
        // An approval is of an entry as it stands, and the user has just written this one.
        add::approve(app, &entry.config);
    }
    say(app, name, scope, &file, if on { "enabled" } else { "disabled" }, "in")
}

/// The file a server stands in. One that stands in several has to be told apart.
fn home(app: &App, matches: &ArgMatches) -> Result<(ConfigFile, Scope), Problem> {
    let name = text(matches, "server");
    let mut scopes: Vec<Scope> = app
        .config
        .resolution
        .candidates
        .iter()
        .filter(|candidate| candidate.entry.config.name.as_str() == name)
        .map(|candidate| candidate.scope)
        .collect();
    scopes.dedup();
    let scope = match (add::scope(matches), scopes.as_slice()) {
        (Some(scope), _) => scope,
        (None, [only]) => *only,
        (None, []) => return Err(app.config.missing(name)),
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|scope| scope.as_str()).collect();
            let message = format!("{name} is in several scopes: {}", names.join(", "));
            return Err(Problem::new(Exit::Usage, message).hint("say which with -s"));
        }
    };
    app.config.target(Some(scope))
}

fn say(app: &App, name: &str, scope: Scope, file: &ConfigFile, what: &str, where_: &str) -> Done {
    if app.out.json {
        app.out.value(
            &json!({"name": name, "scope": scope.as_str(), "file": file.path, "done": what}),
        )?;
    } else {
        app.out.line(format!("{what} {name} {where_} {}", add::place(scope, file)))?;
    }
    Ok(Exit::Done)
}
