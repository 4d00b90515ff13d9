//! Routes requests and notifications of a server to their receivers, without blocking the reading task.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use mcp_jsonrpc::{ErrorObject, Event, Notification, RawJson, Request, RequestId};
use mcp_types::{ClientCapabilities, Era, Handler, events::ServerEvent, method};
use tokio::task::AbortHandle;

use super::inputs;
use crate::{
    engine::{Incoming, Shared},
    subscriptions::Subscriptions,
};

/// How often a running handler resets the idle timeouts of calls.
const IDLE_RESET_INTERVAL: Duration = Duration::from_secs(1);

/// Routes the requests and notifications of one server.
pub(crate) struct Dispatch {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) offered: ClientCapabilities,
    pub(crate) subscriptions: Subscriptions,
    /// Not set during the handshake.
    era: OnceLock<Era>,
    answering: Mutex<HashMap<RequestId, AbortHandle>>,
    events: Mutex<EventQueue>,
    max_events: usize,
}

#[derive(Default)]
struct EventQueue {
    waiting: VecDeque<ServerEvent>,
    missed: u64,
    /// Whether a task is delivering events.
    delivering: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Dispatch {
    pub(crate) fn new(handler: Arc<dyn Handler>, max_events: usize) -> Arc<Self> {
        let offered = handler.capabilities();
        Arc::new(Self {
            handler,
            offered,
            subscriptions: Subscriptions::default(),
            era: OnceLock::new(),
            answering: Mutex::default(),
            events: Mutex::default(),
            max_events,
        })
    }

    pub(crate) fn set_era(&self, era: Era) {
        let _ = self.era.set(era);
    }

    fn request(self: &Arc<Self>, shared: &Arc<Shared>, request: Request) {
        if !self.may_answer() {
            // Modern servers must not send requests, and clients must not respond to them:
            // <https://modelcontextprotocol.io/specification/2026-07-28/basic/index#message-patterns>
            tracing::debug!(method = %request.method, "ignored a request from a modern server");
            shared.ignore(&request.id);
            return;
        }
        if request.method == method::PING {
            // Respond immediately, even while handlers are busy: a server may disconnect a host
            // that responds to pings slowly.
            // <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping#behavior-requirements>
            shared.respond(&request.id, Ok(RawJson::empty_object()));
            return;
        }
        let request_id = request.id.clone();
        let answer =
            Answering { dispatch: self.clone(), shared: shared.clone(), id: request_id.clone() };
        let mut answering = lock(&self.answering);
        let task = tokio::spawn(async move {
            let Dispatch { handler, offered, .. } = &*answer.dispatch;
            let params = request.params.as_ref();
            let result = inputs::obtain(&**handler, offered, &request.method, params);
            let result = with_idle_resets(&answer.shared, result).await;
            answer.shared.respond(&answer.id, result.map_err(inputs::InputError::into_answer));
        });
        answering.insert(request_id, task.abort_handle());
    }

    fn notification(self: &Arc<Self>, notification: &Notification) {
        for event in self.subscriptions.route(notification) {
            self.tell(event);
        }
    }

    /// Queues an event for the handler. A task delivers events while there are any.
    pub(crate) fn tell(self: &Arc<Self>, event: ServerEvent) {
        let mut queue = lock(&self.events);
        if queue.waiting.len() >= self.max_events {
            queue.missed += 1;
        } else {
            queue.waiting.push_back(event);
        }
        if !queue.delivering {
            queue.delivering = true;
            let this = self.clone();
            tokio::spawn(async move { this.deliver().await });
        }
    }

    async fn deliver(&self) {
        /// Resets the flag even if the handler panics, so that the next event starts a new delivery.
        struct Delivering<'a>(&'a Dispatch);
        impl Drop for Delivering<'_> {
            fn drop(&mut self) {
                lock(&self.0.events).delivering = false;
            }
        }
        loop {
            let event = {
                let mut queue = lock(&self.events);
                match queue.waiting.pop_front() {
                    Some(event) => event,
                    None if queue.missed > 0 => {
                        ServerEvent::Missed(std::mem::take(&mut queue.missed))
                    }
                    None => {
                        queue.delivering = false;
                        return;
                    }
                }
            };
            let panicking = Delivering(self);
            self.handler.event(event);
            std::mem::forget(panicking);
            // Let calls on this thread make progress.
            tokio::task::yield_now().await;
        }
    }
}

impl Incoming for Dispatch {
    /// Whether this server's requests may be answered. During the handshake any server may be legacy.
    fn may_answer(&self) -> bool {
        self.era.get() != Some(&Era::Modern)
    }

    fn event(self: Arc<Self>, shared: &Arc<Shared>, event: Event) {
        match event {
            Event::Request(request) => self.request(shared, request),
            Event::Notification(notification) => self.notification(&notification),
            Event::Cancelled(id) => {
                let task = lock(&self.answering).remove(&id);
                if let Some(task) = task {
                    task.abort();
                }
            }
            Event::Complaint(error) => {
                tracing::debug!(
                    code = error.code,
                    "the server could not parse a message that was sent to it"
                );
            }
            _ => {}
        }
    }

    /// Called when the link has closed: aborts pending responses and ends all subscriptions.
    fn ended(&self) {
        self.stop();
        self.subscriptions.end_all();
    }

    /// Aborts all pending responses.
    fn stop(&self) {
        let tasks: Vec<_> = lock(&self.answering).drain().collect();
        for (_, task) in tasks {
            task.abort();
        }
    }
}

/// Runs work that the server waits for. Resets the idle timeouts of calls meanwhile, because a user
/// may take long to fill in a form. Total timeouts still apply.
async fn with_idle_resets<T>(shared: &Shared, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        let done = tokio::time::timeout(IDLE_RESET_INTERVAL, work.as_mut()).await;
        shared.touch();
        if let Ok(done) = done {
            return done;
        }
    }
}

/// A response in progress.
struct Answering {
    dispatch: Arc<Dispatch>,
    shared: Arc<Shared>,
    id: RequestId,
}

/// Responds with an error if the handler panics, so that the server does not wait forever.
impl Drop for Answering {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let broken = ErrorObject::new(ErrorObject::INTERNAL_ERROR, "the host's handler failed");
            self.shared.respond(&self.id, Err(broken));
        }
        lock(&self.dispatch.answering).remove(&self.id);
    }
}
