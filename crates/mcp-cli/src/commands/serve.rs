//! `mcp serve`: every server behind one, for the agents people already use.

mod consent;
mod gate;
mod input;
mod library;
mod relay;
mod reload;
mod rules;

use std::{io::IsTerminal, net::SocketAddr, sync::Arc, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use mcp_bridge::{
    Bridge, Event, HttpServeOptions, NameScheme, ServeOptions, ServerState, Spill, ToolServer,
    TrustPolicy,
};
use mcp_client::LogLevel;
use tokio::sync::mpsc;

use self::{
    consent::Consent,
    gate::Gate,
    library::Shelf,
    relay::{News, Relay},
    rules::rules,
};
use super::text;
use crate::{
    app::{App, is_settled},
    connect,
    exit::{Done, Exit, Problem},
    tools,
};

/// How long clients wait, once, for servers that nobody has seen yet: some never ask for the tools again.
const FIRST_SIGHT: Duration = Duration::from_secs(5);
/// How long calls in flight may go on when the gateway is to end.
const LAST_CALLS: Duration = Duration::from_secs(10);
/// How long answers may take to leave.
const LAST_WORDS: Duration = Duration::from_millis(300);

pub(super) fn command() -> Command {
    let globs =
        |name: &'static str| Arg::new(name).long(name).value_name("GLOB").action(ArgAction::Append);
    Command::new("serve")
        .about("Be one MCP server in front of all others: the gateway")
        .long_about(
            "Be one MCP server in front of all others, over stdin and stdout or over HTTP.\n\n\
             `--mode all` offers every tool; `--mode search` only `tool_search` and `tool_call`, so that a \
             model is not shown hundreds. Changes of the configuration, and SIGHUP, take effect without \
             dropping a call.",
        )
        .after_help(
            "Examples:\n  mcp serve\n  mcp serve --mode search --deny-tool 'mcp:*:delete_*'\n  \
             mcp serve --http 127.0.0.1:8000\n  mcp install --client cursor",
        )
        .arg(
            Arg::new("mode")
                .long("mode")
                .value_parser(["auto", "all", "search"])
                .default_value("auto")
                .help("Which tools are offered; auto: search above 20 tools"),
        )
        .arg(
            Arg::new("names")
                .long("names")
                .value_parser(["full", "own"])
                .default_value("full")
                .help("How tools and prompts are named; full: mcp__SERVER__TOOL, own: TOOL"),
        )
        .arg(
            Arg::new("http")
                .long("http")
                .value_name("ADDRESS")
                .value_parser(value_parser!(SocketAddr))
                .help("Serve over HTTP at this address, under /mcp"),
        )
        .arg(
            Arg::new("token-env")
                .long("token-env")
                .value_name("NAME")
                .requires("http")
                .help("The variable with the token clients have to show"),
        )
        .arg(globs("allow-tool").help("Run these without a question, such as mcp:files:read_*"))
        .arg(globs("deny-tool").help("Never run these"))
        .arg(
            Arg::new("trust-host")
                .long("trust-host")
                .action(ArgAction::SetTrue)
                .help("Leave it to the connecting agent to ask its user"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let mut options = connect::options(app);
    // Whoever is asked is asked through the client. The terminal, if there is one, is the wire.
    let news = Arc::new(News::default());
    options.handler = Arc::new(Relay::new(news.clone()));
    options.approver = Arc::new(Consent { trust_host: matches.get_flag("trust-host") });
    options.policy = Arc::new(TrustPolicy::new(rules(matches)));
    // Clients choose among what there is; modern servers send nothing unless they are told to.
    options.client.log_level = Some(LogLevel::Info);
    let is_searched = text(matches, "mode") != "all";
    options.tool_search = is_searched;
    if text(matches, "mode") == "search" {
        options.search_threshold = 0;
    }
    if text(matches, "names") == "own" {
        options.names = NameScheme::Own;
    }
    if let Some(cache) = &app.config.places.cache {
        options.output.spill = Some(Arc::new(Spill::new(cache.join("results"))));
    }
    let bridge = app.bridge_with(options);
    let (shelf, mut updated) = Shelf::new(&bridge);
    let server = ToolServer::new(about(&bridge, shelf, is_searched));
    let gate = Gate::new(&bridge);
    let refresh = || gate.offer(&server);
    tokio::select! {
        () = first_sight(&bridge) => {}
        () = app.interrupt.cancelled() => {}
    }
    refresh();
    app.out.remark(match bridge.status().len() {
        1 => "1 server behind this one".to_owned(),
        count => format!("{count} servers behind this one"),
    });
    tokio::select! {
        done = listen(app, matches, &server, &gate) => done,
        () = keep_fresh(&bridge, &server, &news, refresh) => Ok(Exit::Done),
        () = pass_on(&mut updated, &server) => Ok(Exit::Done),
        () = reload::follow(app, &bridge, refresh) => Ok(Exit::Done),
    }
}

/// Waits until the gateway is asked to end, and then for the calls in flight, though not for ever.
async fn ending(app: &App, gate: &Gate) {
    app.interrupt.cancelled().await;
    let tell = |left| app.out.remark(format!("waiting for {left} calls"));
    let _ = tokio::time::timeout(LAST_CALLS, gate.drain(tell)).await;
}

/// Tells clients of the resources they have subscribed to.
async fn pass_on(updated: &mut mpsc::Receiver<String>, server: &ToolServer) {
    while let Some(uri) = updated.recv().await {
        server.resource_updated(&uri);
    }
    // Nobody is left to tell of anything.
    std::future::pending::<()>().await;
}

fn about(bridge: &Bridge, shelf: Shelf, is_searched: bool) -> ServeOptions {
    let mut options = ServeOptions::new("mcp", env!("CARGO_PKG_VERSION"));
    let names: Vec<String> = bridge.status().iter().map(|s| s.name.to_string()).collect();
    let names = if names.is_empty() { "none yet".into() } else { names.join(", ") };
    let search = if is_searched {
        " Tools that are not listed can be found with tool_search and run with tool_call."
    } else {
        ""
    };
    options.instructions = Some(format!("One server in front of these: {names}.{search}"));
    let shelf = Arc::new(shelf);
    options.resources = Some(shelf.clone());
    options.prompts = Some(shelf.clone());
    options.completions = Some(shelf);
    options
}

/// Serves until the client, or the listener, is gone, or somebody wants an end.
async fn listen(app: &App, matches: &ArgMatches, server: &ToolServer, gate: &Gate) -> Done {
    let Some(address) = matches.get_one::<SocketAddr>("http") else {
        if std::io::stdin().is_terminal() {
            app.out.remark("this is for agents to start, and speaks JSON-RPC: see `mcp install`");
        }
        let input = input::Until::new(tokio::io::stdin(), ending(app, gate));
        server.serve_pipes(std::pin::pin!(input), tokio::io::stdout()).await?;
        return Ok(Exit::Done);
    };
    let mut options = HttpServeOptions::default();
    options.bearer = match matches.get_one::<String>("token-env") {
        Some(name) => Some(std::env::var(name).map_err(|_| {
            Problem::new(Exit::Usage, format!("the variable {name} holds no token"))
        })?),
        None if !address.ip().is_loopback() => {
            return Err(Problem::new(
                Exit::Usage,
                format!("{address} can be reached from elsewhere"),
            )
            .hint("name the variable with a token in it: --token-env NAME"));
        }
        None => None,
    };
    if !address.ip().is_loopback() {
        options.allowed_hosts.push("*".into());
    }
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(|error| {
        Problem::new(Exit::Failed, format!("could not listen at {address}: {error}"))
    })?;
    let address = listener.local_addr()?;
    app.out.remark(format!("serving at http://{address}{}", options.path));
    let http = server.http(options);
    let mut serving = std::pin::pin!(http.serve(listener));
    tokio::select! {
        done = &mut serving => done?,
        () = ending(app, gate) => {
            // The last answers are on their way to their sockets.
            let _ = tokio::time::timeout(LAST_WORDS, serving).await;
        }
    }
    Ok(Exit::Done)
}

/// Whatever changes the tools is seen by clients.
async fn keep_fresh(bridge: &Bridge, server: &ToolServer, news: &News, refresh: impl Fn()) {
    let mut events = bridge.events();
    loop {
        let event = tokio::select! {
            event = events.next() => match event {
                Some(event) => event,
                None => return,
            },
            () = news.resources() => {
                server.resources_changed();
                continue;
            }
        };
        let concerns = matches!(
            event,
            Event::ServerConnected { .. }
                | Event::ListChanged { .. }
                | Event::NeedsAuth { .. }
                | Event::ToolLoaded { .. }
                | Event::ServerDisconnected { .. }
                | Event::ServerError { .. }
                | Event::Missed(_)
        );
        if concerns {
            refresh();
        }
        if matches!(event, Event::ServerConnected { .. }) {
            server.resources_changed();
            server.prompts_changed();
        }
        // Not earlier: who asks again at once would get the old ones.
        if matches!(event, Event::ListsFetched { .. }) && news.take_prompts() {
            server.prompts_changed();
        }
    }
}

/// Connects what nobody has seen yet, so that its tools can be found. The slow ones come later.
async fn first_sight(bridge: &Bridge) {
    let is_unknown = |name: &str| tools::known(bridge, name).is_none();
    let unknown: Vec<_> = bridge
        .status()
        .into_iter()
        .filter(|status| status.state == ServerState::Pending && is_unknown(&status.name))
        .collect();
    for status in &unknown {
        bridge.connect(&status.name);
    }
    let all = async {
        for status in &unknown {
            bridge.wait_for(&status.name, is_settled).await;
        }
    };
    // Whoever is late is announced when it comes.
    let _ = tokio::time::timeout(FIRST_SIGHT, all).await;
}
