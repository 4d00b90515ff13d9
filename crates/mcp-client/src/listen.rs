//! Hearing of changes: one subscription for both eras.
//!
//! Modern servers tell only those who hold a `subscriptions/listen` request open, and mark what they send
//! with its id. Legacy servers tell everybody about lists, and about resources once they have been
//! subscribed to one by one.

mod filter;

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_core::Stream;
use mcp_jsonrpc::{
    CallLimits, ErrorClass, Failure, Notification, ObjectWriter, Reply, RequestId, Timeout,
};
use tokio::{task::AbortHandle, time::timeout};

pub use self::filter::ListenFilter;
use crate::{
    client::{Client, Inner},
    dispatch::Dispatch,
    era::Era,
    error::CallError,
    handler::ServerEvent,
    options::CallOptions,
    request::Ask,
};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Events kept for a subscriber that lags behind.
const KEPT: usize = 256;
/// How long to wait before a subscription that broke is opened again, in seconds.
const PAUSES: [u64; 5] = [1, 2, 5, 15, 60];

/// An open subscription. A stream of events that ends with the connection, or when the server ends it.
///
/// Where it breaks and the connection does not, as over HTTP, it is opened again. Nothing is replayed, so
/// everything it is about counts as changed then.
///
/// Dropping it ends the subscription. The [`Handler`](crate::Handler) hears the same events.
pub struct Subscription {
    state: Arc<State>,
    dispatch: Arc<Dispatch>,
    acknowledged: ListenFilter,
    ending: Ending,
}

enum Ending {
    /// Dropping the request cancels it.
    Abort(AbortHandle),
    /// One by one, as they were made. Does not keep the connection.
    Unsubscribe(Weak<Inner>),
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("acknowledged", &self.acknowledged)
            .finish_non_exhaustive()
    }
}

impl Subscription {
    /// What the server agreed to: possibly less than was asked for.
    pub fn acknowledged(&self) -> &ListenFilter {
        &self.acknowledged
    }

    /// The next event; `None` when there will be no more.
    ///
    /// # Cancel safety
    /// No event is lost.
    pub async fn next(&mut self) -> Option<ServerEvent> {
        poll_fn(|cx| self.state.poll_event(cx)).await
    }
}

impl Stream for Subscription {
    type Item = ServerEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerEvent>> {
        self.state.poll_event(cx)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.dispatch.subscriptions.remove(&self.state);
        match &self.ending {
            Ending::Abort(task) => task.abort(),
            Ending::Unsubscribe(client) => {
                let Some(client) = client.upgrade().map(Client) else { return };
                for uri in &self.acknowledged.resource_uris {
                    // A legacy server counts no subscribers: the last one turns off the light.
                    if !self.dispatch.subscriptions.any_wants(uri) {
                        client.tell("resources/unsubscribe", &|params| {
                            params.string("uri", uri);
                        });
                    }
                }
            }
        }
    }
}

impl Client {
    /// Subscribes to changes, in whichever way the server's era has for it.
    pub async fn listen(&self, filter: ListenFilter) -> Result<Subscription, CallError> {
        let state = Arc::new(State { filter, ..State::default() });
        match self.era() {
            Era::Modern => self.listen_modern(state).await,
            Era::Legacy => self.listen_legacy(state).await,
        }
    }

