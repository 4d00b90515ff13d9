//! `mcp remove`, `mcp enable`, `mcp disable`: change existing entries.

use clap::{ArgMatches, Command};
use mcp_config::{ConfigFile, Scope, resolve::Verdict};
use serde_json::json;

use super::{add, server_arg, text};
use crate::{
    exit::{Done, Exit, Problem},
    host::app::App,
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
        .about("Enable a server")
        .after_help("Examples:\n  mcp enable files")
        .arg(server_arg().required(true))
        .arg(add::scope_arg())
}

pub(super) fn disable_command() -> Command {
    Command::new("disable")
        .about("Disable a server, and keep its configuration")
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
        // An approval covers the exact entry, and the user has just changed this one.
        add::approve(app, &entry.config);
    }
    say(app, name, scope, &file, if on { "enabled" } else { "disabled" }, "in")?;
    if scope == Scope::Project {
        let alone = if on { "mcp approve" } else { "mcp approve --reject" };
        app.out.remark(format!(
            "note: this file belongs to the repository, and the change affects everybody who uses it; \
             `{alone} {name}` decides only for you"
        ));
    }
    Ok(Exit::Done)
}

/// Returns the file and scope of a server's entry, or an error if several scopes have one.
pub(super) fn home(app: &App, matches: &ArgMatches) -> Result<(ConfigFile, Scope), Problem> {
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
            return Err(Problem::usage(message).hint("choose one with -s"));
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
