//! `mcp login`, `mcp logout`, `mcp auth status`.

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_auth::{Logout, OAuth};
use mcp_config::{NoInputs, ServerConfig, expand};
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
        .after_help("Examples:\n  mcp login docs\n  mcp login docs --no-browser")
        .arg(server_arg().required(true))
        .arg(
            Arg::new("no-browser")
                .long("no-browser")
                .action(ArgAction::SetTrue)
                .help("Show the page, and take the address it ends up at"),
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

/// The login to a server, if that is how it knows its users.
fn oauth(app: &App, config: &ServerConfig) -> Result<Option<OAuth>, Problem> {
    let expanded = expand(config, &app.config.environment, &NoInputs);
    let expanded = expanded.map_err(|error| Problem::new(Exit::Config, error.to_string()))?;
    Ok(app.logins.oauth(&expanded))
}

fn needed(app: &App, name: &str) -> Result<OAuth, Problem> {
    let config = &app.config.server(name)?.entry.config;
    oauth(app, config)?.ok_or_else(|| {
        let message = format!("{name} has no login");
        Problem::new(Exit::Usage, message).hint(match config.transport.remote() {
            Some(_) => "it is identified by the headers in its configuration",
            None => "it is a local program",
        })
    })
}

pub(super) async fn login(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let login = needed(app, name)?;
    let is_pasted = matches.get_flag("no-browser");
    if is_pasted && !app.terminal.can_ask() {
        return Err(Problem::new(Exit::Denied, "there is no terminal to paste the address in"));
    }
    let config = &app.config.server(name)?.entry.config;
    let done = if is_pasted {
        app.interrupt.or(login.login(&login::paste(app.out))).await?
    } else {
        app.interrupt.or(login.login(&login::browser(config, app.out))).await?
    };
    done.map_err(|error| Problem::new(Exit::NeedsLogin, chain(&error)))?;
    if app.out.json {
        app.out.value(&json!({"server": name, "loggedIn": true}))?;
    } else {
        app.out.line(format!("logged in to {name}"))?;
    }
    Ok(Exit::Done)
}

pub(super) async fn logout(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let ended = app.interrupt.or(needed(app, name)?.logout()).await?;
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
