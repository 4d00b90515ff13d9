//! `mcp record` and `mcp replay`: a session as a file, without its secrets.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use clap::{Arg, ArgMatches, Command, value_parser};
use mcp_bridge::{BoxFuture, Bridge, Connector, Handler, Way};
use mcp_client::{ClientCapabilities, ElicitRequest, ElicitResult, Implementation, ServerEvent};
use mcp_config::{NoInputs, Sdk, ServerConfig, Transport, expand};
use mcp_transport::{
    ConnectError,
    testing::{Cassette, Recorder, Replay},
};
use serde_json::json;

use super::{call, server_arg, text};
use crate::{
    app::App,
    connect,
    exit::{Done, Exit, Problem},
    places::write_private,
    redact, tools,
};

/// What a recorded server is called.
const CASSETTE: &str = "cassette";

pub(super) fn record_command() -> Command {
    Command::new("record")
        .about("Record a session with a server: its tools, and a call if you name one")
        .after_help("Examples:\n  mcp record time -o time.cassette\n  mcp record time -o now.cassette now zone=UTC")
        .arg(server_arg().required(true))
        .args(what())
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf)),
        )
}

pub(super) fn replay_command() -> Command {
    Command::new("replay")
        .about("Play a recorded session: list its tools, or repeat a call")
        .after_help("Examples:\n  mcp replay time.cassette\n  mcp replay now.cassette now zone=UTC")
        .arg(
            Arg::new("cassette")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf)),
        )
        .args(what())
}

fn what() -> [Arg; 3] {
    [
        Arg::new("tool").value_name("TOOL"),
        Arg::new("arguments").value_name("key=value").num_args(0..),
        Arg::new("args").long("args").value_name("JSON").conflicts_with("arguments"),
    ]
}

/// Keeps what goes over the links of whatever another connector finds.
struct Recording {
    inner: Arc<dyn Connector>,
    recorder: Mutex<Option<Arc<Recorder>>>,
}

impl Connector for Recording {
    fn open(&self, config: &ServerConfig) -> Result<Way, ConnectError> {
        let mut way = self.inner.open(config)?;
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let recorder = recorder.get_or_insert_with(|| Arc::new(Recorder::new(way.connect.clone())));
        way.connect = recorder.clone();
        Ok(way)
    }
}

/// Offers the same to every server, whoever is at the keyboard: what a host says of itself is on the
/// cassette, and another host could not play it.
struct Steady(Arc<dyn Handler>);

impl Handler for Steady {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered.elicitation_url = true;
        offered
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        self.0.elicit(request)
    }

    fn event(&self, event: ServerEvent) {
        self.0.event(event);
    }
}

/// Finds the same cassette for every server.
struct Playing(Arc<Replay>);

impl Connector for Playing {
    fn open(&self, _: &ServerConfig) -> Result<Way, ConnectError> {
        Ok(Way::new(self.0.clone()))
    }
}

pub(super) async fn record(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    let candidate = app.config.server(name)?;
    let mut config = candidate.entry.config.clone();
    config.trust = candidate.is_trusted();
    let recording =
        Arc::new(Recording { inner: connect::connector(app), recorder: Mutex::default() });
    let bridge = alone(app, recording.clone(), config.clone());
    let exit = session(app, &bridge, name, matches).await;
    bridge.shutdown().await;
    let secrets = expand(&config, &app.config.environment, &NoInputs);
    let secrets = secrets.map(|expanded| redact::secrets(&expanded)).unwrap_or_default();
    let recorder = recording.recorder.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let cassette = recorder.map(|recorder| recorder.cassette().to_string()).unwrap_or_default();
    let path = matches.get_one::<PathBuf>("output").map_or(Path::new("-"), PathBuf::as_path);
    let kept = redact::cassette(&cassette, &secrets);
    // What it holds is for whoever recorded it to judge, and until then for nobody else to read.
    write_private(path, &kept).map_err(|error| {
        Problem::new(Exit::Failed, format!("could not write {}: {error}", path.display()))
    })?;
    app.out.remark(format!(
        "{} messages in {}; look at it before you pass it on",
        kept.lines().count(),
        path.display()
    ));
    exit
}

pub(super) async fn replay(app: &App, matches: &ArgMatches) -> Done {
    let path = matches.get_one::<PathBuf>("cassette").map_or(Path::new("-"), PathBuf::as_path);
    let text = std::fs::read_to_string(path).map_err(|error| {
        Problem::new(Exit::NotFound, format!("could not read {}: {error}", path.display()))
    })?;
    let cassette: Cassette = text.parse().map_err(|error| {
        Problem::new(Exit::Usage, format!("{} is no cassette: {error}", path.display()))
    })?;
    let named = CASSETTE.parse();
    let named = named
        .map_err(|error: mcp_config::NameError| Problem::new(Exit::Failed, error.to_string()))?;
    let config = ServerConfig::new(named, Transport::Sdk(Sdk::default()));
    let bridge = alone(app, Arc::new(Playing(Arc::new(Replay::new(cassette)))), config);
    session(app, &bridge, CASSETTE, matches).await
}

/// A bridge to one server, which remembers nothing: a cassette must hold all that was said.
fn alone(app: &App, connector: Arc<dyn Connector>, config: ServerConfig) -> Bridge {
    let mut options = connect::options(app);
    options.connector = connector;
    options.catalogue = None;
    options.handler = Arc::new(Steady(app.terminal.handler()));
    options.client.client_info = Implementation::new("mcp record", "1");
    app.bridge_of(options, vec![config])
}

async fn session(app: &App, bridge: &Bridge, server: &str, matches: &ArgMatches) -> Done {
    let is_played = server == CASSETTE;
    app.settle(bridge, &[server.to_owned()]).await?;
    if let Some(mut problem) = tools::unreachable(bridge, server) {
        if is_played {
            problem.message = format!("it cannot be played: {}", problem.message);
            problem.hint = None;
        }
        return Err(problem);
    }
    let all = tools::all(bridge);
    let Some(name) = matches.get_one::<String>("tool") else {
        if app.out.json {
            let described: Vec<_> = all.iter().map(|tool| tools::describe(tool.spec())).collect();
            app.out.value(&json!({ "tools": described }))?;
        } else {
            for tool in &all {
                app.out.line(tools::own_name(tool.spec()))?;
            }
        }
        return Ok(Exit::Done);
    };
    let tool = all.iter().find(|tool| tools::own_name(tool.spec()) == name);
    let Some(tool) = tool else {
        return Err(Problem::new(Exit::NotFound, format!("there is no tool called {name}"))
            .hint("leave it out to list them"));
    };
    let arguments = call::arguments(matches, &**tool)?;
    // Nothing runs where there is only a recording.
    let outcome = call::call_with(app, &**tool, arguments, is_played).await?;
    call::print(app, &**tool, &outcome)
}