    async fn listen_modern(&self, state: Arc<State>) -> Result<Subscription, CallError> {
        let dispatch = self.0.dispatch.clone();
        dispatch.subscriptions.add(state.clone());
        let task = {
            let (shared, state) = (self.0.engine.shared().clone(), state.clone());
            let mut params = ObjectWriter::new();
            self.0.meta.iter().for_each(|meta| {
                params.raw("_meta", meta);
            });
            state.filter.write(&mut params);
            let params = params.finish();
            tokio::spawn(async move {
                let mut limits = CallLimits::default();
                limits.held = true;
                let failure = loop {
                    // The id is known before the request leaves, so no event can come too early.
                    let result = shared
                        .call("subscriptions/listen", limits, None, |id| {
                            state.lock().id = Some(id.into());
                            Some(params.clone())
                        })
                        .await;
                    let failure = result.and_then(Reply::into_raw).err();
                    match state.lapse(failure.as_ref()) {
                        Some(pause) => tokio::time::sleep(pause).await,
                        None => break failure,
                    }
                };
                state.end(failure.map(|failure| {
                    CallError::new("subscriptions/listen", failure, shared.report())
                }));
            })
        };
        let ending = Ending::Abort(task.abort_handle());
        let mut subscription = Subscription {
            state: state.clone(),
            dispatch,
            acknowledged: ListenFilter::default(),
            ending,
        };
        let acknowledged =
            timeout(self.0.options.request_timeout, poll_fn(|cx| state.poll_ack(cx)));
        let timed_out = |_| CallError::TimedOut {
            method: "subscriptions/listen",
            timeout: Timeout::new(true, None, Some(self.0.options.request_timeout)),
        };
        subscription.acknowledged = acknowledged.await.map_err(timed_out)??;
        Ok(subscription)
    }

    async fn listen_legacy(&self, state: Arc<State>) -> Result<Subscription, CallError> {
        let dispatch = self.0.dispatch.clone();
        dispatch.subscriptions.add(state.clone());
        let mut acknowledged = self.legacy_subset(&state.filter);
        let uris = std::mem::take(&mut acknowledged.resource_uris);
        // From here on dropping it takes back what has been done.
        let mut subscription = Subscription {
            state,
            dispatch,
            acknowledged,
            ending: Ending::Unsubscribe(Arc::downgrade(&self.0)),
        };
        for uri in uris {
            self.quick("resources/subscribe", &|params| {
                params.string("uri", &uri);
            })
            .await?;
            subscription.acknowledged.resource_uris.push(uri);
        }
        Ok(subscription)
    }

    /// What a legacy server will tell of, by its own account.
    fn legacy_subset(&self, filter: &ListenFilter) -> ListenFilter {
        let offered = &self.0.profile.capabilities;
        let resources = offered.resources.as_ref();
        let uris = if resources.is_some_and(|r| r.subscribe) {
            filter.resource_uris.clone()
        } else {
            Vec::new()
        };
        ListenFilter {
            tools: filter.tools && offered.tools.as_ref().is_some_and(|t| t.list_changed),
            prompts: filter.prompts && offered.prompts.as_ref().is_some_and(|p| p.list_changed),
            resources: filter.resources && resources.is_some_and(|r| r.list_changed),
            resource_uris: uris,
            task_ids: Vec::new(),
        }
    }

    /// A request whose answer nobody waits for.
    fn tell(&self, method: &'static str, members: &crate::request::Members<'_>) {
        let options = CallOptions::default();
        let ask = Ask::quick(method, &options);
        self.0.engine.shared().tell(method, |id| self.params(&ask, id, None, members));
    }
}

