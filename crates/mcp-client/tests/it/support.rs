//! A scripted server at the other end of an in-process link.
//!
//! Tests run on tokio's paused clock, which advances only when every task waits. A wait that would hang runs into its
//! timeout at once, and after [`settled`] no task can make progress.

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::future::BoxFuture;
use mcp_client::{
    Client, ClientCapabilities, ClientOptions, ElicitRequest, ElicitResult, EraChoice, Handler,
    HandshakeError, ServerEvent,
    types::{CreateMessageRequest, CreateMessageResult, Root, events::Refusal},
};
use mcp_jsonrpc::{
    ErrorObject, Failure, Message, Notification, RawJson, Request, RequestId, Response,
};
use mcp_transport::{
    Connect, ConnectError, Inbound, Inlet, Link, Locality, Outlet, diagnostics::CloseReport, pair,
};
use serde_json::Value;
use tokio::sync::mpsc;

/// Longer than any timeout that a test sets.
const FOR_EVER: Duration = Duration::from_secs(1_000_000);

/// Waits until no other task can make progress.
pub(crate) async fn settled() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let never = |_| panic!("never happened: {what}");
    tokio::time::timeout(FOR_EVER, future).await.unwrap_or_else(never)
}

/// A connector that passes the server end of each connection to the test.
pub(crate) struct Wire(mpsc::UnboundedSender<Server>);

/// The server ends, in the order in which they were opened.
pub(crate) struct Servers(mpsc::UnboundedReceiver<Server>);

pub(crate) fn wire() -> (Wire, Servers) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Wire(sender), Servers(receiver))
}

impl Connect for Wire {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let (host, server) = pair();
            let server = Server {
                outlet: server.outlet,
                inlet: server.inlet,
                arrived: VecDeque::new(),
                is_over: false,
            };
            let gone = |_| ConnectError::Unavailable("the test is over".into());
            self.0.send(server).map_err(gone)?;
            Ok(Link { outlet: host.outlet, inlet: Box::new(Limited(host.inlet)) })
        })
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

/// The largest result that is delivered.
pub(crate) const LARGEST: usize = 100_000;

/// Drops responses that are too large, like links with a size limit.
struct Limited(Box<dyn Inlet>);

impl Inlet for Limited {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let end = self.0.poll_recv(cx, batch);
        for inbound in batch {
            if let Inbound::Message(Message::Response(Response {
                id: Some(id),
                outcome: Ok(result),
            })) = inbound
            {
                let size = result.as_str().len();
                if size > LARGEST {
                    let failure = Failure::TooLarge { size, limit: LARGEST };
                    *inbound = Inbound::Lost { id: id.clone(), failure };
                }
            }
        }
        end
    }
}

impl Servers {
    pub(crate) async fn next(&mut self) -> Server {
        soon("a connection", self.0.recv()).await.expect("the connector lives")
    }

    /// The number of connections that the test has not taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.0.len()
    }
}

/// The server's end of one connection.
pub(crate) struct Server {
    pub(crate) outlet: Arc<dyn Outlet>,
    inlet: Box<dyn Inlet>,
    arrived: VecDeque<Message>,
    is_over: bool,
}

impl Server {
    /// The next message; `None` once the client has disconnected.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        while self.arrived.is_empty() && !self.is_over {
            let mut batch = Vec::new();
            let end = soon("a message", poll_fn(|cx| self.inlet.poll_recv(cx, &mut batch))).await;
            self.take(batch, end.is_err());
        }
        self.arrived.pop_front()
    }

    fn take(&mut self, batch: Vec<Inbound>, is_over: bool) {
        self.is_over = is_over;
        self.arrived.extend(batch.into_iter().filter_map(|inbound| match inbound {
            Inbound::Message(message) => Some(message),
            _ => None,
        }));
    }

    /// The next message, which must be a request of `method`.
    pub(crate) async fn request(&mut self, method: &str) -> Request {
        match self.next().await {
            Some(Message::Request(request)) if request.method == method => request,
            other => panic!("expected a request `{method}`, got {}", show(other.as_ref())),
        }
    }

    /// The next message, which must be a notification of `method`.
    pub(crate) async fn notification(&mut self, method: &str) -> Notification {
        match self.next().await {
            Some(Message::Notification(told)) if told.method == method => told,
            other => panic!("expected a notification `{method}`, got {}", show(other.as_ref())),
        }
    }

    /// The next message, which must be the response to `id`.
    pub(crate) async fn answer_to(
        &mut self,
        id: impl Into<RequestId>,
    ) -> Result<Value, ErrorObject> {
        let id = id.into();
        match self.next().await {
            Some(Message::Response(Response { id: Some(to), outcome })) if to == id => {
                outcome.map(|raw| value(&raw))
            }
            other => panic!("expected an answer to {id}, got {}", show(other.as_ref())),
        }
    }

    /// All messages of the client that the test has not read, one per line.
    pub(crate) async fn unread(&mut self) -> Vec<String> {
        settled().await;
        let mut batch = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        if !self.is_over
            && let Poll::Ready(end) = self.inlet.poll_recv(&mut cx, &mut batch)
        {
            self.take(batch, end.is_err());
        }
        self.arrived.drain(..).map(|message| show(Some(&message))).collect()
    }

    pub(crate) fn answer(&self, request: &Request, result: &str) {
        self.send(request.answer(Ok(raw(result))));
    }

    pub(crate) fn refuse(&self, request: &Request, code: i64, message: &str) {
        self.send(request.answer(Err(ErrorObject::new(code, message))));
    }

    pub(crate) fn refuse_with(&self, request: &Request, code: i64, data: &str) {
        let error = ErrorObject { data: Some(raw(data)), ..ErrorObject::new(code, "no") };
        self.send(request.answer(Err(error)));
    }

    pub(crate) fn tell(&self, method: &'static str, params: &str) {
        self.send(Message::Notification(Notification::new(method, Some(raw(params)))));
    }

    pub(crate) fn ask(&self, id: impl Into<RequestId>, method: &'static str, params: &str) {
        self.send(Message::Request(Request::new(id, method, Some(raw(params)))));
    }

    pub(crate) fn progress(&self, of: &Request, progress: f64) {
        let token = params(of)["_meta"]["progressToken"].clone();
        self.tell(
            "notifications/progress",
            &format!(r#"{{"progressToken":{token},"progress":{progress}}}"#),
        );
    }

    pub(crate) fn send(&self, message: Message) {
        self.outlet.send(message).expect("the client is there");
    }

    /// Completes the handshake as a modern server with all capabilities.
    pub(crate) async fn greet_modern(&mut self) {
        let probe = self.request("server/discover").await;
        self.answer(&probe, DISCOVERED);
    }

    /// Completes the handshake as a legacy server that is not probed.
    pub(crate) async fn greet_legacy(&mut self, version: &str) {
        let initialize = self.request("initialize").await;
        self.answer(&initialize, &initialized(version));
        self.notification("notifications/initialized").await;
    }
}

