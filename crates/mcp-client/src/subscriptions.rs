//! The open subscriptions of a session, and the routing of notifications to them.

mod filter;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use mcp_jsonrpc::{CallId, ErrorClass, Failure, Notification, RequestId};
use mcp_types::{events::ServerEvent, meta, method};

pub use self::filter::ListenFilter;
use crate::error::CallError;

/// How many events are kept for a slow subscriber.
const KEPT: usize = 256;
/// The delays before a broken subscription is opened again, in seconds.
const PAUSES: [u64; 5] = [1, 2, 5, 15, 60];

/// All subscriptions of a session.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<Vec<Arc<Listener>>>);

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Listener>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, state: Arc<Listener>) {
        self.lock().push(state);
    }

    pub(crate) fn remove(&self, state: &Arc<Listener>) {
        self.lock().retain(|known| !Arc::ptr_eq(known, state));
    }

    /// Whether there is a subscription to exactly this resource.
    pub(crate) fn any_wants(&self, uri: &str) -> bool {
        self.lock().iter().any(|state| state.filter.resource_uris.iter().any(|known| known == uri))
    }

    pub(crate) fn end_all(&self) {
        for state in self.lock().drain(..) {
            state.end(None);
        }
    }

    /// Delivers a notification to its subscribers, and returns the events for the handler.
    pub(crate) fn route(&self, notification: &Notification) -> Vec<ServerEvent> {
        let params = notification.params.as_ref();
        let id = params.and_then(|params| {
            params.get("_meta")?.get(meta::SUBSCRIPTION_ID)?.decode::<RequestId>().ok()
        });
        if notification.method == method::SUBSCRIPTIONS_ACKNOWLEDGED {
            let agreed = params.and_then(|params| params.get("notifications"));
            let agreed = agreed.as_ref().map(ListenFilter::read).unwrap_or_default();
            return self.with(id.as_ref(), |state| state.acknowledge(agreed)).unwrap_or_default();
        }
        let event = event(notification);
        match id {
            // The subscription has ended, so the event is dropped. Ids are compared with their type (`1` is not `"1"`):
            // <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#receiving-notifications>
            Some(id) if self.with(Some(&id), |state| state.push(event.clone())).is_none() => vec![],
            Some(_) => vec![event],
            None => {
                for state in self.lock().iter().filter(|state| state.lock().id.is_none()) {
                    if state.filter.wants(&event) {
                        state.push(event.clone());
                    }
                }
                vec![event]
            }
        }
    }

    /// Calls `act` with the subscription `id`, if there is one.
    fn with<T>(&self, id: Option<&RequestId>, act: impl FnOnce(&Listener) -> T) -> Option<T> {
        let known = self.lock();
        let state = known.iter().find(|state| id.is_some() && state.lock().id.as_ref() == id);
        state.map(|state| act(state))
    }
}

fn event(notification: &Notification) -> ServerEvent {
    let params = notification.params.as_ref();
    let text = |name| params.and_then(|params| params.get(name)?.decode::<String>().ok());
    let known = match &*notification.method {
        method::TOOLS_LIST_CHANGED => Some(ServerEvent::ToolsChanged),
        method::PROMPTS_LIST_CHANGED => Some(ServerEvent::PromptsChanged),
        method::RESOURCES_LIST_CHANGED => Some(ServerEvent::ResourcesChanged),
        method::RESOURCES_UPDATED => text("uri").map(|uri| ServerEvent::ResourceUpdated { uri }),
        method::MESSAGE => params.and_then(|params| params.decode().ok()).map(ServerEvent::Log),
        method::ELICITATION_COMPLETE => text("elicitationId")
            .map(|elicitation_id| ServerEvent::ElicitationComplete { elicitation_id }),
        method::TASKS | method::TASKS_STATUS => params
            .and_then(|params| params.decode().ok())
            .map(|task| ServerEvent::TaskUpdated(Box::new(task))),
        _ => None,
    };
    known.unwrap_or_else(|| ServerEvent::Other(notification.clone()))
}

/// The shared state of one subscription.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) filter: ListenFilter,
    inner: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The id of the listen request. `None` for legacy subscriptions.
    id: Option<RequestId>,
    /// How often in a row the subscription has broken. Events in between are lost.
    lapses: usize,
    events: VecDeque<ServerEvent>,
    missed: u64,
    acknowledged: Option<ListenFilter>,
    ended: bool,
    error: Option<CallError>,
    waker: Option<Waker>,
}

impl Listener {
    pub(crate) fn new(filter: ListenFilter) -> Self {
        Self { filter, inner: Mutex::default() }
    }

    /// Sets the id of the listen request.
    pub(crate) fn set_id(&self, id: CallId) {
        self.lock().id = Some(id.into());
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut Queue)) {
        let waker = {
            let mut queue = self.lock();
            change(&mut queue);
            queue.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn push(&self, event: ServerEvent) {
        self.update(|queue| {
            if queue.events.len() < KEPT {
                queue.events.push_back(event);
            } else {
                queue.missed += 1;
            }
        });
    }

    /// Handles the acknowledgement. Returns the events that may have been missed while disconnected.
    ///
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#acknowledgment>
    fn acknowledge(&self, agreed: ListenFilter) -> Vec<ServerEvent> {
        let lapsed = std::mem::take(&mut self.lock().lapses) > 0;
        let changes = if lapsed { agreed.everything() } else { Vec::new() };
        self.update(|queue| queue.acknowledged = Some(agreed));
        changes.iter().cloned().for_each(|change| self.push(change));
        changes
    }

    /// Handles a broken subscription. Returns the delay before it is opened again. `None` if it was
    /// never open, or if more than this request failed, or for a permanent reason.
    pub(crate) fn lapse(&self, failure: Option<&Failure>) -> Option<Duration> {
        let Some(Failure::Lost(loss)) = failure else { return None };
        let mut queue = self.lock();
        if loss.class != ErrorClass::Transient || queue.acknowledged.is_none() {
            return None;
        }
        let pause = Duration::from_secs(PAUSES[queue.lapses.min(PAUSES.len() - 1)]);
        queue.lapses += 1;
        Some(loss.retry_after.unwrap_or_default().max(pause))
    }

    pub(crate) fn end(&self, error: Option<CallError>) {
        self.update(|queue| {
            queue.ended = true;
            queue.error = error;
        });
    }

    pub(crate) fn poll_ack(&self, cx: &mut Context<'_>) -> Poll<Result<ListenFilter, CallError>> {
        let mut queue = self.lock();
        if let Some(acknowledged) = queue.acknowledged.clone() {
            return Poll::Ready(Ok(acknowledged));
        }
        if queue.ended {
            let error = queue.error.take().unwrap_or(Failure::Cancelled.into());
            return Poll::Ready(Err(error));
        }
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(crate) fn poll_event(&self, cx: &mut Context<'_>) -> Poll<Option<ServerEvent>> {
        let mut queue = self.lock();
        if let Some(event) = queue.events.pop_front() {
            return Poll::Ready(Some(event));
        }
        if queue.missed > 0 {
            return Poll::Ready(Some(ServerEvent::Missed(std::mem::take(&mut queue.missed))));
        }
        if queue.ended {
            return Poll::Ready(None);
        }
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
