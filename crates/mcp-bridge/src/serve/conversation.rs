//! Our side of the conversation with one client: plain state, no sockets, no clock.
//!
//! Messages of the client and reports of running calls go in, messages and work come out. One
//! conversation is a pipe, an HTTP session, or a single modern HTTP request.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use mcp_client::{
    ClientCapabilities, Era, ErrorObject, LogLevel, ProtocolVersion, RawJson, RequestId,
};
use mcp_jsonrpc::{Message, Notification, ObjectWriter, Request, Response};
use tokio::{sync::oneshot, task::AbortHandle};

use crate::serve::{
    ask::Ask,
    call::Run,
    error::ServeError,
    inbox::{CallKey, Change, Inbox, Item, Line, Report, Step},
    listen::Listen,
    request::{Facts, Headers, Meta},
    shared::Shared,
    waiting::{Subject, Task},
    watched::Watch,
};

pub(crate) struct Conversation {
    pub(super) shared: Arc<Shared>,
    pub(super) inbox: Arc<Inbox>,
    /// Set by `initialize`.
    pub(super) session: Option<Session>,
    pub(super) calls: HashMap<CallKey, Running>,
    pub(super) by_id: HashMap<RequestId, CallKey>,
    pub(super) listens: Vec<Listen>,
    /// Requests of ours to an old client.
    asked: HashMap<i64, Asked>,
    next_ask: i64,
    outgoing: VecDeque<Outgoing>,
    jobs: VecDeque<Job>,
}

/// What `initialize` settled.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) log_level: LogLevel,
    pub(crate) subscriptions: HashMap<String, Watch>,
}

/// A request that is being worked on.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) id: RequestId,
    pub(crate) version: ProtocolVersion,
    pub(crate) progress_token: Option<RawJson>,
    pub(crate) last_progress: Option<f64>,
    /// The least bad lines its client wants to see.
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) line: Arc<Line>,
    pub(crate) task: Option<Task>,
    /// Questions a modern client has not answered yet.
    pub(crate) open: Vec<Ask>,
    pub(crate) subject: Subject,
}

struct Asked {
    reply: oneshot::Sender<Result<RawJson, ErrorObject>>,
    of: CallKey,
}

/// Work for whoever drives the conversation: to be spawned, and its handle given [back](Conversation::started).
pub(crate) struct Job {
    pub(crate) key: CallKey,
    pub(crate) run: Run,
}

/// Something for the client.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "serve-http"),
    allow(dead_code, reason = "only HTTP has a place for each request, and a status")
)]
pub(crate) enum Outgoing {
    /// A message that belongs to the request `about`, or to none.
    Message { about: Option<RequestId>, message: Message },
    /// The answer to a request, which is the last about it.
    Answer { id: RequestId, message: Message, status: u16 },
    /// Nothing more about this request for now: its client may come back for the rest.
    HangUp { about: RequestId },
}

impl Conversation {
    pub(crate) fn new(shared: Arc<Shared>, inbox: Arc<Inbox>) -> Self {
        Self {
            shared,
            inbox,
            session: None,
            calls: HashMap::new(),
            by_id: HashMap::new(),
            listens: Vec::new(),
            asked: HashMap::new(),
            next_ask: 0,
            outgoing: VecDeque::new(),
            jobs: VecDeque::new(),
        }
    }

    /// Takes a message of the client.
    pub(crate) fn receive(&mut self, message: Message, facts: &Facts) {
        match message {
            Message::Request(request) => self.request(&request, facts),
            Message::Notification(notification) => self.notification(&notification),
            Message::Response(response) => self.response(response),
        }
    }

    /// Takes what happened elsewhere.
    pub(crate) fn take(&mut self, item: Item) {
        match item {
            Item::Change(change) => self.changed(&change),
            Item::Report(key, report) => match report {
                Report::Progress(step) => self.progress(key, &step),
                Report::Log { level, logger, data } => self.log(key, level, logger, &data),
                Report::Asks(asks) => self.asks(key, asks),
                Report::HangUp => {
                    if let Some(running) = self.calls.get(&key) {
                        self.outgoing.push_back(Outgoing::HangUp { about: running.id.clone() });
                    }
                }
                Report::Done(outcome) => self.done(key, outcome),
            },
        }
    }

