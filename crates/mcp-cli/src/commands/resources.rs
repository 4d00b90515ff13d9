//! `mcp resources` and `mcp read`: list resources, and read one.

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
};

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::{Bridge, error::OfferError};
use mcp_client::{CallError, RawJson, types::ResourceContents};
use serde_json::{Value, json};

use super::{call, content, flag, images, server_arg, text};
use crate::{
    exit::{Done, Exit, Problem, chain},
    host::{app::App, left_out, tools},
    terminal::{
        out::brief,
        paint::Paint,
        table::{Table, plain},
    },
};

pub(super) fn list_command() -> Command {
    Command::new("resources")
        .about("List the resources of servers")
        .after_help(
            "Examples:\n  mcp resources\n  mcp resources docs\n  mcp resources docs --templates",
        )
        .arg(server_arg())
        .arg(flag("templates", "List resource templates instead"))
}

pub(super) fn read_command() -> Command {
    Command::new("read")
        .about("Read a resource")
        .after_help(
            "Examples:\n  mcp read docs file:///README.md\n  mcp read @docs:file:///README.md\n  \
             mcp read docs file:///logo.png -o logo.png",
        )
        .arg(
            Arg::new("what").value_name("SERVER URI").num_args(1..=2).required(true).help(
                "The server and the URI, or `@server:uri`, or a URI that only one server lists",
            ),
        )
        .arg(call::output_arg())
        .arg(images::flag_off())
}

/// Connects one server, or all that are not in the catalogue.
pub(super) async fn connect(app: &App, bridge: &Bridge, server: &str) -> Result<(), Problem> {
    let names: Vec<String> = if server.is_empty() {
        app.without_failed(bridge.unlisted().iter().map(ToString::to_string).collect())
    } else {
        app.config.server(server)?;
        vec![server.to_owned()]
    };
    app.settle(bridge, &names).await?;
    match tools::unreachable(app, bridge, server) {
        Some(problem) if !server.is_empty() => Err(problem),
        _ => Ok(()),
    }
}

/// Reports the servers that a list of all servers lacks.
pub(super) fn left_out(app: &App, bridge: &Bridge, server: &str) -> Vec<Value> {
    if server.is_empty() { left_out::report(app, bridge) } else { Vec::new() }
}

pub(super) async fn list(app: &App, matches: &ArgMatches) -> Done {
    let server = text(matches, "server");
    let bridge = app.bridge();
    connect(app, &bridge, server).await?;
    if matches.get_flag("templates") {
        return templates(app, &bridge, server).await;
    }
    let left_out = left_out(app, &bridge, server);
    let all = app.wait(bridge.resources()).await?;
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
        app.out.value(&json!({"resources": described, "notSearched": left_out}))?;
    } else if wanted.is_empty() {
        app.explain_empty("no resources found");
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

async fn templates(app: &App, bridge: &Bridge, server: &str) -> Done {
    let left_out = left_out(app, bridge, server);
    let all = app.wait(bridge.resource_templates()).await?;
    let wanted: Vec<_> =
        all.iter().filter(|one| server.is_empty() || &*one.server == server).collect();
    if app.out.json {
        let described: Vec<Value> = wanted
            .iter()
            .map(|one| {
                let template = &one.template;
                json!({"server": &*one.server, "uriTemplate": template.uri_template,
                    "name": template.name, "title": template.title,
                    "description": template.description, "mimeType": template.mime_type})
            })
            .collect();
        app.out.value(&json!({"templates": described, "notSearched": left_out}))?;
    } else if wanted.is_empty() {
        app.explain_empty("no resource templates found");
    } else {
        let mut table = Table::new(&["SERVER", "URI TEMPLATE", "NAME"]);
        for one in wanted {
            table.row([
                plain(&*one.server),
                (brief(&one.template.uri_template, 120), Paint::Bold),
                plain(brief(&one.template.name, 60)),
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
        _ => return Err(Problem::usage("missing the URI of the resource")),
    };
    connect(app, &bridge, &server).await?;
    let read = app.wait(bridge.read_resource(&server, &uri)).await?;
    let read = read.map_err(|error| refused(app, &error))?;
    if app.out.json {
        let contents: Vec<Value> = read
            .contents
            .iter()
            .filter_map(|part| RawJson::encode(part).ok())
            .filter_map(|part| serde_json::from_str(part.as_str()).ok())
            .collect();
        app.out.value(&json!({"server": server, "contents": contents}))?;
    } else if let Some(path) = matches.get_one::<PathBuf>("output") {
        content::save_read(app, path, &read.contents)?;
    } else if let ([ResourceContents { text: None, blob: Some(blob), .. }], false) =
        (read.contents.as_slice(), io::stdout().is_terminal())
        && let Some(bytes) = content::decode(blob)
    {
        app.out.bytes(&bytes)?;
    } else {
        for part in &read.contents {
            app.out.line(in_words(part))?;
        }
        images::of_resource(app, matches, &read.contents)?;
    }
    Ok(Exit::Done)
}

/// Returns the server that lists this URI.
async fn owner(app: &App, bridge: &Bridge, uri: &str) -> Result<String, Problem> {
    connect(app, bridge, "").await?;
    let all = app.wait(bridge.resources()).await?;
    let mut owners: Vec<&str> =
        all.iter().filter(|one| one.resource.uri == uri).map(|one| &*one.server).collect();
    owners.dedup();
    match owners.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(Problem::new(Exit::NotFound, format!("no server lists {}", brief(uri, 200)))
            .hint("name the server: mcp read SERVER URI")),
        several => Err(Problem::usage(format!("several servers list it: {}", several.join(", ")))
            .hint("name the server: mcp read SERVER URI")),
    }
}

/// Converts the error of a resource or prompt request.
pub(super) fn refused(app: &App, error: &OfferError) -> Problem {
    match error {
        OfferError::Call(CallError::Declined(why)) => app.denied(format!("denied: {why}")),
        _ => Problem::new(error.into(), chain(error)),
    }
}

fn in_words(part: &ResourceContents) -> String {
    match (&part.text, &part.blob) {
        (Some(text), _) => text.clone(),
        (None, Some(blob)) => {
            let kind = part.mime_type.as_deref().unwrap_or("application/octet-stream");
            format!("[{}, {} bytes; -o FILE saves them]", brief(kind, 60), content::size(blob))
        }
        (None, None) => String::new(),
    }
}
