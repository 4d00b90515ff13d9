//! What happens to a gateway: kept for `mcp status`, and written to the log file.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use clap::ArgMatches;
use mcp_bridge::{
    Bridge, Event, Events, FailureKind, ServerConfig,
    connect::{SandboxStatus, Sandboxes},
};
use mcp_gateway::Gateway;
use mcp_safe::secrets::Redactor;
#[cfg(unix)]
use mcp_transport::diagnostics::Diagnostics;
use serde_json::{Value, json};

use crate::{
    host::{app::App, event_log::EventLog, redact},
    terminal::{
        out::{Out, brief},
        server_state,
    },
};

/// How many failures `mcp status` shows.
const KEPT_FAILURES: usize = 10;
/// The most characters of a reason.
const LONGEST_REASON: usize = 300;

/// The record of one gateway.
pub(super) struct Journal {
    out: Out,
    project: PathBuf,
    started: SystemTime,
    log: Option<EventLog>,
    log_place: Option<PathBuf>,
    /// Whether the user was told that the log cannot be written.
    has_complained: AtomicBool,
    redactor: Mutex<Redactor>,
    sandboxes: Sandboxes,
    clients: AtomicUsize,
    next_client: AtomicU64,
    failures: Mutex<VecDeque<Failure>>,
}

/// A call that failed, or a server.
struct Failure {
    at: SystemTime,
    of: String,
    reason: String,
}

impl Journal {
    /// Begins the record, with a log file unless `--no-log` is given.
    pub(super) fn begin(app: &App, matches: &ArgMatches) -> Arc<Self> {
        let place = EventLog::place(&app.config.places).filter(|_| !matches.get_flag("no-log"));
        let log = place.clone().and_then(|place| match EventLog::open(place) {
            Ok(log) => Some(log),
            Err(error) => {
                app.out.remark(format!("no log is kept: {error}"));
                None
            }
        });
        let journal = Self {
            out: app.out,
            project: app.config.project.clone(),
            started: SystemTime::now(),
            log_place: place.filter(|_| log.is_some()),
            log,
            has_complained: AtomicBool::new(false),
            redactor: Mutex::default(),
            sandboxes: app.config.sandboxes.clone(),
            clients: AtomicUsize::new(0),
            next_client: AtomicU64::new(0),
            failures: Mutex::default(),
        };
        journal.learn(app, &app.config.servers());
        let version = env!("CARGO_PKG_VERSION");
        journal.write(
            "gateway.start",
            &format!("version {version}, project {}", journal.project.display()),
        );
        Arc::new(journal)
    }

    /// The gateway ends. Events that were not read yet are written first.
    pub(super) async fn end(&self, bridge: &Bridge, events: &mut Events) {
        while let Ok(Some(event)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
            self.take(bridge, &event);
        }
        self.write("gateway.stop", "");
    }

    /// Learns the secrets of these servers, so that they are redacted.
    pub(super) fn learn(&self, app: &App, servers: &[ServerConfig]) {
        let mut known = self.redactor.lock().unwrap_or_else(PoisonError::into_inner);
        *known = redact::learn(std::mem::take(&mut *known), &app.config, &app.secrets, servers);
    }

    /// Records events until the bridge is gone.
    pub(super) async fn follow(&self, bridge: &Bridge, events: &mut Events) {
        while let Some(event) = events.next().await {
            self.take(bridge, &event);
        }
    }

    /// A client connects; it leaves when this is dropped.
    pub(super) fn client(self: &Arc<Self>, from: &str) -> Client {
        let number = self.next_client.fetch_add(1, Ordering::Relaxed) + 1;
        self.clients.fetch_add(1, Ordering::Relaxed);
        self.write("client.connected", &format!("{number} at {from}"));
        Client { journal: self.clone(), number }
    }