pub(crate) const DISCOVERED: &str = r#"{
    "resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":1000,"cacheScope":"public",
    "capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},
        "prompts":{"listChanged":true},"completions":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},
    "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1"}}}"#;

pub(crate) fn initialized(version: &str) -> String {
    format!(
        r#"{{"protocolVersion":"{version}","serverInfo":{{"name":"scripted","version":"1"}},
        "capabilities":{{"tools":{{"listChanged":true}},"prompts":{{"listChanged":true}},"logging":{{}},
            "resources":{{"subscribe":true,"listChanged":true}},
            "tasks":{{"cancel":{{}},"requests":{{"tools":{{"call":{{}}}}}}}}}}}}"#
    )
}

/// A client connected to a modern server.
pub(crate) async fn modern(options: ClientOptions) -> (Client, Server) {
    let (wire, mut servers) = wire();
    let (client, server) = tokio::join!(Client::connect(&wire, options), async {
        let mut server = servers.next().await;
        server.greet_modern().await;
        server
    });
    (client.expect("a modern server"), server)
}

/// A client connected to a legacy server.
pub(crate) async fn legacy(mut options: ClientOptions) -> (Client, Server) {
    options.era = EraChoice::Legacy;
    let (wire, mut servers) = wire();
    let (client, server) = tokio::join!(Client::connect(&wire, options), async {
        let mut server = servers.next().await;
        server.greet_legacy("2025-11-25").await;
        server
    });
    (client.expect("a legacy server"), server)
}

/// The outcome of a connection in one line.
pub(crate) fn outcome(result: &Result<Client, HandshakeError>) -> String {
    match result {
        Ok(client) => client.server().version.to_string(),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).expect("the test writes JSON")
}

pub(crate) fn value(raw: &RawJson) -> Value {
    serde_json::from_str(raw.as_str()).expect("a raw value is JSON")
}

pub(crate) fn params(request: &Request) -> Value {
    request.params.as_ref().map_or(Value::Null, value)
}

pub(crate) fn told(notification: &Notification) -> Value {
    notification.params.as_ref().map_or(Value::Null, value)
}

/// A message in one line.
pub(crate) fn show(message: Option<&Message>) -> String {
    match message {
        None => "the end of the connection".into(),
        Some(message) => {
            let mut line = Vec::new();
            message.write(&mut line);
            String::from_utf8(line).expect("messages are text")
        }
    }
}

/// A host with configurable capabilities that records requests and events.
#[derive(Clone, Default)]
pub(crate) struct Host {
    pub(crate) offered: ClientCapabilities,
    pub(crate) heard: Arc<Mutex<Vec<ServerEvent>>>,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    pub(crate) answer: Option<ElicitResult>,
    /// Whether it never responds to a form.
    pub(crate) is_away: bool,
    /// How long it takes to respond to a form.
    pub(crate) takes: Duration,
}

impl Host {
    pub(crate) fn offering(offer: impl FnOnce(&mut ClientCapabilities)) -> Self {
        let mut host = Self::default();
        offer(&mut host.offered);
        host
    }

    pub(crate) fn options(&self) -> ClientOptions {
        let mut options = ClientOptions::default();
        options.handler = Arc::new(self.clone());
        options
    }

    pub(crate) fn heard(&self) -> Vec<ServerEvent> {
        std::mem::take(&mut *self.heard.lock().expect("the lock is not poisoned"))
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("the lock is not poisoned"))
    }

    fn note(&self, what: String) {
        self.asked.lock().expect("the lock is not poisoned").push(what);
    }
}

impl Handler for Host {
    fn capabilities(&self) -> ClientCapabilities {
        self.offered.clone()
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        self.note(request.url.clone().unwrap_or_else(|| request.message.clone()));
        Box::pin(async move {
            if self.is_away {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(self.takes).await;
            self.answer.clone().unwrap_or_else(ElicitResult::decline)
        })
    }

    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        self.note(format!("sample {}", request.messages.len()));
        Box::pin(async {
            match &self.answer {
                Some(_) => Ok(CreateMessageResult::text("a-model", "hello")),
                None => Err(Refusal::new("the user said no")),
            }
        })
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Refusal>> {
        self.note("roots".into());
        Box::pin(async { Ok(vec![Root::new("file:///workplace")]) })
    }

    fn event(&self, event: ServerEvent) {
        self.heard.lock().expect("the lock is not poisoned").push(event);
    }
}
