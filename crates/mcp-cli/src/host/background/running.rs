//! One server of the background host, and the clients attached to it.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    future::poll_fn,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use mcp_client::types::method;
use mcp_jsonrpc::{Message, RequestId};
use mcp_safe::secrets::Redactor;
use mcp_server::http::Stream;
use mcp_transport::{
    Link, Outlet,
    diagnostics::{CloseReport, Diagnostics},
};
use serde_json::{Value, json};
use tokio::{
    io::BufReader,
    sync::{Notify, mpsc},
    task::JoinHandle,
    time::Instant,
};

use super::{
    exchange::{ClientId, Delivery, Exchange},
    kept,
    wire::{self, ServerEnd},
};

/// A client's connection, after the greeting.
pub(super) type ClientStream = BufReader<Box<dyn Stream>>;

/// Messages queued for a client that does not read. A client with more is disconnected.
const QUEUE: usize = 1_024;
/// The number of messages remembered with their contents.
const REMEMBERED: usize = 64;
/// The maximum number of pending requests that are tracked for `last_failure`.
const MOST_OPEN: usize = 10_000;
/// How long clients have to read queued messages after their server has ended.
const END_REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// A running server.
pub(super) struct Running {
    pub(super) name: String,
    pub(super) digest: String,
    pub(super) folder: PathBuf,
    started: SystemTime,
    joins: mpsc::Sender<ClientStream>,
    ending: Arc<Notify>,
    facts: Arc<Mutex<Facts>>,
    redactor: Arc<Redactor>,
    outlet: Arc<dyn Outlet>,
    task: JoinHandle<()>,
}

/// The data behind `mcp status` and `mcp logs`.
#[derive(Debug)]
struct Facts {
    clients: usize,
    in_flight: usize,
    calls: u64,
    /// When a client last connected, sent a message, or left.
    used: Instant,
    last_failure: Option<String>,
    /// The requests of users in flight.
    calls_open: HashSet<RequestId>,
    messages: VecDeque<(u64, bool, String)>,
    /// The diagnostics of the link after it ended.
    end: Option<Diagnostics>,
}

