//! Scripted servers, reached in process on tokio's paused clock.

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use mcp_bridge::{
    Bridge, BridgeOptions, CallContext, Event, Events, RawJson, ServerConfig, ServerState,
    ToolOutcome,
    connect::{Connector, ServerRoute},
    tool::BoxFuture,
};
use mcp_config::{Sdk, Transport};
use mcp_jsonrpc::{
    Delivery, ErrorClass, ErrorObject, FailureCause, Loss, Message, Notification, Request,
    RequestId, Response,
};
use mcp_transport::{
    Connect, ConnectError, Inbound, Inlet, Link, Locality, Outlet, diagnostics::CloseReport, pair,
};
use serde_json::{Value, json};

/// The result of a tool call.
pub(crate) enum Reply {
    Text(&'static str),
    Result(Value),
    Error(i64, &'static str),
    /// The link loses the request, with this error class.
    Lost(ErrorClass, Delivery),
    /// No response.
    Never,
    /// The server dies without a response.
    Die,
    /// The server sends this log message and then responds.
    Logged(Value),
    /// The server sends an elicitation request, and responds with its result.
    Elicit,
}

type OnCall = Box<dyn FnMut(&str, &Value) -> Reply + Send>;

/// A scripted server with all its connections.
#[derive(Clone)]
pub(crate) struct Fake(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    connects: AtomicUsize,
    calls: AtomicUsize,
}

struct State {
    tools: Value,
    prompts: Value,
    resources: Value,
    content: String,
    instructions: Option<String>,
    on_call: OnCall,
    refusals: VecDeque<ConnectError>,
    refuse_always: Option<fn() -> ConnectError>,
    is_mute: bool,
    is_endless: bool,
    locality: Locality,
    starts_in: Duration,
    links: Vec<Arc<dyn Outlet>>,
    seen: Vec<(String, Value)>,
    active_starts: usize,
    most_starts: usize,
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}})
}

