//! `mcp ping` and `mcp subscribe`: measure the response time of a server, and show when a resource changes.

use clap::{Arg, ArgMatches, Command};
use mcp_client::{Client, ClientOptions};
use serde_json::json;

use super::{logs::clock, resources, server_arg, text, watch};
use crate::{
    exit::{Done, Exit, Problem, chain},
    host::app::App,
};

pub(super) fn ping_command() -> Command {
    Command::new("ping")
        .about("Ping a server, and show how long the response took")
        .after_help("Examples:\n  mcp ping github\n  mcp ping https://example.com/mcp")
        .arg(server_arg().required(true))
}

pub(super) fn subscribe_command() -> Command {
    Command::new("subscribe")
        .about("Show when resources change, until Ctrl-C")
        .after_help("Times are in UTC.\n\nExamples:\n  mcp subscribe docs file:///README.md")
        .arg(server_arg().required(true))
        .arg(Arg::new("uris").value_name("URI").num_args(1..).required(true))
}

pub(super) async fn ping(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let candidate = app.config.server(name)?;
    let config = &candidate.entry.config;
    let way = app.connector().open(config).map_err(|error| Problem::chain(Exit::Config, &error))?;
    let mut options = ClientOptions::default();
    options.handler = app.terminal.direct_handler(candidate.is_trusted());
    options.handshake_timeout = app.timeout.unwrap_or(options.handshake_timeout);
    let begun = tokio::time::Instant::now();
    let connected = app.wait(Box::pin(Client::connect(&*way.connect, options))).await?;
    let unavailable = |text: String| {
        Problem::new(Exit::Unavailable, text)
            .hint(format!("`mcp explain {name}` shows the details"))
    };
    let client = connected.map_err(|error| unavailable(chain(&error)))?;
    let up = begun.elapsed();
    let begun = tokio::time::Instant::now();
    let answered = app.wait(client.ping()).await?;
    let took = begun.elapsed();
    client.close().await;
    answered.map_err(|error| unavailable(chain(&error)))?;
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if app.out.json {
        app.out.value(&json!({"server": name, "connectMs": millis(up), "pingMs": millis(took)}))?;
    } else {
        let (up, took) = (millis(up), millis(took));
        app.out.line(format!("{name} responded in {took} ms (connected in {up} ms)"))?;
    }
    Ok(Exit::Done)
}

pub(super) async fn subscribe(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let bridge = app.bridge();
    resources::connect(app, &bridge, name).await?;
    let uris = super::texts(matches, "uris");
    let opened = app.wait(bridge.subscribe(name, uris)).await?;
    let mut updates = opened.map_err(|error| resources::refused(app, &error))?;
    app.out.remark("subscribed; press Ctrl-C to stop");
    loop {
        let uri = tokio::select! {
            uri = updates.next() => uri,
            () = app.interrupt.cancelled() => None,
        };
        let Some(uri) = uri else { return Ok(Exit::Done) };
        let at = watch::now();
        if app.out.json {
            app.out.value_line(&json!({"at": at, "server": name, "uri": uri}))?;
        } else {
            app.out.line(format!("{}  changed  {uri}", clock(at)))?;
        }
        app.out.flush()?;
    }
}
