//! `mcp trust`: sets whether the annotations of a server's tools are trusted.

use clap::{ArgMatches, Command};
use mcp_config::Scope;
use serde_json::json;

use super::{add, edit, flag, server_arg, text};
use crate::{
    exit::{Done, Exit, Problem},
    host::app::App,
};

pub(super) fn command() -> Command {
    Command::new("trust")
        .about("Trust a server: run its tools without asking unless they may destroy something")
        .after_help("Examples:\n  mcp trust files\n  mcp trust files --remove")
        .arg(server_arg().required(true))
        .arg(flag("remove", "Stop trusting it"))
        .arg(add::scope_arg())
}

pub(super) fn run(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let is_trusted = !matches.get_flag("remove");
    let (file, scope) = edit::home(app, matches)?;
    if scope == Scope::Project && is_trusted {
        let message = format!(
            "{name} is an entry of this project, and servers of a repository cannot be trusted"
        );
        return Err(Problem::new(Exit::Denied, message).hint(format!(
            "copy its entry to the local scope (`mcp add -s local {name} …`), or answer \"always\" for single tools"
        )));
    }
    let document = file.read();
    let Some(entry) = document.get(name) else { return Err(app.config.missing(name)) };
    let mut config = entry.config.clone();
    let is_changed = config.trust != is_trusted;
    if is_changed {
        config.trust = is_trusted;
        app.config.places.secure(&file.path);
        file.add(&config)?;
    }
    if app.out.json {
        app.out.value(&json!({"name": name, "trusted": is_trusted, "changed": is_changed,
            "scope": scope.as_str(), "file": file.path}))?;
    } else {
        let word = if is_trusted { "trusted" } else { "not trusted" };
        app.out.line(format!("{name} is {word}, in {}", add::place(scope, &file)))?;
    }
    Ok(Exit::Done)
}