impl Fake {
    pub(crate) fn new(tools: &[&str]) -> Self {
        let state = State {
            tools: tools.iter().map(|name| tool(name)).collect(),
            prompts: json!([]),
            resources: json!([]),
            content: "contents".into(),
            instructions: None,
            on_call: Box::new(|_, _| Reply::Text("done")),
            refusals: VecDeque::new(),
            refuse_always: None,
            is_mute: false,
            is_endless: false,
            locality: Locality::Local,
            starts_in: Duration::ZERO,
            links: Vec::new(),
            seen: Vec::new(),
            active_starts: 0,
            most_starts: 0,
        };
        Self(Arc::new(Inner {
            state: Mutex::new(state),
            connects: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
        }))
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.state.lock().unwrap())
    }

    pub(crate) fn tools(&self, tools: Value) -> &Self {
        self.with(|state| state.tools = tools);
        self
    }

    pub(crate) fn prompts(&self, prompts: Value) -> &Self {
        self.with(|state| state.prompts = prompts);
        self
    }

    pub(crate) fn resources(&self, resources: Value) -> &Self {
        self.with(|state| state.resources = resources);
        self
    }

    /// Sets the content of every resource.
    pub(crate) fn content(&self, text: String) -> &Self {
        self.with(|state| state.content = text);
        self
    }

    pub(crate) fn instructions(&self, text: &str) -> &Self {
        self.with(|state| state.instructions = Some(text.to_owned()));
        self
    }

    pub(crate) fn on_call(
        &self,
        reply: impl FnMut(&str, &Value) -> Reply + Send + 'static,
    ) -> &Self {
        self.with(|state| state.on_call = Box::new(reply));
        self
    }

    /// Refuses the next connection.
    pub(crate) fn refuse_once(&self, error: ConnectError) -> &Self {
        self.with(|state| state.refusals.push_back(error));
        self
    }

    pub(crate) fn refuse(&self, error: Option<fn() -> ConnectError>) -> &Self {
        self.with(|state| state.refuse_always = error);
        self
    }

    pub(crate) fn is_refusing(&self) -> bool {
        self.with(|state| state.refuse_always.is_some())
    }

    pub(crate) fn remote(&self) -> &Self {
        self.with(|state| state.locality = Locality::Remote);
        self
    }

    pub(crate) fn starts_in(&self, time: Duration) -> &Self {
        self.with(|state| state.starts_in = time);
        self
    }

    /// Returns another page of tools for every cursor.
    pub(crate) fn endless(&self) -> &Self {
        self.with(|state| state.is_endless = true);
        self
    }

    /// Sends a message on all connections.
    pub(crate) fn send(&self, message: &Message) {
        let links = self.with(|state| state.links.clone());
        for link in links {
            let _ = link.send(message.clone());
        }
    }

    /// Stops responding, also to pings.
    pub(crate) fn mute(&self) -> &Self {
        self.with(|state| state.is_mute = true);
        self
    }

    /// Closes every connection.
    pub(crate) fn kill(&self) {
        let links = self.with(|state| std::mem::take(&mut state.links));
        for link in links {
            link.close();
        }
    }

    pub(crate) fn notify(&self, method: &'static str) {
        self.notify_with(method, None);
    }

    pub(crate) fn notify_with(&self, method: &'static str, params: Option<Value>) {
        let params = params.map(|params| RawJson::encode(&params).unwrap());
        let links = self.with(|state| state.links.clone());
        for link in links {
            let news = Notification::new(method, params.clone());
            let _ = link.send(Message::Notification(news));
        }
    }

    pub(crate) fn connects(&self) -> usize {
        self.0.connects.load(Ordering::SeqCst)
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.calls.load(Ordering::SeqCst)
    }

    /// The params of all requests of this method so far.
    pub(crate) fn seen(&self, method: &str) -> Vec<Value> {
        self.with(|state| {
            let of = state.seen.iter().filter(|(known, _)| known == method);
            of.map(|(_, params)| params.clone()).collect()
        })
    }

    fn answer(&self, request: &Request, link: &Arc<dyn Outlet>) -> Option<Message> {
        let params = request.params.as_ref().map_or("null", RawJson::as_str);
        let params: Value = serde_json::from_str(params).unwrap();
        self.with(|state| state.seen.push((request.method.to_string(), params.clone())));
        if self.with(|state| state.is_mute) {
            return None;
        }
        let ok = |value: Value| Some(request.answer(Ok(RawJson::encode(&value).unwrap())));
        match &*request.method {
            "initialize" => ok(self.with(|state| {
                let mut capabilities = json!({"tools": {"listChanged": true}, "prompts": {}});
                if state.resources != json!([]) {
                    capabilities["resources"] = json!({"subscribe": true});
                }
                json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "fake", "version": "1"},
                    "instructions": state.instructions,
                    "capabilities": capabilities})
            })),
            "ping" | "resources/subscribe" | "resources/unsubscribe" => ok(json!({})),
            "tools/list" => ok(self.with(|state| {
                if !state.is_endless {
                    return json!({ "tools": state.tools });
                }
                let page: usize = params["cursor"].as_str().map_or(0, |at| at.parse().unwrap());
                let tools: Vec<_> = (0..100).map(|n| tool(&format!("t{}", page * 100 + n))).collect();
                json!({"tools": tools, "nextCursor": (page + 1).to_string()})
            })),
            "prompts/list" => ok(self.with(|state| json!({ "prompts": state.prompts }))),
            "resources/list" => ok(self.with(|state| json!({ "resources": state.resources }))),
            "resources/read" => {
                let text = self.with(|state| state.content.clone());
                ok(json!({"contents": [{"uri": params["uri"], "text": text}]}))
            }
            "prompts/get" => ok(json!({"messages": [{"role": "user",
                "content": {"type": "text", "text": params["arguments"].to_string()}}]})),
            "completion/complete" => ok(json!({"completion": {"values": ["one", "two"]}})),
            "tools/call" => self.call(request, &params, link),
            _ => {
                let error = ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, "no such method");
                Some(request.answer(Err(error)))
            }
        }
    }

    fn call(&self, request: &Request, params: &Value, link: &Arc<dyn Outlet>) -> Option<Message> {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        let name = params["name"].as_str().unwrap().to_owned();
        let reply = self.with(|state| (state.on_call)(&name, &params["arguments"]));
        let ok = |value: Value| Some(request.answer(Ok(RawJson::encode(&value).unwrap())));
        match reply {
            Reply::Text(text) => ok(json!({"content": [{"type": "text", "text": text}]})),
            Reply::Result(result) => ok(result),
            Reply::Logged(message) => {
                let log =
                    Notification::new("notifications/message", RawJson::encode(&message).ok());
                let _ = link.send(Message::Notification(log));
                ok(json!({"content": [{"type": "text", "text": "done"}]}))
            }
            Reply::Error(code, text) => Some(request.answer(Err(ErrorObject::new(code, text)))),
            Reply::Lost(class, delivery) => {
                let text = format!("{class:?} {delivery:?}");
                Some(request.answer(Err(ErrorObject::new(LOST, text))))
            }
            Reply::Never => None,
            Reply::Die => {
                self.kill();
                None
            }
            Reply::Elicit => {
                let params = json!({"message": "who?", "requestedSchema":
                    {"type": "object", "properties": {"name": {"type": "string"}}}});
                let id = format!("ask-{}", request.id);
                let question =
                    Request::new(&*id, "elicitation/create", RawJson::encode(&params).ok());
                let _ = link.send(Message::Request(question));
                self.with(|state| state.seen.push((id, json!(request.id.as_integer()))));
                None
            }
        }
    }

    /// Returns the user's answer as the result of the call that elicited it.
    fn answered(&self, response: &Response) -> Option<Message> {
        let id = response.id.as_ref()?.as_text()?.to_owned();
        let call = self.with(|state| {
            state.seen.iter().find(|(known, _)| *known == id).map(|(_, call)| call.clone())
        })?;
        let text = match &response.outcome {
            Ok(result) => result.as_str().to_owned(),
            Err(error) => error.to_string(),
        };
        let result = json!({"content": [{"type": "text", "text": text}]});
        Some(Message::Response(Response {
            id: Some(RequestId::from(call.as_i64()?)),
            outcome: Ok(RawJson::encode(&result).unwrap()),
        }))
    }
}

