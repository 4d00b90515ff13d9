//! `mcp resources` and `mcp read`: what servers let us read.

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::Bridge;
use mcp_client::{CallError, RawJson, ResourceContents};
use serde_json::{Value, json};

use super::{server_arg, text};
use crate::{
    app::App,
    exit::{Done, Exit, Problem, chain},
    out::{Paint, brief, shown},
    table::{Table, plain},
    tools,
};

pub(super) fn list_command() -> Command {
    Command::new("resources")
        .about("List what the servers have to read")
        .after_help("Examples:\n  mcp resources\n  mcp resources docs")
        .arg(server_arg())
}

pub(super) fn read_command() -> Command {
    Command::new("read")
        .about("Read a resource")
        .after_help(
            "Examples:\n  mcp read docs file:///README.md\n  mcp read @docs:file:///README.md",
        )
        .arg(
            Arg::new("what").value_name("SERVER URI").num_args(1..=2).required(true).help(
                "The server and the URI, or `@server:uri`, or a URI that only one server lists",
            ),
        )
}

/// Connects one server, or all of which it is not remembered what they have.
pub(super) async fn connect(app: &App, bridge: &Bridge, server: &str) -> Result<(), Problem> {
    let names: Vec<String> = if server.is_empty() {
        bridge.unlisted().iter().map(ToString::to_string).collect()
    } else {
        app.config.server(server)?;
        vec![server.to_owned()]
    };
    app.settle(bridge, &names).await?;
    match tools::unreachable(bridge, server) {
        Some(problem) if !server.is_empty() => Err(problem),
        _ => Ok(()),
    }
}

pub(super) async fn list(app: &App, matches: &ArgMatches) -> Done {
    let server = text(matches, "server");
    let bridge = app.bridge();
    connect(app, &bridge, server).await?;
    let all = app.interrupt.or(bridge.resources()).await?;
    let wanted: Vec<_> =
        all.iter().filter(|one| server.is_empty() || &*one.server == server).collect();
    if app.out.json {
        let described: Vec<Value> = wanted
            .iter()
            .map(|one| {
                let resource = &one.resource;
                json!({"server": &*one.server, "uri": resource.uri, "name": resource.name,
                    "title": resource.title, "description": resource.description,
                    "mimeType": resource.mime_type, "size": resource.size})
            })
            .collect();
        app.out.value(&json!({ "resources": described }))?;
    } else if wanted.is_empty() {
        if app.has_servers() {
            app.out.remark("there is nothing to read");
        }
    } else {
        let mut table = Table::new(&["SERVER", "URI", "NAME"]);
        for one in wanted {
            table.row([
                plain(&*one.server),
                (brief(&one.resource.uri, 120), Paint::Bold),
                plain(brief(&one.resource.name, 60)),
            ]);
        }
        table.print(app.out)?;
    }
    Ok(Exit::Done)
}

pub(super) async fn read(app: &App, matches: &ArgMatches) -> Done {
    let words = super::texts(matches, "what");
    let bridge = app.bridge();
    let (server, uri) = match words.as_slice() {
        [server, uri] => (server.clone(), uri.clone()),
        [one] => match one.strip_prefix('@').and_then(|rest| rest.split_once(':')) {
            Some((server, uri)) => (server.to_owned(), uri.to_owned()),
            None => (owner(app, &bridge, one).await?, one.clone()),
        },
        _ => return Err(Problem::new(Exit::Usage, "which resource?")),
    };
    connect(app, &bridge, &server).await?;
    let read = app.interrupt.or(bridge.read_resource(&server, &uri)).await?;
    let read = read.map_err(|error| refused(&error))?;
    if app.out.json {
        let contents: Vec<Value> = read
            .contents
            .iter()
            .filter_map(|part| RawJson::encode(part).ok())
            .filter_map(|part| serde_json::from_str(part.as_str()).ok())
            .collect();
        app.out.value(&json!({"server": server, "contents": contents}))?;
    } else {
        for part in &read.contents {
            app.out.line(in_words(part))?;
        }
    }
    Ok(Exit::Done)
}

/// The server that lists this URI.
async fn owner(app: &App, bridge: &Bridge, uri: &str) -> Result<String, Problem> {
    connect(app, bridge, "").await?;
    let all = app.interrupt.or(bridge.resources()).await?;
    let mut owners: Vec<&str> =
        all.iter().filter(|one| one.resource.uri == uri).map(|one| &*one.server).collect();
    owners.dedup();
    match owners.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(Problem::new(Exit::NotFound, format!("no server lists {}", brief(uri, 200)))
            .hint("say which server to ask: mcp read SERVER URI")),
        several => Err(Problem::new(Exit::Usage, format!("{} list it", several.join(", ")))
            .hint("say which server to ask: mcp read SERVER URI")),
    }
}

/// What a server said to something that was no tool call.
pub(super) fn refused(error: &CallError) -> Problem {
    let exit = match error {
        CallError::Rejected(_) => Exit::Failed,
        other => Exit::of_class(other.class()),
    };
    Problem::new(exit, shown(&chain(error)))
}

fn in_words(part: &ResourceContents) -> String {
    match (&part.text, &part.blob) {
        (Some(text), _) => shown(text),
        (None, Some(blob)) => {
            let kind = part.mime_type.as_deref().unwrap_or("application/octet-stream");
            format!("[{}, {} bytes; --json shows them]", shown(kind), blob.len() * 3 / 4)
        }
        (None, None) => String::new(),
    }
}