    /// What `mcp status` shows.
    pub(super) fn status(&self, gateway: &Gateway) -> Value {
        let bridge = gateway.bridge();
        let servers: Vec<Value> = bridge
            .status()
            .iter()
            .map(|status| {
                let problem = server_state::reason(bridge, status);
                let problem = problem.filter(|_| !status.state.is_connected());
                json!({"name": &*status.name, "state": server_state::word(status).0,
                    "tools": status.tools, "problem": problem.map(|text| self.clean(&text))})
            })
            .collect();
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let failures: Vec<Value> = failures
            .iter()
            .map(|one| json!({"atMs": millis(one.at), "of": one.of, "reason": one.reason}))
            .collect();
        json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "project": self.project,
            "startedMs": millis(self.started),
            "clients": self.clients.load(Ordering::Relaxed),
            "calls": bridge.counters().calls,
            "callsInFlight": gateway.calls_in_flight(),
            "servers": servers,
            "failures": failures,
            "log": self.log_place,
        })
    }

    /// What `mcp logs` shows of a connected server.
    #[cfg(unix)]
    pub(super) fn logs(&self, server: &str, said: &Diagnostics) -> Value {
        let redactor = self.redactor.lock().unwrap_or_else(PoisonError::into_inner);
        let clean = |line: &String| redactor.redact(line).into_owned();
        json!({
            "server": server,
            "gateway": std::process::id(),
            "exit": said.exit.map(|exit| exit.to_string()),
            "stderr": said.stderr.iter().map(clean).collect::<Vec<_>>(),
            "skippedLines": said.skipped_lines,
            "firstSkipped": said.first_skipped.as_ref().map(clean),
            "frames": said.frames.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "messages": [],
        })
    }

    fn take(&self, bridge: &Bridge, event: &Event) {
        let name = event.name();
        match event {
            Event::ServerConnecting { server, attempt } => {
                self.write(name, &format!("{server}, attempt {attempt}"));
            }
            Event::ServerConnected { server, tools, .. } => {
                self.write(name, &format!("{server}, {tools} tools"));
                // The launcher has written its report before the server's first message.
                let start = self.sandboxes.last_start(server);
                for lack in start.iter().flat_map(SandboxStatus::lacks) {
                    self.write("sandbox.incomplete", &format!("{server}: {lack}"));
                }
            }
            Event::ServerDisconnected { server } | Event::NeedsAuth { server } => {
                self.write(name, server);
            }
            Event::ServerError { server, problem, .. } => {
                self.write(name, &format!("{server}: {problem}"));
                self.remember(server, problem);
            }
            Event::Quarantined { server, tool, reason } => {
                self.write(name, &format!("{server}/{tool}: {reason}"));
            }
            Event::Denied { tool, message, .. } => {
                self.write(name, &format!("{tool}: {message}"));
                self.remember(tool, message);
            }
            Event::ToolResult { tool, failure, is_error, took, .. } => {
                if let Some(reason) = reason(bridge, tool, *failure, *is_error) {
                    self.write("tool.failed", &format!("{tool} after {took:.1?}: {reason}"));
                    self.remember(tool, &reason);
                }
            }
            Event::Missed(count) => self.write(name, &format!("{count} events")),
            _ => {}
        }
    }

    fn remember(&self, of: &str, reason: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.truncate(KEPT_FAILURES - 1);
        let (of, reason) = (of.to_owned(), self.clean(reason));
        failures.push_front(Failure { at: SystemTime::now(), of, reason });
    }

    fn write(&self, event: &str, text: &str) {
        let Some(log) = &self.log else { return };
        let text =
            self.redactor.lock().unwrap_or_else(PoisonError::into_inner).redact(text).into_owned();
        if let Err(error) = log.write(event, &text)
            && !self.has_complained.swap(true, Ordering::Relaxed)
        {
            self.out.remark(format!("the log cannot be written: {error}"));
        }
    }

    /// Text of others, without secrets and in one line.
    fn clean(&self, text: &str) -> String {
        let redactor = self.redactor.lock().unwrap_or_else(PoisonError::into_inner);
        brief(&redactor.redact(text), LONGEST_REASON)
    }
}

/// Why a call failed. `None` if it did not, or if an event of its own says so.
fn reason(
    bridge: &Bridge,
    tool: &str,
    failure: Option<FailureKind>,
    is_error: bool,
) -> Option<String> {
    let Some(kind) = failure else {
        return is_error.then(|| "the tool reported an error".into());
    };
    if kind == FailureKind::Denied {
        return None;
    }
    let failed = bridge.failed_calls();
    let failed = failed.iter().rev().find(|call| call.tool == *tool && call.failure.kind == kind);
    Some(failed.map_or_else(|| kind.as_str().to_owned(), |call| call.text.clone()))
}

/// A client that is connected.
pub(super) struct Client {
    journal: Arc<Journal>,
    number: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.journal.clients.fetch_sub(1, Ordering::Relaxed);
        self.journal.write("client.left", &self.number.to_string());
    }
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