impl Running {
    /// Takes over the link of a server whose secrets `redactor` knows.
    pub(super) fn new(
        name: &str,
        digest: &str,
        folder: PathBuf,
        link: Link,
        redactor: Redactor,
    ) -> Self {
        let redactor = Arc::new(redactor);
        let (joins, joining) = mpsc::channel(16);
        let ending = Arc::new(Notify::new());
        let facts = Arc::new(Mutex::new(Facts {
            clients: 0,
            in_flight: 0,
            calls: 0,
            used: Instant::now(),
            last_failure: None,
            calls_open: HashSet::new(),
            messages: VecDeque::new(),
            end: None,
        }));
        let outlet = link.outlet.clone();
        let pump = Pump {
            outlet: outlet.clone(),
            exchange: Exchange::default(),
            clients: HashMap::new(),
            facts: facts.clone(),
            redactor: redactor.clone(),
        };
        let task = tokio::spawn(pump.run(link, joining, ending.clone()));
        Self {
            name: name.to_owned(),
            digest: digest.to_owned(),
            folder,
            started: SystemTime::now(),
            joins,
            ending,
            facts,
            redactor,
            outlet,
            task,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Attaches a client. If the server has ended meanwhile, tells the client how.
    pub(super) async fn join(&self, stream: ClientStream) {
        let Err(mpsc::error::SendError(mut stream)) = self.joins.send(stream).await else { return };
        let end = self.facts().end.as_ref().map(ServerEnd::of).unwrap_or_default().to_message();
        let _ =
            tokio::time::timeout(END_REPORT_TIMEOUT, wire::write_message(&mut stream, &end)).await;
    }

    /// Shuts the server down.
    pub(super) async fn end(self) {
        self.ending.notify_one();
        let _ = self.task.await;
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_clients(&self) -> bool {
        self.facts().clients > 0
    }

    pub(super) fn used(&self) -> Instant {
        self.facts().used
    }

    pub(super) fn status(&self) -> Value {
        let facts = self.facts();
        json!({
            "name": self.name,
            "state": if self.task.is_finished() { "ended" } else { "running" },
            "folder": self.folder,
            "startedMs": millis(self.started),
            "clients": facts.clients,
            "callsInFlight": facts.in_flight,
            "calls": facts.calls,
            "lastFailure": facts.last_failure,
        })
    }

    /// Returns its stderr and the last messages, with secrets redacted.
    pub(super) fn logs(&self) -> Value {
        let end = self.facts().end.clone();
        let diagnostics = end.unwrap_or_else(|| self.outlet.diagnostics());
        let clean = |text: &String| self.redactor.redact(text).into_owned();
        let facts = self.facts();
        let messages: Vec<Value> = facts
            .messages
            .iter()
            .map(|(at, sent, text)| json!({"at": at, "sent": sent, "text": text}))
            .collect();
        json!({
            "server": self.name,
            "exit": diagnostics.exit.map(|exit| exit.to_string()),
            "stderr": diagnostics.stderr.iter().map(clean).collect::<Vec<_>>(),
            "skippedLines": diagnostics.skipped_lines,
            "firstSkipped": diagnostics.first_skipped.as_ref().map(clean),
            "frames": diagnostics.frames.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "messages": messages,
        })
    }
}

pub(super) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Forwards messages between the server and its clients.
struct Pump {
    outlet: Arc<dyn Outlet>,
    exchange: Exchange,
    clients: HashMap<ClientId, Client>,
    facts: Arc<Mutex<Facts>>,
    redactor: Arc<Redactor>,
}

struct Client {
    queue: mpsc::Sender<Message>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

impl Pump {
    async fn run(
        mut self,
        mut link: Link,
        mut joining: mpsc::Receiver<ClientStream>,
        ending: Arc<Notify>,
    ) {
        let (heard, mut hearing) = mpsc::channel::<(ClientId, Option<Message>)>(256);
        let mut next: ClientId = 0;
        let report = loop {
            let outlet = self.outlet.clone();
            let from_client = async {
                // Wait for a server that does not read, so that the queue to it does not grow.
                poll_fn(|cx| outlet.poll_ready(cx)).await;
                hearing.recv().await
            };
            tokio::select! {
                batch = wire::receive(&mut *link.inlet) => match batch {
                    Ok(messages) => messages.into_iter().for_each(|message| self.take_from_server(message)),
                    Err(report) => break report,
                },
                Some(stream) = joining.recv() => {
                    next += 1;
                    self.join(next, stream, heard.clone());
                }
                Some((client, message)) = from_client => self.take_from_client(client, message),
                () = ending.notified() => self.outlet.close(),
            }
            self.note();
        };
        self.record_end(&report);
        // From here on `Running::join` reports the end to new clients; others get the report below.
        joining.close();
        while let Some(stream) = joining.recv().await {
            next += 1;
            self.join(next, stream, heard.clone());
        }
        self.report_end(&report).await;
    }

    fn join(
        &mut self,
        id: ClientId,
        stream: ClientStream,
        heard: mpsc::Sender<(ClientId, Option<Message>)>,
    ) {
        let (read, mut write) = tokio::io::split(stream);
        let (queue, mut queued) = mpsc::channel::<Message>(QUEUE);
        let reader = tokio::spawn(async move {
            let mut read = BufReader::new(read);
            while let Ok(Some(message)) = wire::read_message(&mut read).await {
                if heard.send((id, Some(message))).await.is_err() {
                    return;
                }
            }
            let _ = heard.send((id, None)).await;
        });
        let writer = tokio::spawn(async move {
            while let Some(message) = queued.recv().await {
                if wire::write_message(&mut write, &message).await.is_err() {
                    return;
                }
            }
        });
        self.exchange.join(id);
        self.clients.insert(id, Client { queue, reader, writer });
    }

    fn take_from_client(&mut self, client: ClientId, message: Option<Message>) {
        let out = match message {
            Some(message) => self.exchange.take_from_client(client, message),
            None => self.drop_client(client),
        };
        self.deliver(out);
    }

    fn take_from_server(&mut self, message: Message) {
        self.remember(false, &message);
        let out = self.exchange.take_from_server(message);
        self.deliver(out);
    }

    fn drop_client(&mut self, client: ClientId) -> Vec<Delivery> {
        if let Some(client) = self.clients.remove(&client) {
            client.reader.abort();
            client.writer.abort();
        }
        self.exchange.leave(client)
    }

    fn deliver(&mut self, mut out: Vec<Delivery>) {
        while !out.is_empty() {
            let mut more = Vec::new();
            for delivery in out {
                match delivery {
                    Delivery::ToServer(message) => {
                        self.remember(true, &message);
                        // Fails only if the link has ended, which is reported elsewhere.
                        let _ = self.outlet.send(message);
                    }
                    Delivery::ToClient(id, message) => {
                        let sent =
                            self.clients.get(&id).map(|client| client.queue.try_send(message));
                        if matches!(sent, Some(Err(_))) {
                            more.extend(self.drop_client(id));
                        }
                    }
                }
            }
            out = more;
        }
    }

    fn remember(&self, sent: bool, message: &Message) {
        // Cut before anything else: a message may be as long as the longest line, and all clients wait.
        let message = &kept::bounded(message);
        let text = kept::text(message, &self.redactor);
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            Message::Request(request) if sent && is_call(&request.method) => {
                // Calls that were cancelled get no response.
                if facts.calls_open.len() == MOST_OPEN {
                    facts.calls_open.clear();
                }
                facts.calls_open.insert(request.id.clone());
            }
            Message::Response(response) if !sent => {
                let is_call = response.id.as_ref().is_some_and(|id| facts.calls_open.remove(id));
                // A server may lack an optional method: only the user's requests fail.
                if let Err(error) = &response.outcome
                    && is_call
                {
                    let reason = self.redactor.redact(&error.message);
                    facts.last_failure = Some(reason.chars().take(300).collect());
                }
            }
            _ => {}
        }
        facts.calls += u64::from(sent && message.method() == Some(method::TOOLS_CALL));
        if facts.messages.len() == REMEMBERED {
            facts.messages.pop_front();
        }
        facts.messages.push_back((millis(SystemTime::now()), sent, text));
    }

    fn note(&self) {
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        (facts.clients, facts.in_flight) = self.exchange.counts();
        facts.used = Instant::now();
    }

    fn record_end(&self, report: &CloseReport) {
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        facts.end = Some(report.diagnostics.clone());
        facts.clients = 0;
        facts.in_flight = 0;
        facts.last_failure = Some(self.redactor.redact(&report.to_string()).into_owned());
    }

    /// Tells clients how the server ended, and disconnects them.
    async fn report_end(self, report: &CloseReport) {
        let end = ServerEnd::of(&report.diagnostics);
        let deadline = Instant::now() + END_REPORT_TIMEOUT;
        for client in self.clients.into_values() {
            let _ = client.queue.try_send(end.to_message());
            drop(client.queue);
            client.reader.abort();
            let _ = tokio::time::timeout_at(deadline, client.writer).await;
        }
    }
}

/// Whether a request is made for a user, rather than to learn what the server supports.
fn is_call(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_CALL
            | method::RESOURCES_READ
            | method::PROMPTS_GET
            | method::COMPLETION_COMPLETE
    )
}

#[cfg(test)]
mod tests {
    use mcp_transport::{Connect as _, InProcess};

    use super::*;

    #[tokio::test]
    async fn client_that_joins_after_the_end_is_told_how_the_server_ended() {
        let link = InProcess::new(|link| Box::pin(async { drop(link) })).connect().await.unwrap();
        let server = Running::new("broken", "digest", PathBuf::new(), link, Redactor::default());
        while !server.is_over() {
            tokio::task::yield_now().await;
        }
        let (host, client) = tokio::io::duplex(4_096);
        let host: Box<dyn Stream> = Box::new(host);
        server.join(BufReader::new(host)).await;
        let told = wire::read_message(&mut BufReader::new(client)).await.unwrap().unwrap();
        assert_eq!(told.method(), ServerEnd::default().to_message().method());
    }
}
