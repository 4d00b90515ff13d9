//! `mcp login`, `mcp logout`, `mcp auth status`.

use clap::{ArgMatches, Command};
use mcp_auth::{InteractError, LoginError, Logout, OAuth};
use mcp_config::{Expanded, ServerConfig};
use serde_json::{Value, json};

use super::{flag, server_arg, text};
use crate::{
    exit::{Done, Exit, Problem, chain},
    host::{app::App, login},
    terminal::{
        paint::Paint,
        table::{Table, plain},
    },
};

pub(super) fn login_command() -> Command {
    Command::new("login")
        .about("Log in to a server")
        .after_help(
            "Examples:\n  mcp login docs\n  mcp login docs --no-browser\n  mcp login docs --device",
        )
        .arg(server_arg().required(true))
        .arg(flag("no-browser", "Print the login URL, and ask for the URL it redirects to"))
        .arg(
            flag("device", "Show a code to enter on any device, if the server supports it")
                .conflicts_with("no-browser"),
        )
}

pub(super) fn logout_command() -> Command {
    Command::new("logout")
        .about("Log out of a server: revoke and delete its tokens")
        .after_help("Examples:\n  mcp logout docs")
        .arg(server_arg().required(true))
}

pub(super) fn auth_command() -> Command {
    Command::new("auth")
        .about("Show how you are authenticated to each server")
        .subcommand_required(true)
        .after_help("Examples:\n  mcp auth status\n  mcp auth status --json")
        .subcommand(
            Command::new("status").about("List logins").after_help("Examples:\n  mcp auth status"),
        )
}

/// Returns the OAuth login of a server, if it uses one.
fn oauth(app: &App, config: &ServerConfig) -> Result<Option<OAuth>, Problem> {
    let expanded = app.config.expanded(config, &*app.secrets)?;
    Ok(app.logins.oauth(&expanded))
}

/// Returns the OAuth login of a server and its expanded configuration, or an error if it does not use OAuth.
fn needed(app: &App, name: &str) -> Result<(OAuth, Expanded), Problem> {
    let config = app.config.expanded(&app.config.server(name)?.entry.config, &*app.secrets)?;
    if let Some(login) = app.logins.oauth(&config) {
        return Ok((login, config));
    }
    let hint = match config.transport.remote() {
        Some(_) => "it authenticates with the headers in its configuration",
        None => "it is a local program",
    };
    Err(Problem::usage(format!("{name} does not use a login")).hint(hint))
}

pub(super) async fn login(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let (login, config) = needed(app, name)?;
    let is_pasted = matches.get_flag("no-browser");
    if is_pasted && !app.terminal.can_ask() {
        let message = "pasting the redirect URL needs a terminal";
        let hint = format!("use a device code instead: mcp login {name} --device");
        return Err(Problem::new(Exit::Denied, message).hint(hint));
    }
    let done = if is_pasted {
        app.interrupt.or(login.login(&login::paste(&config, app.out))).await?
    } else if matches.get_flag("device") {
        app.interrupt.or(login.login_with_code(&login::paste(&config, app.out))).await?
    } else {
        app.interrupt.or(login.login(&login::browser(&config, app.out))).await?
    };
    done.map_err(|error| failed(name, matches.get_flag("device"), &error))?;
    if app.out.json {
        app.out.value(&json!({"server": name, "loggedIn": true}))?;
    } else {
        app.out.line(format!("logged in to {name}"))?;
    }
    Ok(Exit::Done)
}

/// Builds the error for a failed login, with the next method to try.
fn failed(name: &str, is_device: bool, error: &LoginError) -> Problem {
    let problem = Problem::new(error.into(), chain(error));
    let pasted = format!("mcp login {name} --no-browser");
    match error {
        LoginError::NotOffered(_) if is_device => problem.hint(pasted),
        LoginError::NoAuthorizationServer | LoginError::NoClientId | LoginError::Refused { .. } => {
            problem.hint(format!(
                "if {name} takes a plain token: `mcp secret set {name}`, then `mcp add --replace {name} URL -H \
                 'Authorization: Bearer ${{secret:{name}}}'`; `mcp connect {name}` shows whether it needs one"
            ))
        }
        LoginError::Interaction(error) if !is_device => match error {
            InteractError::Elsewhere => problem.hint(pasted),
            InteractError::Browser(_) | InteractError::Listen(_) => {
                problem.hint(format!("{pasted}, or --device"))
            }
            _ => problem,
        },
        _ => problem,
    }
}

pub(super) async fn logout(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let ended = app.interrupt.or(needed(app, name)?.0.logout()).await?;
    let ended = ended.map_err(|error| Problem::new(Exit::Failed, chain(&error)))?;
    let (word, said) = match ended {
        Logout::Revoked => ("revoked", "logged out; the server revoked the tokens"),
        Logout::NotLoggedIn => ("not-logged-in", "not logged in"),
        _ => ("forgotten", "logged out here; the server did not revoke the tokens"),
    };
    if app.out.json {
        app.out.value(&json!({"server": name, "outcome": word}))?;
    } else {
        app.out.line(said)?;
    }
    Ok(Exit::Done)
}

pub(super) async fn status(app: &App) -> Done {
    let mut rows = Vec::new();
    for candidate in app.config.resolution.servers() {
        let config = &candidate.entry.config;
        let Some(remote) = config.transport.remote() else { continue };
        let status = match oauth(app, config) {
            Err(problem) => ("unknown", problem.message),
            Ok(None) if remote.headers_helper.is_some() => {
                ("helper", "headers printed by a command".into())
            }
            Ok(None) if remote.headers.is_empty() => ("none", "sends no credentials".into()),
            Ok(None) => ("headers", "headers in its configuration".into()),
            Ok(Some(login)) if !login.takes_a_person() => {
                ("client", "OAuth client in its configuration".into())
            }
            Ok(Some(login)) => match app.interrupt.or(login.is_logged_in()).await? {
                Ok(true) => ("logged-in", String::new()),
                Ok(false) => ("logged-out", format!("mcp login {}", config.name)),
                Err(error) => ("unknown", chain(&error)),
            },
        };
        rows.push((config.name.to_string(), status));
    }
    if app.out.json {
        let servers: Vec<Value> = rows
            .iter()
            .map(|(name, (status, detail))| json!({"server": name, "status": status, "detail": detail}))
            .collect();
        app.out.value(&json!({ "servers": servers }))?;
    } else if rows.is_empty() {
        app.explain_empty("no remote servers are configured; local programs do not use logins");
    } else {
        let mut table = Table::new(&["SERVER", "STATUS", ""]);
        for (name, (status, detail)) in rows {
            let paint = if status == "logged-in" { Paint::Good } else { Paint::Plain };
            table.row([(name, Paint::Bold), (status.to_owned(), paint), plain(detail)]);
        }
        table.print(app.out)?;
    }
    Ok(Exit::Done)
}