/// The error code that makes the link lose a request.
const LOST: i64 = -99_999;

struct FakeInlet(Box<dyn Inlet>);

impl Inlet for FakeInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let already = batch.len();
        let polled = self.0.poll_recv(cx, batch);
        for inbound in &mut batch[already..] {
            let Inbound::Message(Message::Response(Response { id: Some(id), outcome: Err(e) })) =
                inbound
            else {
                continue;
            };
            if e.code == LOST {
                let class = match &e.message {
                    text if text.starts_with("Session") => ErrorClass::Session,
                    text if text.starts_with("Auth") => ErrorClass::Auth,
                    text if text.starts_with("Permanent") => ErrorClass::Permanent,
                    _ => ErrorClass::Transient,
                };
                let delivery = match &e.message {
                    text if text.ends_with("NotSent") => Delivery::NotSent,
                    text if text.ends_with("Executed") => Delivery::Executed,
                    _ => Delivery::Unknown,
                };
                let secret = "secret body: Bearer abcdef";
                let failure = Loss::new(delivery, class, FailureCause::Other, secret).into();
                *inbound = Inbound::Lost { id: id.clone(), failure };
            }
        }
        polled
    }
}

impl Connect for Fake {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            self.0.connects.fetch_add(1, Ordering::SeqCst);
            let refusal = self.with(|state| {
                state.refusals.pop_front().or_else(|| state.refuse_always.map(|refuse| refuse()))
            });
            let starts_in = self.with(|state| {
                state.active_starts += 1;
                state.most_starts = state.most_starts.max(state.active_starts);
                state.starts_in
            });
            tokio::time::sleep(starts_in).await;
            self.with(|state| state.active_starts -= 1);
            if let Some(refusal) = refusal {
                return Err(refusal);
            }
            let (host, server) = pair();
            self.with(|state| state.links.push(server.outlet.clone()));
            let (fake, outlet, mut inlet) = (self.clone(), server.outlet, server.inlet);
            tokio::spawn(async move {
                let mut batch = Vec::new();
                while poll_fn(|cx| inlet.poll_recv(cx, &mut batch)).await.is_ok() {
                    for inbound in batch.drain(..) {
                        let answer = match inbound.read() {
                            Inbound::Message(Message::Request(request)) => {
                                fake.answer(&request, &outlet)
                            }
                            Inbound::Message(Message::Response(response)) => {
                                fake.answered(&response)
                            }
                            _ => None,
                        };
                        if let Some(answer) = answer {
                            let _ = outlet.send(answer);
                        }
                    }
                }
            });
            Ok(Link { outlet: host.outlet, inlet: Box::new(FakeInlet(host.inlet)) })
        })
    }

    fn locality(&self) -> Locality {
        self.with(|state| state.locality)
    }
}

