//! `mcp connect` and `mcp disconnect`: connect to a server now, or forget its remembered state.

use std::{fs, path::Path};

use clap::{ArgMatches, Command};
use mcp_config::expand;
use mcp_search::catalogue::{Catalogue, Loaded};
use serde_json::json;

use super::{server_arg, text};
use crate::{
    exit::{Done, Exit, Problem},
    host::{app::App, tools},
    terminal::server_state,
};

pub(super) fn connect_command() -> Command {
    Command::new("connect")
        .about("Connect to a server now, ignoring remembered failures, and show its state")
        .long_about(
            "Connect to a server now, ignoring remembered failures, and show its state.\n\n\
             A remembered need of a login is ignored too. The connection ends with this command, unless \
             the background host (`mcp up`) keeps it; a running gateway has its own connections.",
        )
        .after_help("Examples:\n  mcp connect github\n  mcp connect github --json")
        .arg(server_arg().required(true))
}

pub(super) fn disconnect_command() -> Command {
    Command::new("disconnect")
        .about("Stop a server of the background host, and forget its remembered tools and login state")
        .long_about(
            "Stop a server of the background host, and forget its remembered tools and that it needs a \
             login.\n\nThe next command connects to the server again. Logins stay: see `mcp logout`. A running gateway keeps its connections; \
             `mcp disable` removes the server from it.",
        )
        .after_help("Examples:\n  mcp disconnect github")
        .arg(server_arg().required(true))
}

pub(super) async fn connect(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    forget_refusal(app, name).await?;
    let bridge = app.bridge();
    app.settle(&bridge, &[name.to_owned()]).await?;
    let status = bridge.status().into_iter().find(|status| *status.name == *name);
    let state = status.as_ref().map_or("unknown", |status| server_state::word(status).0);
    let problem = tools::unreachable(app, &bridge, name);
    let known: Vec<String> = tools::all(&bridge)
        .iter()
        .filter(|tool| tool.spec().server() == Some(name))
        .map(|tool| tools::own_name(tool.spec()).to_owned())
        .collect();
    if app.out.json {
        let said = problem.as_ref().map(|problem| problem.message.clone());
        let exit = problem.map_or(Exit::Done, |problem| problem.exit);
        app.out.value(&json!({"name": name, "state": state, "tools": known, "problem": said}))?;
        return Ok(exit);
    }
    if let Some(problem) = problem {
        return Err(problem);
    }
    app.out.line(format!("{name} is {state}: {} tools", known.len()))?;
    Ok(Exit::Done)
}

pub(super) async fn disconnect(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    forget_refusal(app, name).await?;
    forget_tools(app, name);
    let ended = end(app, name).await;
    if app.out.json {
        app.out.value(&json!({"name": name, "forgotten": true, "ended": ended}))?;
    } else {
        let first = if ended { format!("stopped {name}; ") } else { String::new() };
        app.out.line(format!(
            "{first}forgot the remembered tools of {name}; the next command connects to it again"
        ))?;
    }
    Ok(Exit::Done)
}

/// Stops a server of the background host. Returns whether it was running.
#[cfg(unix)]
async fn end(app: &App, name: &str) -> bool {
    let Ok(place) = app.host_place() else { return false };
    let request = json!({"disconnect": name});
    let answer = crate::host::background::wire::ask(&place.socket(), &request).await;
    answer.is_ok_and(|answer| answer["ended"].as_u64().is_some_and(|count| count > 0))
}

#[cfg(not(unix))]
async fn end(_: &App, _: &str) -> bool {
    false
}

/// Deletes the remembered tools, prompts and resources of a server. A file that cannot be deleted is replaced at the
/// next connection.
fn forget_tools(app: &App, name: &str) {
    let folder = app.config.places.cache.as_ref().map(|cache| cache.join("catalogue"));
    let files = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let Some(folder) = folder else { return };
    let is_of = |path: &Path| match Catalogue::load(path) {
        Loaded::Found(catalogue) => catalogue.server() == name,
        _ => false,
    };
    for catalogue in files(&folder).map(|entry| entry.path()).filter(|path| is_of(path)) {
        let stem = catalogue.file_stem();
        for file in files(&folder).map(|entry| entry.path()) {
            if file.file_stem() == stem {
                let _ = fs::remove_file(file);
            }
        }
    }
}

/// Forgets that a server requires a login.
async fn forget_refusal(app: &App, name: &str) -> Result<(), Problem> {
    let config = &app.config.server(name)?.entry.config;
    // A configuration that cannot be expanded was never connected.
    if let Ok(expanded) = expand(config, &app.config.environment, &*app.secrets)
        && let Some(remote) = expanded.transport.remote()
    {
        let server = mcp_auth::store::signature(remote.url.expose());
        app.logins.vault().needs_auth().clear(&server).await;
    }
    Ok(())
}
