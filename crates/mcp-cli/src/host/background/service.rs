//! The background host: listens, starts servers on first use, and stops after an idle period.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use mcp_auth::store::SecretStore;
use mcp_bridge::connect::Connector;
use mcp_safe::fs::Lock;
use mcp_server::http::{Listen as _, UnixSocket};
use serde_json::{Value, json};
use tokio::{io::BufReader, sync::mpsc, task::JoinSet, time::Instant};

use super::{
    attach::digest,
    place::HostPlace,
    running::{ClientStream, Running, millis},
    wire,
};
use crate::{
    host::{config::Config, redact, secrets::StoredSecrets},
    terminal::out::Out,
};

/// How long a client may take to send its greeting.
const GREETING: Duration = Duration::from_secs(5);
/// The maximum number of clients that have not sent their greeting yet.
const GREETINGS: usize = 32;

/// The dependencies of a background host.
pub(crate) struct Service<'a> {
    pub(crate) out: Out,
    /// The configuration of `connector`. Servers that are added later are admitted to it.
    pub(crate) config: &'a Config,
    pub(crate) connector: Arc<dyn Connector>,
    /// The folder in which the connector starts the next server.
    pub(crate) start_in: Arc<Mutex<PathBuf>>,
    pub(crate) secrets: Arc<StoredSecrets>,
    pub(crate) store: Arc<dyn SecretStore>,
    /// How long the host runs without a client. `None`: until it is asked to stop.
    pub(crate) idle: Option<Duration>,
}

/// A host that is listening.
pub(crate) struct Listening {
    socket: UnixSocket,
    /// Held while the host runs, so that a second host cannot start.
    _lock: Lock,
}

impl Listening {
    /// Starts listening, unless another host already does. Replaces a stale socket.
    pub(crate) fn at(place: &HostPlace) -> io::Result<Option<Self>> {
        place.prepare()?;
        let Some(lock) = Lock::try_acquire(&place.lock())? else { return Ok(None) };
        Ok(Some(Self { socket: UnixSocket::bind(&place.socket())?, _lock: lock }))
    }
}