    pub(crate) fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    pub(crate) fn next_job(&mut self) -> Option<Job> {
        self.jobs.pop_front()
    }

    /// The job of that key runs. It is aborted when nobody wants its result any more.
    pub(crate) fn started(&mut self, key: CallKey, handle: AbortHandle) {
        let task = Task(handle);
        if let Some(running) = self.calls.get_mut(&key) {
            running.task = Some(task);
        }
    }

    /// Spawns what is to be done.
    pub(crate) fn start_jobs(&mut self) {
        while let Some(Job { key, run }) = self.next_job() {
            let handle = tokio::spawn(run).abort_handle();
            self.started(key, handle);
        }
    }

    pub(super) fn is_in_use(&self, id: &RequestId) -> bool {
        self.by_id.contains_key(id) || self.listens.iter().any(|listen| listen.id == *id)
    }

    fn request(&mut self, request: &Request, facts: &Facts) {
        if self.is_in_use(&request.id) {
            let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, "this id is in use");
            return self.refuse(&request.id, error, 400);
        }
        let meta = Meta::of(request.params.as_ref());
        let is_modern = meta.version.is_some()
            || facts.headers.as_ref().is_some_and(Headers::is_modern)
            || request.method == "server/discover";
        if is_modern { self.modern(request, meta, facts) } else { self.legacy(request, meta) }
    }

    fn notification(&mut self, notification: &Notification) {
        if notification.method != "notifications/cancelled" {
            return;
        }
        let id = notification.params.as_ref().and_then(|params| params.get("requestId"));
        if let Some(id) = id.and_then(|id| id.decode::<RequestId>().ok()) {
            self.cancel(&id);
        }
    }

    /// Stops working on a request, which gets no answer then.
    pub(crate) fn cancel(&mut self, id: &RequestId) {
        self.listens.retain(|listen| listen.id != *id);
        if let Some(key) = self.by_id.get(id).copied() {
            self.finish(key);
        }
    }

    /// Forgets a call, and withdraws what it asked the client.
    pub(super) fn finish(&mut self, key: CallKey) -> Option<Running> {
        let running = self.calls.remove(&key)?;
        self.by_id.remove(&running.id);
        running.line.detach();
        let orphans: Vec<i64> =
            self.asked.iter().filter(|(_, asked)| asked.of == key).map(|(id, _)| *id).collect();
        for id in orphans {
            self.asked.remove(&id);
            let mut params = ObjectWriter::new();
            params.integer("requestId", id);
            self.notify(Some(&running.id), "notifications/cancelled", params.finish());
        }
        Some(running)
    }

    fn response(&mut self, response: Response) {
        let id = response.id.as_ref().and_then(RequestId::as_integer);
        if let Some(asked) = id.and_then(|id| self.asked.remove(&id)) {
            // Not an error: the call may have ended in the meantime.
            let _ = asked.reply.send(response.outcome);
        }
    }

    fn progress(&mut self, key: CallKey, step: &Step) {
        let Some(running) = self.calls.get_mut(&key) else { return };
        let Some(token) = &running.progress_token else { return };
        if running.last_progress.is_some_and(|last| step.progress <= last) {
            return;
        }
        running.last_progress = Some(step.progress);
        let mut params = ObjectWriter::new();
        params.raw("progressToken", token);
        let _ = params.member("progress", &step.progress);
        if let Some(total) = step.total {
            let _ = params.member("total", &total);
        }
        if let Some(message) = &step.message {
            params.string("message", message);
        }
        let about = running.id.clone();
        self.notify(Some(&about), "notifications/progress", params.finish());
    }

    fn log(&mut self, key: CallKey, level: LogLevel, logger: Option<String>, data: &RawJson) {
        let Some(running) = self.calls.get(&key) else { return };
        // The level may have been changed while the call runs.
        let wanted = match &self.session {
            Some(session) if running.version.era() == Era::Legacy => Some(session.log_level),
            _ => running.log_level,
        };
        if !self.shared.options.logging || wanted.is_none_or(|wanted| level < wanted) {
            return;
        }
        let mut params = ObjectWriter::new();
        params.string("level", level.as_str());
        if let Some(logger) = logger {
            params.string("logger", &logger);
        }
        params.raw("data", data);
        let about = running.id.clone();
        self.notify(Some(&about), "notifications/message", params.finish());
    }

    fn asks(&mut self, key: CallKey, asks: Vec<Ask>) {
        let Some(running) = self.calls.get_mut(&key) else { return };
        if running.version.era() == Era::Modern {
            for ask in asks {
                if running.open.iter().any(|open| open.key == ask.key) {
                    let message = format!("two questions have the key `{}`", ask.key);
                    let error = ErrorObject::new(ErrorObject::INTERNAL_ERROR, message);
                    // Not an error: the tool may not wait for it.
                    let _ = ask.reply.send(Err(error));
                } else {
                    running.open.push(ask);
                }
            }
            return self.wait_for_answers(key);
        }
        let about = running.id.clone();
        for Ask { question, reply, .. } in asks {
            self.next_ask += 1;
            let id = self.next_ask;
            self.asked.insert(id, Asked { reply, of: key });
            let message =
                Message::Request(Request::new(id, question.method, Some(question.params)));
            self.outgoing.push_back(Outgoing::Message { about: Some(about.clone()), message });
        }
    }

    fn done(&mut self, key: CallKey, outcome: Result<RawJson, ServeError>) {
        let Some(running) = self.finish(key) else { return };
        match outcome {
            Ok(result) => self.answer(&running.id, result),
            Err(error) => {
                let error = error.into_object(running.version.era() == Era::Modern);
                self.refuse(&running.id, error, 200);
            }
        }
    }

    fn changed(&mut self, change: &Change) {
        if let Some((method, params)) =
            self.session.as_ref().and_then(|session| session.news(change))
        {
            let message = Message::Notification(Notification::new(method, params));
            self.outgoing.push_back(Outgoing::Message { about: None, message });
        }
        let news: Vec<_> = self.listens.iter().filter_map(|listen| listen.news(change)).collect();
        for (about, message) in news {
            self.outgoing.push_back(Outgoing::Message { about: Some(about), message });
        }
    }

    pub(super) fn answer(&mut self, id: &RequestId, result: RawJson) {
        let message = Message::Response(Response { id: Some(id.clone()), outcome: Ok(result) });
        self.outgoing.push_back(Outgoing::Answer { id: id.clone(), message, status: 200 });
    }

    /// Answers with an error. What the protocol wants an HTTP client to see of it is decided by its
    /// code, and by `status` where the code leaves that open.
    pub(super) fn refuse(&mut self, id: &RequestId, error: ErrorObject, status: u16) {
        let status = match error.code {
            -32022..=-32020 => 400,
            _ => status,
        };
        let message = Message::Response(Response { id: Some(id.clone()), outcome: Err(error) });
        self.outgoing.push_back(Outgoing::Answer { id: id.clone(), message, status });
    }

    pub(super) fn notify(
        &mut self,
        about: Option<&RequestId>,
        method: &'static str,
        params: RawJson,
    ) {
        let message = Message::Notification(Notification::new(method, Some(params)));
        self.outgoing.push_back(Outgoing::Message { about: about.cloned(), message });
    }

    pub(super) fn enqueue(&mut self, key: CallKey, running: Running, run: Run) {
        running.line.attach(&self.inbox, key);
        self.by_id.insert(running.id.clone(), key);
        self.calls.insert(key, running);
        self.jobs.push_back(Job { key, run });
    }
}