/// All subscriptions of a connection.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<Vec<Arc<State>>>);

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<State>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, state: Arc<State>) {
        self.lock().push(state);
    }

    fn remove(&self, state: &Arc<State>) {
        self.lock().retain(|known| !Arc::ptr_eq(known, state));
    }

    /// Whether somebody subscribed to exactly this resource.
    fn any_wants(&self, uri: &str) -> bool {
        self.lock().iter().any(|state| state.filter.resource_uris.iter().any(|known| known == uri))
    }

    pub(crate) fn end_all(&self) {
        for state in self.lock().drain(..) {
            state.end(None);
        }
    }

    /// Delivers a notification to its subscribers, and returns what the handler is to hear.
    pub(crate) fn route(&self, notification: &Notification) -> Vec<ServerEvent> {
        let params = notification.params.as_ref();
        let id = params.and_then(|params| {
            params.get("_meta")?.get(SUBSCRIPTION_ID)?.decode::<RequestId>().ok()
        });
        if notification.method == "notifications/subscriptions/acknowledged" {
            let agreed = params.and_then(|params| params.get("notifications"));
            let agreed = agreed.as_ref().map(ListenFilter::read).unwrap_or_default();
            return self.with(id.as_ref(), |state| state.acknowledge(agreed)).unwrap_or_default();
        }
        let event = event(notification);
        match id {
            // Of a subscription that has ended: nobody asked for this any more.
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

    /// Does something with the subscription `id`, if there is one.
    fn with<T>(&self, id: Option<&RequestId>, act: impl FnOnce(&State) -> T) -> Option<T> {
        let known = self.lock();
        let state = known.iter().find(|state| id.is_some() && state.lock().id.as_ref() == id);
        state.map(|state| act(state))
    }
}

fn event(notification: &Notification) -> ServerEvent {
    let params = notification.params.as_ref();
    let text = |name| params.and_then(|params| params.get(name)?.decode::<String>().ok());
    let known = match &*notification.method {
        "notifications/tools/list_changed" => Some(ServerEvent::ToolsChanged),
        "notifications/prompts/list_changed" => Some(ServerEvent::PromptsChanged),
        "notifications/resources/list_changed" => Some(ServerEvent::ResourcesChanged),
        "notifications/resources/updated" => {
            text("uri").map(|uri| ServerEvent::ResourceUpdated { uri })
        }
        "notifications/message" => {
            params.and_then(|params| params.decode().ok()).map(ServerEvent::Log)
        }
        "notifications/elicitation/complete" => text("elicitationId")
            .map(|elicitation_id| ServerEvent::ElicitationComplete { elicitation_id }),
        "notifications/tasks" | "notifications/tasks/status" => params
            .and_then(|params| params.decode().ok())
            .map(|task| ServerEvent::TaskUpdated(Box::new(task))),
        _ => None,
    };
    known.unwrap_or_else(|| ServerEvent::Other(notification.clone()))
}

/// One subscription, as the reading side sees it.
#[derive(Debug, Default)]
struct State {
    filter: ListenFilter,
    inner: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The listen request's id. Legacy subscriptions have none.
    id: Option<RequestId>,
    /// How often in a row it has broken. What happened meanwhile is not known.
    lapses: usize,
    events: VecDeque<ServerEvent>,
    missed: u64,
    acknowledged: Option<ListenFilter>,
    ended: bool,
    error: Option<CallError>,
    waker: Option<Waker>,
}

impl State {
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

    /// The server agreed. Returns what may have changed while nobody listened.
    fn acknowledge(&self, agreed: ListenFilter) -> Vec<ServerEvent> {
        let lapsed = std::mem::take(&mut self.lock().lapses) > 0;
        let changes = if lapsed { agreed.everything() } else { Vec::new() };
        self.update(|queue| queue.acknowledged = Some(agreed));
        changes.iter().cloned().for_each(|change| self.push(change));
        changes
    }

    /// It has broken. Returns how long to wait before it is opened again, if that is any use: it was open
    /// once, and only this request was lost, for a reason that may pass.
    fn lapse(&self, failure: Option<&Failure>) -> Option<Duration> {
        let Some(Failure::Lost(loss)) = failure else { return None };
        let mut queue = self.lock();
        if loss.class != ErrorClass::Transient || queue.acknowledged.is_none() {
            return None;
        }
        let pause = Duration::from_secs(PAUSES[queue.lapses.min(PAUSES.len() - 1)]);
        queue.lapses += 1;
        Some(loss.retry_after.unwrap_or_default().max(pause))
    }

    fn end(&self, error: Option<CallError>) {
        self.update(|queue| {
            queue.ended = true;
            queue.error = error;
        });
    }

    fn poll_ack(&self, cx: &mut Context<'_>) -> Poll<Result<ListenFilter, CallError>> {
        let mut queue = self.lock();
        if let Some(acknowledged) = queue.acknowledged.clone() {
            return Poll::Ready(Ok(acknowledged));
        }
        if queue.ended {
            let error = queue.error.take().unwrap_or(CallError::Cancelled);
            return Poll::Ready(Err(error));
        }
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_event(&self, cx: &mut Context<'_>) -> Poll<Option<ServerEvent>> {
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
