//! `mcp secret`: manages tokens in the secret store, which entries refer to as `${secret:NAME}`.

use std::io::{IsTerminal as _, Read as _};

use clap::{Arg, ArgMatches, Command};
use mcp_auth::{
    Secret,
    store::{Key, StoreError},
};
use serde_json::json;

use super::text;
use crate::{
    exit::{Done, Exit, Problem},
    host::app::App,
    terminal::input,
};

/// The longest accepted secret, in bytes. Longer input is a mistake, such as a whole file.
const MOST: u64 = 64 << 10;

pub(super) fn command() -> Command {
    let name = || Arg::new("name").value_name("NAME").required(true).value_parser(parse_name);
    let examples = "Examples:\n  mcp secret set github\n  pass show github | mcp secret set github\n  \
        mcp add docs https://example.com/mcp -H 'Authorization: Bearer ${secret:github}'";
    Command::new("secret")
        .about("Store tokens that entries refer to as ${secret:NAME}")
        .subcommand_required(true)
        .after_help(examples)
        .subcommand(
            Command::new("set")
                .about("Store a secret, typed at the terminal or read from stdin")
                .after_help(examples)
                .arg(name()),
        )
        .subcommand(
            Command::new("list")
                .about("List the names of secrets")
                .after_help("Examples:\n  mcp secret list"),
        )
        .subcommand(
            Command::new("remove")
                .about("Remove a secret")
                .after_help("Examples:\n  mcp secret remove github")
                .arg(name()),
        )
}

/// Parses a name that is valid in `${secret:NAME}`.
fn parse_name(text: &str) -> Result<String, String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !text.is_empty() && text.len() <= 64 && text.chars().all(is_fine) {
        Ok(text.to_owned())
    } else {
        Err("a name has 1 to 64 letters, digits, `-`, `_` and `.`".to_owned())
    }
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    match matches.subcommand() {
        Some(("set", matches)) => set(app, text(matches, "name")).await,
        Some(("remove", matches)) => remove(app, text(matches, "name")).await,
        _ => list(app).await,
    }
}

async fn set(app: &App, name: &str) -> Done {
    let typed = app.interrupt.or(read(name)).await??;
    let secret = typed.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        return Err(Problem::usage(format!("no secret was given for `{name}`")));
    }
    let key = Key::named(name);
    let kept = app.wait(app.logins.vault().store().set(&key, Secret::new(secret))).await?;
    kept.map_err(|error| failed(&error))?;
    if app.out.json {
        app.out.value(&json!({"name": name, "done": "set"}))?;
    } else {
        app.out.line(format!("stored; entries can use it as ${{secret:{name}}}"))?;
    }
    Ok(Exit::Done)
}

/// Reads a secret from the terminal without echo, or else all of stdin.
async fn read(name: &str) -> Result<String, Problem> {
    if std::io::stdin().is_terminal() {
        let typed = input::secret(format!("secret `{name}` (not shown): ")).await;
        return typed.ok_or_else(|| Problem::usage("no secret was given"));
    }
    let read = || {
        let mut text = String::new();
        std::io::stdin().take(MOST).read_to_string(&mut text).map(|_| text)
    };
    let text = tokio::task::spawn_blocking(read).await.map_err(std::io::Error::other);
    text.and_then(|text| text).map_err(|error| Problem::usage(format!("can't read stdin: {error}")))
}

async fn remove(app: &App, name: &str) -> Done {
    let key = Key::named(name);
    let gone = app.wait(app.logins.vault().store().delete(&key)).await?;
    if !gone.map_err(|error| failed(&error))? {
        return Err(Problem::new(Exit::NotFound, format!("no secret `{name}` is stored"))
            .hint("`mcp secret list` shows their names"));
    }
    if app.out.json {
        app.out.value(&json!({"name": name, "done": "removed"}))?;
    } else {
        app.out.line(format!("removed {name}"))?;
    }
    Ok(Exit::Done)
}

async fn list(app: &App) -> Done {
    let keys = app.wait(app.logins.vault().store().list()).await?;
    let keys = keys.map_err(|error| failed(&error))?;
    let names: Vec<&str> = keys.iter().filter_map(stored_name).collect();
    if app.out.json {
        app.out.value(&json!({ "secrets": names }))?;
    } else if names.is_empty() {
        app.out.remark("no secrets are stored: add one with `mcp secret set NAME`");
    } else {
        for name in names {
            app.out.line(name)?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the name of a secret stored by the user. Keys of logins have a server or an issuer instead.
fn stored_name(key: &Key) -> Option<&str> {
    (*key == Key::named(&*key.account)).then_some(&*key.account)
}

fn failed(error: &StoreError) -> Problem {
    Problem::chain(Exit::Failed, error)
        .hint("unlock the secret store, or set MCP_SECRET_STORE=file; `mcp doctor` checks it")
}