/// A connector that finds fakes by server name.
#[derive(Clone, Default)]
pub(crate) struct Fakes(HashMap<String, Fake>);

impl Connector for Fakes {
    fn open(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        let fake = self.0.get(config.name.as_str());
        let fake = fake.ok_or_else(|| ConnectError::InvalidOptions("no such fake".into()))?;
        Ok(ServerRoute::new(Arc::new(fake.clone())))
    }
}

pub(crate) fn fakes<'a>(all: impl IntoIterator<Item = (&'a str, &'a Fake)>) -> Fakes {
    Fakes(all.into_iter().map(|(name, fake)| (name.to_owned(), fake.clone())).collect())
}

pub(crate) fn config(name: &str) -> ServerConfig {
    let mut config = ServerConfig::new(name.parse().unwrap(), Transport::Sdk(Sdk::default()));
    config.trust = true;
    config
}

/// Options that connect to these fakes.
pub(crate) fn options(fakes: &Fakes) -> BridgeOptions {
    let mut options = BridgeOptions::default();
    options.connector = Arc::new(fakes.clone());
    options
}

/// A started bridge with one trusted server called `srv`.
pub(crate) async fn one(fake: &Fake, change: impl FnOnce(&mut BridgeOptions)) -> Bridge {
    let mut options = options(&fakes([("srv", fake)]));
    change(&mut options);
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(config("srv"));
    bridge.start().await;
    bridge
}

pub(crate) fn names(bridge: &Bridge) -> Vec<String> {
    bridge.snapshot().tools().iter().map(|tool| tool.spec().name.clone()).collect()
}

pub(crate) fn args(value: &Value) -> RawJson {
    RawJson::encode(value).unwrap()
}

pub(crate) async fn call(bridge: &Bridge, name: &str) -> ToolOutcome {
    bridge.call(name, RawJson::empty_object(), CallContext::default()).await
}

pub(crate) async fn reached(bridge: &Bridge, server: &str, is_it: fn(&ServerState) -> bool) {
    let reached = bridge.wait_for(server, |status| is_it(&status.state));
    let limit = Duration::from_secs(1_000_000);
    tokio::time::timeout(limit, reached).await.expect("the state is reached").unwrap();
}

/// Waits until all tasks are idle.
pub(crate) async fn settled() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// The names of all events so far.
pub(crate) fn told(events: &mut Events) -> Vec<&'static str> {
    std::iter::from_fn(|| events.try_next()).map(|event| event.name()).collect()
}

pub(crate) fn all(events: &mut Events) -> Vec<Event> {
    std::iter::from_fn(|| events.try_next()).collect()
}

impl Fake {
    pub(crate) fn most_starts(&self) -> usize {
        self.with(|state| state.most_starts)
    }
}