impl Service<'_> {
    /// Serves until `stop`, a stop request of a client, or the idle limit.
    pub(crate) async fn run(&self, mut listening: Listening, stop: impl Future<Output = ()>) {
        let mut state = State { started: SystemTime::now(), servers: Vec::new(), read: None };
        let (greeted, mut greetings) = mpsc::channel::<(Value, ClientStream)>(GREETINGS);
        let mut greeting = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let mut used = Instant::now();
        loop {
            let idle = self.idle.map(|idle| used + idle);
            let idle = async {
                match idle {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                accepted = listening.socket.accept(), if greeting.len() < GREETINGS => match accepted {
                    Ok(connection) => {
                        let (stream, greeted) = (BufReader::new(connection.stream), greeted.clone());
                        greeting.spawn(greet(stream, greeted));
                    }
                    Err(error) => {
                        self.out.remark(format!("the socket failed: {error}"));
                        break;
                    }
                },
                Some(_) = greeting.join_next() => {}
                Some((request, stream)) = greetings.recv() => {
                    used = Instant::now();
                    if !self.answer(&mut state, &request, stream).await {
                        break;
                    }
                }
                () = &mut stop => break,
                () = idle => {
                    let last = state.servers.iter().map(Running::used).max();
                    let is_busy = state.servers.iter().any(Running::has_clients);
                    let before = used;
                    used = if is_busy { Instant::now() } else { used.max(last.unwrap_or(used)) };
                    if used == before {
                        self.out.remark("idle: stopping");
                        break;
                    }
                }
            }
        }
        // Accept no more clients while servers shut down.
        drop(listening);
        for server in state.servers {
            server.end().await;
        }
    }

    /// Answers one greeting. Returns whether the host continues.
    async fn answer(&self, state: &mut State, request: &Value, mut stream: ClientStream) -> bool {
        let mut goes_on = true;
        let answer = if let Some(name) = request["attach"].as_str() {
            match self.attach(state, name, request).await {
                Ok(index) => {
                    let told = json!({"attached": true}).to_string();
                    if wire::write_line(&mut stream, told.into_bytes()).await.is_ok() {
                        state.servers[index].join(stream).await;
                    }
                    return true;
                }
                Err(why) => json!({"attached": false, "reason": why}),
            }
        } else if let Some(name) = request["logs"].as_str() {
            let server = state.servers.iter().rev().find(|server| server.name == name);
            server.map_or(Value::Null, Running::logs)
        } else if let Some(name) = request["disconnect"].as_str() {
            json!({"ended": state.end(name).await})
        } else if request["stop"] == true {
            goes_on = false;
            json!({"stopping": std::process::id()})
        } else {
            self.status(state)
        };
        let _ = wire::write_line(&mut stream, answer.to_string().into_bytes()).await;
        goes_on
    }

    /// Returns the requested server, and starts it if necessary.
    async fn attach(
        &self,
        state: &mut State,
        name: &str,
        request: &Value,
    ) -> Result<usize, String> {
        let wanted = request["digest"].as_str().unwrap_or_default();
        let folder = PathBuf::from(request["folder"].as_str().unwrap_or_default());
        state.servers.retain(|server| !server.is_over());
        let is_it = |server: &Running| server.name == name && server.digest == wanted;
        if let Some(index) = state.servers.iter().position(is_it) {
            return Ok(index);
        }
        if self.digest(self.current(state), name, &folder).as_deref() != Some(wanted) {
            self.read_again(state).await;
            if self.digest(self.current(state), name, &folder).as_deref() != Some(wanted) {
                return Err(
                    "its entry, or a variable in it, differs from the configuration of this host"
                        .into(),
                );
            }
        }
        let config = self.current(state).server(name).map_err(|problem| problem.message)?;
        let config = config.entry.config.clone();
        // Its messages are kept for `mcp logs`, which is possible only if its secrets are known.
        let environment = &self.current(state).environment;
        let redactor = redact::of(environment, &*self.secrets, &config);
        let redactor = redactor.map_err(|error| error.to_string())?;
        self.start_in.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&folder);
        let way = self.connector.open(&config);
        let way = way.map_err(|error| error.to_string())?;
        let link = way.connect.connect().await.map_err(|error| error.to_string())?;
        self.out.remark(format!("started {name} in {}", folder.display()));
        // An older server of that name keeps running for its clients.
        let mut old = Vec::new();
        for server in std::mem::take(&mut state.servers) {
            let is_replaced =
                server.name == name && server.folder == folder && !server.has_clients();
            if is_replaced { old.push(server) } else { state.servers.push(server) }
        }
        for server in old {
            server.end().await;
        }
        state.servers.push(Running::new(name, wanted, folder, link, redactor));
        Ok(state.servers.len() - 1)
    }

    fn digest(&self, config: &Config, name: &str, folder: &Path) -> Option<String> {
        let server = config.resolution.get(name)?;
        digest(&server.entry.config, &config.environment, &*self.secrets, folder)
    }

    fn current<'s>(&'s self, state: &'s State) -> &'s Config {
        state.read.as_ref().unwrap_or(self.config)
    }

    /// Reads the configuration files again.
    async fn read_again(&self, state: &mut State) {
        let config = self.config.again();
        self.config.admit(&config.resolution);
        // A missing secret is reported when its server starts.
        let _ = self.secrets.load(&config.resolution, &config.environment, &*self.store).await;
        state.read = Some(config);
    }

    fn status(&self, state: &State) -> Value {
        let servers: Vec<Value> = state.servers.iter().map(Running::status).collect();
        json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "project": self.config.project,
            "startedMs": millis(state.started),
            "idleSeconds": self.idle.map(|idle| idle.as_secs()),
            "servers": servers,
        })
    }
}

struct State {
    started: SystemTime,
    servers: Vec<Running>,
    /// The configuration, if it was reloaded.
    read: Option<Config>,
}

impl State {
    /// Stops the servers of this name. Returns their number.
    async fn end(&mut self, name: &str) -> usize {
        let (ending, kept) =
            std::mem::take(&mut self.servers).into_iter().partition(|server| server.name == name);
        self.servers = kept;
        let ending: Vec<Running> = ending;
        let count = ending.len();
        for server in ending {
            server.end().await;
        }
        count
    }
}

async fn greet(mut stream: ClientStream, greeted: mpsc::Sender<(Value, ClientStream)>) {
    let line = tokio::time::timeout(GREETING, wire::read_line(&mut stream)).await;
    let Ok(Ok(Some(line))) = line else { return };
    if let Ok(request) = serde_json::from_slice(&line) {
        let _ = greeted.send((request, stream)).await;
    }
}
