//! `mcp install`: adds the gateway to another tool's configuration.

mod address;
mod advice;

use std::{env, net::SocketAddr, path::PathBuf, sync::Arc};

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_bridge::connect::DefaultConnector;
use mcp_config::{
    ConfigFile, Dialect, ReadOptions, Remote, Scope, SecretText, ServerConfig, Stdio, Template,
    Transport,
    edit::{Edit, edit_text},
    files::{Platform, file_to_change},
    known_files,
};
use serde_json::json;

use self::advice::Advice;
use super::{
    flag,
    import::TOOLS,
    serve::{self, token::GatewayToken},
    text, texts,
};
use crate::{
    exit::{Done, Exit, Problem, chain},
    host::{app::App, own_gateway, tools},
    terminal::out::brief,
};

pub(super) fn command() -> Command {
    Command::new("install")
        .about("Add this gateway to another tool's configuration")
        .long_about(
            "Add this gateway to another tool's configuration: as a program that it starts, or with `--http` as a \
             gateway that is already running (`mcp serve --http ADDRESS`), with its token. Shows what would be written and \
             what that tool would lack; `--yes` writes it, and fixes the latter where that needs no trust.",
        )
        .after_help(
            "Examples:\n  mcp install --client cursor\n  mcp install --client claude --mode search --yes\n  \
             mcp install --client gemini --allow-tool 'mcp:files:read_*'\n  mcp install --client claude -s project\n  \
             mcp install --client vscode --http 8000\n  mcp install --client cursor --print",
        )
        .arg(
            Arg::new("client")
                .long("client")
                .value_name("TOOL")
                .required(true)
                .value_parser(TOOLS.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
        )
        .arg(
            Arg::new("mode")
                .long("mode")
                .value_parser(["auto", "all", "search"])
                .default_value("auto")
                .help("As in `mcp serve`"),
        )
        .arg(
            flag("trust-host", "As in `mcp serve`: let that tool ask its user"),
        )
        .arg(
            Arg::new("http")
                .long("http")
                .value_name("ADDRESS")
                .value_parser(serve::address)
                .conflicts_with_all(["mode", "trust-host", "names", "allow-tool", "deny-tool"])
                .help("Address of a running gateway: writes an entry with its URL and token"),
        )
        .arg(
            Arg::new("url")
                .long("url")
                .value_name("URL")
                .conflicts_with_all(["http", "mode", "trust-host", "names", "allow-tool", "deny-tool"])
                .help("URL of a running gateway, such as one behind a proxy"),
        )
        .arg(flag(
            "send-token",
            "Write the token of this user's gateways into the entry although its address is another machine",
        ))
        .arg(
            Arg::new("names")
                .long("names")
                .value_parser(["full", "server", "own"])
                .default_value("server")
                .help("As in `mcp serve`; full puts `mcp__` before names to which most tools add it themselves"),
        )
        .args(["allow-tool", "deny-tool"].map(|name| {
            Arg::new(name)
                .long(name)
                .value_name("GLOB")
                .action(ArgAction::Append)
                .help("As in `mcp serve`")
        }))
        .arg(
            Arg::new("scope")
                .short('s')
                .long("scope")
                .value_parser(["user", "project"])
                .default_value("user")
                .help("Which file of that tool to change: the user's or the project's"),
        )
        .arg(flag("print", "Print the resulting file, and write nothing").conflicts_with("remove"))
        .arg(Arg::new("name").long("name").default_value("gateway").help("Name of the entry"))
        .arg(
            flag("remove", "Remove the entry"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let client = text(matches, "client");
    let name = text(matches, "name");
    let scope = if text(matches, "scope") == "project" { Scope::Project } else { Scope::User };
    let file = file(app, client, scope)?;
    let is_removed = matches.get_flag("remove");
    let edit = if is_removed {
        Edit::Remove(name.to_owned())
    } else {
        Edit::Put(Box::new(entry(app, matches)?))
    };
    let before = match std::fs::read_to_string(&file.path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            let message = format!("could not read {}: {error}", file.path.display());
            return Err(Problem::new(Exit::Config, message));
        }
    };
    let label = file.path.to_string_lossy();
    let mut options = ReadOptions::new(&label);
    options.dialect = file.dialect;
    let after = edit_text(&before, &options, &edit)
        .map_err(|error| Problem::new(Exit::Config, chain(&error)))?;
    if matches.get_flag("print") {
        let entry = alone(&options, &edit)?;
        if app.out.json {
            app.out.value(&json!({"client": client, "file": file.path, "entry": entry}))?;
        } else {
            app.out.line(entry.trim_end())?;
        }
        return Ok(Exit::Done);
    }
    if let (Edit::Put(entry), Scope::Project) = (&edit, scope)
        && entry.transport.remote().is_some_and(|remote| !remote.headers.is_empty())
    {
        app.out.instruct(format!(
            "warning: {} is a file of this project, and the entry contains the token of your gateways: keep it out of \
             version control",
            file.path.display()
        ));
    }
    let advice = (!is_removed).then(|| Advice::new(app, matches, client, scope, &before, &options));
    if let Some(advice) = &advice {
        advice.report(app);
    }
    let (gone, come) = changes(&before, &after);
    let (gone, come) = (without_token(gone), without_token(come));
    if !app.out.json {
        app.out.line(format!("{}:", file.path.display()))?;
        let gone = gone.lines().map(|line| format!("- {line}"));
        for line in gone.chain(come.lines().map(|line| format!("+ {line}"))) {
            app.out.line(line)?;
        }
        app.out.flush()?;
    }
    let is_changed = before != after;
    let question = format!("write this to {}?", file.path.display());
    let is_done = is_changed && app.interrupt.or(app.terminal.confirm(&question)).await?;
    let mut seen = None;
    if is_done {
        file.apply(std::slice::from_ref(&edit))?;
        if let Some(advice) = &advice {
            advice.offer(app).await?;
        }
        if let Edit::Put(entry) = &edit {
            seen = Some(test_entry(app, entry, scope).await?);
        }
    }
    if app.out.json {
        let tools = seen.as_ref().and_then(|seen| seen.as_ref().ok());
        app.out.value(&json!({"client": client, "file": file.path, "changed": is_changed,
            "written": is_done, "removed": gone, "added": come, "tools": tools}))?;
    } else if is_done {
        match &seen {
            None => app.out.line(format!("removed: restart {client} to apply the change"))?,
            Some(Ok(count)) => app.out.line(format!(
                "done: restart {client} to use it; the entry was tested and offers {count} tools"
            ))?,
            Some(Err(why)) => {
                app.out.line(format!(
                    "written, but a test of the entry failed: {}",
                    brief(why, 300)
                ))?;
            }
        }
    } else if !is_changed {
        app.out.line("nothing to change")?;
    } else {
        app.out.remark("nothing was written; `--yes` writes it");
    }
    Ok(Exit::Done)
}

/// Formats the entry as a file without other entries.
fn alone(options: &ReadOptions<'_>, edit: &Edit) -> Result<String, Problem> {
    let text = edit_text("", options, edit);
    text.map(|text| without_token(&text)).map_err(|error| Problem::new(Exit::Config, chain(&error)))
}

/// Starts the entry as it was written, and counts its tools. The other tool starts the entry of a user's file anywhere,
/// so the servers of the current folder do not count.
async fn test_entry(
    app: &App,
    entry: &ServerConfig,
    scope: Scope,
) -> Result<Result<usize, String>, Problem> {
    let mut options = app.options();
    let folder = match scope {
        Scope::Project => app.config.project.clone(),
        _ => app.config.project.ancestors().last().map_or_else(env::temp_dir, PathBuf::from),
    };
    let connector = DefaultConnector::new().adjust_stdio(move |_, options| {
        options.cwd.get_or_insert_with(|| folder.clone());
    });
    options.connector = Arc::new(connector);
    options.catalogue = None;
    let bridge = app.bridge_of(options, vec![entry.clone()]);
    let name = entry.name.to_string();
    app.settle(&bridge, std::slice::from_ref(&name)).await?;
    Ok(match tools::unreachable(app, &bridge, &name) {
        Some(problem) => Err(problem.message),
        None => Ok(tools::all(&bridge).len()),
    })
}

/// Returns the configuration file of a tool in this scope.
fn file(app: &App, client: &str, scope: Scope) -> Result<ConfigFile, Problem> {
    let dialect = TOOLS.iter().find(|(name, _)| *name == client).map(|(_, dialect)| *dialect);
    let dialect = match (dialect, scope) {
        // The servers of a project are in a file of another format than those of the user.
        (Some(Dialect::ClaudeCode), Scope::Project) => Some(Dialect::McpJson),
        (dialect, _) => dialect,
    };
    let known = known_files(Platform::current(), &app.config.environment, &app.config.project);
    let known = dialect.and_then(|dialect| file_to_change(&known, dialect, scope));
    let Some(known) = known else {
        return Err(Problem::new(
            Exit::Config,
            format!("the location of the {scope} file of {client} is unknown"),
        )
        .hint(format!(
            "`mcp install --client {client} --print` shows the entry for the user's file"
        )));
    };
    Ok(known.config_file(&app.config.project))
}

fn entry(app: &App, matches: &ArgMatches) -> Result<ServerConfig, Problem> {
    let name = text(matches, "name")
        .parse()
        .map_err(|error: mcp_config::model::NameError| Problem::usage(error.to_string()))?;
    let url = matches.get_one::<SocketAddr>("http").map(|address| format!("http://{address}/mcp"));
    let transport = match url.or_else(|| matches.get_one::<String>("url").cloned()) {
        Some(url) => Transport::Http(running(app, matches, url)?),
        None => Transport::Stdio(program(matches)),
    };
    Ok(ServerConfig::new(name, transport))
}

/// Builds the entry of a gateway that the other tool starts as a program.
fn program(matches: &ArgMatches) -> Stdio {
    // Use the full path, because the other tool may have another PATH.
    let program = env::current_exe().unwrap_or_else(|_| PathBuf::from("mcp"));
    let mut stdio = Stdio::new(Template::literal(program.to_string_lossy()));
    stdio.args.push(Template::literal("serve"));
    let mode = text(matches, "mode");
    if mode != "auto" {
        stdio.args.extend(["--mode", mode].map(Template::literal));
    }
    stdio.args.extend(["--names", text(matches, "names")].map(Template::literal));
    for flag in ["allow-tool", "deny-tool"] {
        for glob in texts(matches, flag) {
            stdio.args.extend([format!("--{flag}"), glob].map(Template::literal));
        }
    }
    if matches.get_flag("trust-host") {
        stdio.args.push(Template::literal("--trust-host"));
    }
    stdio
}

/// Builds the entry of a running gateway at `url`. It has the token of this user's gateways if the address is one of
/// this machine: other hosts could use the token to call every tool.
fn running(app: &App, matches: &ArgMatches, url: String) -> Result<Remote, Problem> {
    let is_here = address::is_of_this_machine(&url);
    let is_encrypted = url.starts_with("https://");
    let has_token = is_here || matches.get_flag("send-token");
    if !has_token {
        app.out.instruct(
            "note: the entry has no token, because its address is not of this machine: add the token that this \
             gateway wants, or use --send-token if it is one of yours",
        );
    } else if !is_here && !is_encrypted {
        app.out.instruct(
            "warning: the token of this user's gateways will be sent over the network unencrypted; use https",
        );
    }
    if is_here {
        // So that it is not offered for import.
        own_gateway::remember(&app.config.places, &url);
    }
    let mut remote = Remote::new(Template::literal(url));
    if has_token {
        let token = GatewayToken::load_or_generate(app)?.token;
        let header = SecretText::literal(format!("{SCHEME}{}", token.expose()));
        remote.headers.insert("Authorization", header);
    }
    Ok(remote)
}

/// The authentication scheme before the token in an entry.
const SCHEME: &str = "Bearer ";

/// Redacts the token in the text of an entry before it is shown.
fn without_token(text: &str) -> String {
    let Some((before, rest)) = text.split_once(SCHEME) else { return text.to_owned() };
    let end = rest.find(|c: char| !c.is_ascii_graphic() || c == '"').unwrap_or(rest.len());
    format!("{before}{SCHEME}[the gateway's token]{}", &rest[end..])
}

/// Returns the removed and the added text. Unchanged parts are not shown: they may hold secrets of the other tool,
/// and some files consist of a single line.
fn changes<'a>(before: &'a str, after: &'a str) -> (&'a str, &'a str) {
    let same = |pair: &((usize, char), char)| pair.0.1 == pair.1;
    let head = before.char_indices().zip(after.chars()).take_while(same).last();
    let head = head.map_or(0, |((at, c), _)| at + c.len_utf8());
    let (old, new) = (&before[head..], &after[head..]);
    let tail = old.chars().rev().zip(new.chars().rev()).take_while(|(a, b)| a == b);
    let tail: usize = tail.map(|(c, _)| c.len_utf8()).sum();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    // The entries before and after gained or lost a comma.
    let bare = |text: &'a str| text.trim_matches(',').trim_matches(['\r', '\n']);
    (bare(old), bare(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_text_is_shown() {
        let before = r#"{"a":{"key":"hunter2"}}"#;
        let after = r#"{"a":{"key":"hunter2"},"b":{"command":"x"}}"#;
        assert_eq!(changes(before, after), ("", r#""b":{"command":"x"}"#));
        assert_eq!(changes(after, before), (r#""b":{"command":"x"}"#, ""));
        assert_eq!(changes("a\nb\n", "a\nx\ny\nb\n"), ("", "x\ny"));
        assert_eq!(changes("", "ä"), ("", "ä"));
        assert_eq!(changes("aä", "aä"), ("", ""));
    }

    #[test]
    fn token_is_not_shown() {
        let shown = without_token(r#""headers":{"Authorization":"Bearer 0123456789abcdef"}}"#);
        assert_eq!(shown, r#""headers":{"Authorization":"Bearer [the gateway's token]"}}"#);
        assert_eq!(without_token("Bearer x"), "Bearer [the gateway's token]");
        assert_eq!(without_token("none"), "none");
    }
}
