//! The state of a client session: calls, subscriptions and outgoing messages.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use mcp_jsonrpc::{ErrorObject, Message, Notification, ObjectWriter, RawJson, RequestId, Response};
use mcp_types::{LogLevel, ProtocolVersion, error_code, method};
use tokio::{sync::oneshot, task::AbortHandle};

use super::{listen::Listen, session::Session};
use crate::{
    call::{
        Run,
        ask::Ask,
        inbox::{CallKey, Inbox, ReportSender},
        waiting::{Subject, Task},
    },
    shared::Shared,
};

/// The session with one client.
pub(crate) struct ClientSession {
    pub(super) shared: Arc<Shared>,
    pub(super) inbox: Arc<Inbox>,
    /// Set by `initialize`.
    pub(super) session: Option<Session>,
    pub(super) calls: HashMap<CallKey, Running>,
    pub(super) by_id: HashMap<RequestId, CallKey>,
    pub(super) listens: Vec<Listen>,
    /// Our requests to a legacy client that have no response yet.
    pub(super) asked: HashMap<i64, Asked>,
    pub(super) next_ask: i64,
    pub(super) outgoing: VecDeque<Outgoing>,
    jobs: VecDeque<Job>,
}

/// A request that is being processed.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) id: RequestId,
    pub(crate) version: ProtocolVersion,
    pub(crate) progress_token: Option<RawJson>,
    pub(crate) last_progress: Option<f64>,
    /// The least severe level of log messages that the client wants.
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) line: Arc<ReportSender>,
    pub(crate) task: Option<Task>,
    /// Questions that a modern client has not answered yet.
    pub(crate) open: Vec<Ask>,
    pub(crate) subject: Subject,
}

pub(super) struct Asked {
    pub(super) reply: oneshot::Sender<Result<RawJson, ErrorObject>>,
    pub(super) of: CallKey,
}

/// A call to spawn. The caller passes its handle to [`ClientSession::started`].
pub(crate) struct Job {
    pub(crate) key: CallKey,
    pub(crate) run: Run,
}

/// Output for the client.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "http"),
    allow(dead_code, reason = "only HTTP needs the request id and the status")
)]
pub(crate) enum Outgoing {
    /// A message about the request `about`, or about none.
    Message { about: Option<RequestId>, message: Message },
    /// The response to a request. No message about the request follows.
    Answer { id: RequestId, message: Message, status: u16 },
    /// Close the stream of this request. Its client may fetch the rest later.
    HangUp { about: RequestId },
}

impl ClientSession {
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

    pub(crate) fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    pub(crate) fn next_job(&mut self) -> Option<Job> {
        self.jobs.pop_front()
    }

    /// Stores the handle of a spawned job, which is aborted when its result is no longer wanted.
    pub(crate) fn started(&mut self, key: CallKey, handle: AbortHandle) {
        let task = Task(handle);
        if let Some(running) = self.calls.get_mut(&key) {
            running.task = Some(task);
        }
    }

    /// Spawns all queued jobs.
    pub(crate) fn start_jobs(&mut self) {
        while let Some(Job { key, run }) = self.next_job() {
            let handle = tokio::spawn(run).abort_handle();
            self.started(key, handle);
        }
    }

    /// The revision that `initialize` negotiated.
    #[cfg(feature = "http")]
    pub(crate) fn session_version(&self) -> Option<ProtocolVersion> {
        self.session.as_ref().map(|session| session.version)
    }

    /// Whether the client has sent `notifications/initialized`.
    #[cfg(feature = "http")]
    pub(crate) fn is_initialized(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_initialized)
    }

    /// Whether a request is being processed.
    #[cfg(any(feature = "http", feature = "stdio"))]
    pub(crate) fn is_busy(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(crate) fn is_in_use(&self, id: &RequestId) -> bool {
        self.by_id.contains_key(id) || self.listens.iter().any(|listen| listen.id == *id)
    }

    /// Cancels a request, which then gets no response.
    pub(crate) fn cancel(&mut self, id: &RequestId) {
        self.listens.retain(|listen| listen.id != *id);
        if let Some(key) = self.by_id.get(id).copied() {
            self.finish(key);
        }
    }

    /// Cancels every request.
    #[cfg(feature = "http")]
    pub(crate) fn cancel_all(&mut self) {
        let ids: Vec<RequestId> = self.by_id.keys().cloned().collect();
        for id in &ids {
            self.cancel(id);
        }
    }

    /// Removes a call, and cancels its requests to the client.
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
            self.notify(Some(&running.id), method::CANCELLED, params.finish());
        }
        Some(running)
    }

    pub(super) fn answer(&mut self, id: &RequestId, result: RawJson) {
        let message = Message::Response(Response { id: Some(id.clone()), outcome: Ok(result) });
        self.outgoing.push_back(Outgoing::Answer { id: id.clone(), message, status: 200 });
    }

    /// Responds with an error. The HTTP status follows from the error's code where the specification says so, and is
    /// `status` otherwise.
    pub(super) fn refuse(&mut self, id: &RequestId, error: ErrorObject, status: u16) {
        let status = match error.code {
            code if error_code::is_modern(code) => 400,
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
