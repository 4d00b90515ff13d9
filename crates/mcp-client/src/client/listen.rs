//! Change subscriptions: one type for both eras.
//!
//! Modern servers notify only clients that hold a `subscriptions/listen` request open, and tag
//! notifications with its id. Legacy servers send list changes to every client, and resource
//! updates for each URI subscribed to with `resources/subscribe`.
//!
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions>,
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use futures_core::Stream;
use mcp_jsonrpc::{CallLimits, Failure, ObjectWriter, Timeout, wire::Reply};
use mcp_types::{Era, events::ServerEvent, method};
use tokio::{task::AbortHandle, time::timeout};

use super::{Client, Inner};
use crate::{
    error::CallError,
    host::dispatch::Dispatch,
    subscriptions::{ListenFilter, Listener},
};

/// An open subscription: a stream of events that ends with the session or when the server ends it.
///
/// If it breaks while the session continues, as over HTTP, it is opened again. Servers do not
/// replay missed events, so everything in the filter is then reported as changed.
///
/// Dropping it ends the subscription. The [`Handler`](crate::Handler) receives the same events.
pub struct Subscription {
    state: Arc<Listener>,
    dispatch: Arc<Dispatch>,
    acknowledged: ListenFilter,
    ending: Ending,
}

enum Ending {
    /// Aborting the task drops the listen request, which cancels it.
    Abort(AbortHandle),
    /// Each resource is unsubscribed separately. Holds a weak reference so that it does not keep
    /// the session open.
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
    /// The filter that the server acknowledged, which may be a subset of the requested one.
    pub fn acknowledged(&self) -> &ListenFilter {
        &self.acknowledged
    }

    /// Returns the next event, or `None` after the last one.
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
                    // A legacy server does not count subscribers: unsubscribe only for the last one.
                    if !self.dispatch.subscriptions.any_wants(uri) {
                        client.tell(method::RESOURCES_UNSUBSCRIBE, &|params| {
                            params.string("uri", uri);
                        });
                    }
                }
            }
        }
    }
}

impl Client {
    /// Subscribes to changes with the method of the server's era.
    pub async fn listen(&self, filter: ListenFilter) -> Result<Subscription, CallError> {
        let state = Arc::new(Listener::new(filter));
        match self.era() {
            Era::Modern => self.listen_modern(state).await,
            Era::Legacy => self.listen_legacy(state).await,
        }
    }

    async fn listen_modern(&self, state: Arc<Listener>) -> Result<Subscription, CallError> {
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
                // The response arrives only at the end, so no limit of time applies, and the server may end the stream:
                // <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#cancellation>
                limits.held = true;
                let failure = loop {
                    // The id is registered before the request is sent, so events cannot arrive too early.
                    let result = shared
                        .call(method::SUBSCRIPTIONS_LISTEN, limits, None, |id| {
                            state.set_id(id);
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
                    CallError::reported(method::SUBSCRIPTIONS_LISTEN, failure, shared.report())
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
        let timed_out = |_| {
            let timeout = Timeout::new(true, None, Some(self.0.options.request_timeout));
            CallError::new(method::SUBSCRIPTIONS_LISTEN, Failure::TimedOut(timeout))
        };
        subscription.acknowledged = acknowledged.await.map_err(timed_out)??;
        Ok(subscription)
    }

    async fn listen_legacy(&self, state: Arc<Listener>) -> Result<Subscription, CallError> {
        let dispatch = self.0.dispatch.clone();
        dispatch.subscriptions.add(state.clone());
        let mut acknowledged = self.legacy_subset(&state.filter);
        let uris = std::mem::take(&mut acknowledged.resource_uris);
        // From here on, dropping the subscription undoes the requests made so far.
        let mut subscription = Subscription {
            state,
            dispatch,
            acknowledged,
            ending: Ending::Unsubscribe(Arc::downgrade(&self.0)),
        };
        for uri in uris {
            self.quick(method::RESOURCES_SUBSCRIBE, &|params| {
                params.string("uri", &uri);
            })
            .await?;
            subscription.acknowledged.resource_uris.push(uri);
        }
        Ok(subscription)
    }

    /// The part of `filter` that a legacy server supports according to its capabilities.
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
}
