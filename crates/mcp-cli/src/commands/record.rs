//! `mcp record` and `mcp replay`: record a session to a file with secrets redacted, and replay it.

use std::{
    path::{Path, PathBuf},
    process,
    sync::{Arc, Mutex, PoisonError},
};

use clap::{Arg, ArgMatches, Command, value_parser};
use mcp_bridge::{
    Bridge,
    connect::{Connector, ServerRoute},
};
use mcp_client::Implementation;
use mcp_config::{Sdk, ServerConfig, Transport};
use mcp_transport::{
    ConnectError,
    record::{Cassette, Recorder, Replay},
};
use serde_json::json;

use super::{call, text, texts};
use crate::{
    exit::{Done, Exit, Problem},
    host::{app::App, recordings, redact, tools},
};

/// The server name used for a replayed recording.
const CASSETTE: &str = "cassette";

pub(super) fn record_command() -> Command {
    Command::new("record")
        .about("Record a session with a server: its tools, a call if you name one, or another command")
        .long_about(
            "Record a session with a server: its tools, and a call if you name one. Put another mcp command after `--`, \
             such as `mcp call` or `mcp serve`, to record every connection it makes. Secrets are redacted.",
        )
        .after_help(
            "Examples:\n  mcp record time -o time.cassette\n  mcp record time/now -o now.cassette zone=UTC\n  \
             mcp record -o now.cassette -- mcp call time/now zone=UTC",
        )
        .arg(
            Arg::new("server")
                .value_name("SERVER or SERVER/TOOL")
                .required_unless_present("command"),
        )
        .args(what())
        .arg(
            Arg::new("command")
                .last(true)
                .num_args(1..)
                .value_name("COMMAND")
                .conflicts_with_all(["server", "tool", "arguments", "args"])
                .help("The command whose connections are recorded"),
        )
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

/// Records the links of another connector.
struct RecordingConnector {
    inner: Arc<dyn Connector>,
    recorder: Mutex<Option<Arc<Recorder>>>,
}

impl Connector for RecordingConnector {
    fn open(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        let mut way = self.inner.open(config)?;
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let recorder = recorder.get_or_insert_with(|| Arc::new(Recorder::new(way.connect.clone())));
        way.connect = recorder.clone();
        Ok(way)
    }
}

/// Connects every server to the same recording.
struct ReplayConnector(Arc<Replay>);

impl Connector for ReplayConnector {
    fn open(&self, _: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        Ok(ServerRoute::new(self.0.clone()))
    }
}

pub(super) async fn record(app: &App, matches: &ArgMatches) -> Done {
    let path = matches.get_one::<PathBuf>("output").map_or(Path::new("-"), PathBuf::as_path);
    if matches.contains_id("command") {
        return wrap(app, path, &texts(matches, "command")).await;
    }
    let name = text(matches, "server");
    // `SERVER/TOOL`, as in other commands; all further arguments are then the tool's.
    let (name, tool) = match name.split_once('/') {
        Some((server, tool)) if app.config.resolution.get(name).is_none() => (server, Some(tool)),
        _ => (name, None),
    };
    let candidate = app.config.server(name)?;
    let mut config = candidate.entry.config.clone();
    config.trust = candidate.is_trusted();
    let recording =
        Arc::new(RecordingConnector { inner: app.direct_connector(), recorder: Mutex::default() });
    let bridge = alone(app, recording.clone(), config.clone());
    let exit = session(app, &bridge, name, tool, matches).await;
    bridge.shutdown().await;
    let recorder = recording.recorder.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let cassette = recorder.map(|recorder| recorder.cassette().to_string()).unwrap_or_default();
    let kept = redact::recording(&app.config, &app.secrets, &config, &cassette)?;
    recordings::write(path, kept.as_bytes()).map_err(|error| {
        Problem::new(Exit::Failed, format!("could not write {}: {error}", path.display()))
    })?;
    app.out.remark(recordings::summary(&kept, path));
    exit
}

/// Runs another command, records its connections, and exits with its exit code.
async fn wrap(app: &App, path: &Path, words: &[String]) -> Done {
    let Some((program, rest)) = words.split_first() else {
        return Err(Problem::usage("missing the command to record"));
    };
    let is_ours = matches!(program.as_str(), "mcp" | "mcph");
    let program = match std::env::current_exe() {
        Ok(path) if is_ours => path,
        _ => PathBuf::from(program),
    };
    let mut command = process::Command::new(&program);
    command.args(rest).env(recordings::VARIABLE, path);
    let status = tokio::task::spawn_blocking(move || command.status());
    // Ctrl-C on the terminal reaches the command too. Wait for it, so that it writes its recording.
    let status = status.await.map_err(|error| Problem::new(Exit::Failed, error.to_string()))?;
    let status = status.map_err(|error| {
        Problem::new(Exit::NotFound, format!("could not start {}: {error}", program.display()))
    })?;
    app.out.flush()?;
    Ok(status.code().and_then(Exit::from_code).unwrap_or(Exit::Failed))
}

pub(super) async fn replay(app: &App, matches: &ArgMatches) -> Done {
    let path = matches.get_one::<PathBuf>("cassette").map_or(Path::new("-"), PathBuf::as_path);
    let text = std::fs::read_to_string(path).map_err(|error| {
        Problem::new(Exit::NotFound, format!("could not read {}: {error}", path.display()))
    })?;
    let cassette: Cassette = text.parse().map_err(|error| {
        Problem::usage(format!("{} is not a recording: {error}", path.display()))
    })?;
    let named = CASSETTE.parse();
    let named = named.map_err(|error: mcp_config::model::NameError| {
        Problem::new(Exit::Failed, error.to_string())
    })?;
    let config = ServerConfig::new(named, Transport::Sdk(Sdk::default()));
    let bridge = alone(app, Arc::new(ReplayConnector(Arc::new(Replay::new(cassette)))), config);
    let tool = matches.get_one::<String>("tool").map(String::as_str);
    let tool = tool.map(|name| name.rsplit('/').next().unwrap_or(name));
    session(app, &bridge, CASSETTE, tool, matches).await
}

/// Returns a bridge to one server without a catalogue, so that the recording is complete.
fn alone(app: &App, connector: Arc<dyn Connector>, config: ServerConfig) -> Bridge {
    let mut options = app.options();
    options.connector = connector;
    options.catalogue = None;
    options.client.client_info = Implementation::new("mcp record", "1");
    app.bridge_of(options, vec![config])
}

async fn session(
    app: &App,
    bridge: &Bridge,
    server: &str,
    tool: Option<&str>,
    matches: &ArgMatches,
) -> Done {
    let is_played = server == CASSETTE;
    app.settle(bridge, &[server.to_owned()]).await?;
    if let Some(mut problem) = tools::unreachable(app, bridge, server) {
        if is_played {
            problem.message = format!("cannot replay the recording: {}", problem.message);
            problem.hint = None;
        }
        return Err(problem);
    }
    let all = tools::all(bridge);
    let mut words = texts(matches, "arguments");
    let given = matches.get_one::<String>("tool").map(String::as_str);
    if let (false, Some(_), Some(first)) = (is_played, tool, given) {
        words.insert(0, first.to_owned());
    }
    let own = given
        .map(|name| name.strip_prefix(server).and_then(|n| n.strip_prefix('/')).unwrap_or(name));
    let Some(name) = tool.or(own) else {
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
        return Err(Problem::new(Exit::NotFound, format!("tool not found: {name}"))
            .hint("leave out the tool to list all of them"));
    };
    let arguments = call::ParsedArguments::read(matches, &words, &**tool)?.arguments;
    // A replay runs nothing, so there is nothing to approve.
    let outcome = call::call_with(app, &**tool, arguments, is_played).await?;
    call::print(app, bridge, &**tool, &outcome)
}
