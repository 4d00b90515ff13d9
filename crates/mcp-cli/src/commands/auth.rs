//! `mcp login`, `mcp logout`, `mcp auth status`.

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_auth::{InteractError, LoginError, Logout, OAuth};
use mcp_config::{Expanded, NoInputs, ServerConfig, expand};
use serde_json::{Value, json};

use super::{server_arg, text};
use crate::{
    app::App,
    exit::{Done, Exit, Problem, chain},
    login,
    out::Paint,
    table::{Table, plain},
};

pub(super) fn login_command() -> Command {
    Command::new("login")
        .about("Log in to a server")
        .after_help(
            "Examples:\n  mcp login docs\n  mcp login docs --no-browser\n  mcp login docs --device",
        )
        .arg(server_arg().required(true))
        .arg(
            Arg::new("no-browser")
                .long("no-browser")
                .action(ArgAction::SetTrue)
                .help("Show the page, and take the address it ends up at"),
        )
        .arg(
            Arg::new("device")
                .long("device")
                .action(ArgAction::SetTrue)
                .conflicts_with("no-browser")
                .help("Show a code to enter on any device, where the server offers that"),
        )
}

pub(super) fn logout_command() -> Command {
    Command::new("logout")
        .about("Log out of a server: its tokens are revoked and forgotten")
        .after_help("Examples:\n  mcp logout docs")
        .arg(server_arg().required(true))
}

pub(super) fn auth_command() -> Command {
    Command::new("auth")
        .about("Say who you are to which server")
        .subcommand_required(true)
        .after_help("Examples:\n  mcp auth status\n  mcp auth status --json")
        .subcommand(
            Command::new("status").about("List logins").after_help("Examples:\n  mcp auth status"),
        )
}

/// A configuration with its variables replaced.
fn expanded(app: &App, config: &ServerConfig) -> Result<Expanded, Problem> {
    let expanded = expand(config, &app.config.environment, &NoInputs);
    expanded.map_err(|error| Problem::new(Exit::Config, error.to_string()))
}

/// The login to a server, if that is how it knows its users.
fn oauth(app: &App, config: &ServerConfig) -> Result<Option<OAuth>, Problem> {
    let expanded = expanded(app, config)?;
    Ok(app.logins.oauth(&expanded))
}

/// The login to a server that must have one, and its configuration with variables replaced.
fn needed(app: &App, name: &str) -> Result<(OAuth, Expanded), Problem> {
    let config = expanded(app, &app.config.server(name)?.entry.config)?;
    if let Some(login) = app.logins.oauth(&config) {
        return Ok((login, config));
    }
    let hint = match config.transport.remote() {
        Some(_) => "it is identified by the headers in its configuration",
        None => "it is a local program",
    };
    Err(Problem::new(Exit::Usage, format!("{name} has no login")).hint(hint))
}

pub(super) async fn login(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let (login, config) = needed(app, name)?;
    let is_pasted = matches.get_flag("no-browser");
    if is_pasted && !app.terminal.can_ask() {
        let message = "there is no terminal to paste the address in";
        let hint = format!("a code takes none: mcp login {name} --device");
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

/// A login that failed, and another way to it if there is one.
fn failed(name: &str, is_device: bool, error: &LoginError) -> Problem {
    let exit = match error {
        LoginError::BadSetting { .. } => Exit::Config,
        _ => Exit::NeedsLogin,
    };
    let problem = Problem::new(exit, chain(error));
    let pasted = format!("mcp login {name} --no-browser");
    match error {
        LoginError::NotOffered(_) if is_device => problem.hint(pasted),
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
        Logout::NotLoggedIn => ("not-logged-in", "there was no login"),
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
                ("helper", "a command gives the headers".into())
            }
            Ok(None) if remote.headers.is_empty() => ("none", "sends nothing".into()),
            Ok(None) => ("headers", "by the headers in its configuration".into()),
            Ok(Some(login)) if !login.takes_a_person() => {
                ("client", "as the client in its configuration".into())
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
        if app.has_servers() {
            app.out.remark("no server here knows its users: all of them are local programs");
        }
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
