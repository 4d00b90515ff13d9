//! The two halves of a link over HTTP.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use http::Method;
use mcp_jsonrpc::{FailureCause, Message, RawJson, RequestId};
use tokio::time::timeout;

use super::{
    exchange,
    header_params::header_params,
    loss::transient,
    outbox::{Call, Cancelled, Sent},
    request::{OutgoingRequest, send},
    session::{Phase, Session},
    vocabulary::{Description, is_subscription},
};
use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics},
    error::{SendError, ToolHeaderError},
    io::wakers::Woken,
    link::{CancelBy, Inbound, Inlet, Link, Outlet},
};

pub(super) fn link(session: Arc<Session>) -> Link {
    let outlet = Arc::new(HttpOutlet { session: session.clone() });
    Link { outlet, inlet: Box::new(HttpInlet { session, is_leaving: false }) }
}

struct HttpOutlet {
    session: Arc<Session>,
}

impl Outlet for HttpOutlet {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let session = &self.session;
        let mut state = session.lock();
        if !state.is_open() {
            return Err(SendError::Closed);
        }
        if state.outbox.is_full_for(&message) {
            return Err(SendError::Full { limit: session.settings.options.max_in_flight });
        }
        state.frames.note(true, &message);
        let sent = state.outbox.send(message);
        let ticket = state.outbox.last_ticket();
        drop(state);
        if let Sent::Now(message) = sent {
            let key = begin(session, message, ticket);
            session.exchanges.start(key);
        }
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.session.lock();
        if state.is_open() && !state.outbox.has_room() {
            state.room.add(cx);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn cancel(&self, id: &RequestId) -> CancelBy {
        let mut state = self.session.lock();
        let cancelled = state.outbox.cancel(id);
        let woken = match cancelled {
            Cancelled::Unknown => Woken::default(),
            _ => state.room.take(),
        };
        // The responses of a 2024-11-05 server share one stream, so cancelling a call must not close it.
        let has_stream = state.protocol.endpoint().is_none();
        drop(state);
        let by = match cancelled {
            Cancelled::Call(call) => {
                self.session.exchanges.stop(call.key);
                if call.is_modern && has_stream { CancelBy::Link } else { CancelBy::Notification }
            }
            Cancelled::Waiting => CancelBy::Link,
            // It was sent to a 2024-11-05 server, or its response has arrived.
            Cancelled::Unknown => CancelBy::Notification,
        };
        woken.wake();
        by
    }

    fn answers_each_request(&self) -> bool {
        true
    }

    fn register_header_params(
        &self,
        name: &str,
        input_schema: &RawJson,
    ) -> Result<(), ToolHeaderError> {
        let params = header_params(input_schema);
        self.session.lock().protocol.register_header_params(name, params.clone());
        params.map(drop).map_err(ToolHeaderError::new)
    }

    fn close(&self) {
        let mut state = self.session.lock();
        if state.is_open() {
            state.phase = Phase::Closing;
        }
        let woken = state.room.take();
        drop(state);
        woken.wake();
        self.session.exchanges.wake_driver();
    }

    fn diagnostics(&self) -> Diagnostics {
        self.session.diagnostics()
    }
}

/// Creates the exchange for a message. It is not started yet.
fn begin(session: &Arc<Session>, message: Message, ticket: u64) -> u64 {
    let description = Description::of(&message);
    let is_modern = description.version.is_some();
    let request = match &message {
        Message::Request(request) => Some((request.id.clone(), is_subscription(request))),
        _ => None,
    };
    let id = request.as_ref().map(|(id, _)| id.clone());
    let done = Done { session: session.clone(), id, ticket };
    let key = session.exchanges.add(Box::pin(async move {
        // Dropped when the exchange ends or is stopped.
        let done = done;
        exchange::run(&done.session, done.id.as_ref(), &message, &description).await;
    }));
    if let Some((id, is_held)) = request {
        let mut state = session.lock();
        let is_old = state.protocol.endpoint().is_some();
        state.outbox.started(id, Call { ticket, key, is_modern, is_held }, is_old);
    }
    key
}

/// Frees the slot of an exchange when it ends, and starts the exchanges that waited for it.
struct Done {
    session: Arc<Session>,
    id: Option<RequestId>,
    ticket: u64,
}

impl Drop for Done {
    fn drop(&mut self) {
        let mut state = self.session.lock();
        let next = state.outbox.finished(self.id.as_ref(), self.ticket);
        let woken = state.room.take();
        drop(state);
        for (message, ticket) in next {
            let key = begin(&self.session, message, ticket);
            self.session.exchanges.start_later(key);
        }
        woken.wake();
        // Only after the caller has been informed about its request.
        self.session.end_if_unreachable();
    }
}

struct HttpInlet {
    session: Arc<Session>,
    /// The close was requested and is in progress.
    is_leaving: bool,
}

impl Inlet for HttpInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        loop {
            self.session.exchanges.poll(cx);
            let mut state = self.session.lock();
            if !state.inbox.is_empty() {
                batch.append(&mut state.inbox);
                return Poll::Ready(Ok(()));
            }
            match &state.phase {
                Phase::Closing if !self.is_leaving => {
                    drop(state);
                    self.is_leaving = true;
                    let key = self.session.exchanges.add(Box::pin(leave(self.session.clone())));
                    self.session.exchanges.start(key);
                }
                Phase::Open | Phase::Closing => return Poll::Pending,
                Phase::Ended(reason) => {
                    let reason = reason.clone();
                    // Requests that were still queued are known not to have been sent.
                    let unsent = state.outbox.take_waiting();
                    let flushed = state.outbox.last_ticket();
                    let before = batch.len();
                    batch.extend(unsent.into_iter().filter_map(not_sent));
                    if batch.len() > before {
                        return Poll::Ready(Ok(()));
                    }
                    drop(state);
                    let diagnostics = self.session.diagnostics();
                    return Poll::Ready(Err(Box::new(CloseReport {
                        reason,
                        flushed,
                        diagnostics,
                    })));
                }
            }
        }
    }
}

fn not_sent(message: Message) -> Option<Inbound> {
    let Message::Request(request) = message else { return None };
    let reason = "the connection closed before the request was sent";
    Some(Inbound::Lost { id: request.id, failure: transient(FailureCause::Closed, reason).into() })
}

/// Waits for messages in flight, ends the session, and reports the end.
async fn leave(session: Arc<Session>) {
    let grace = session.settings.options.close_grace;
    let settled = poll_fn(|cx| {
        let mut state = session.lock();
        if state.outbox.is_settled() {
            return Poll::Ready(());
        }
        state.room.add(cx);
        Poll::Pending
    });
    let _ = timeout(grace, settled).await;
    let mut headers = session.settings.headers.clone();
    session.lock().protocol.name_session(&mut headers);
    if session.lock().protocol.has_session() {
        let url = session.settings.url.clone();
        // Ignore the response: many servers do not support this request.
        let delete = OutgoingRequest::new(Method::DELETE, url, headers);
        let _ = timeout(grace, send(&session, delete)).await;
    }
    session.end(CloseReason::Requested);
}

impl Drop for HttpInlet {
    fn drop(&mut self) {
        self.session.end(CloseReason::Ended);
        self.session.lock().outbox.take_waiting();
        self.session.exchanges.stop_all();
        let woken = self.session.lock().room.take();
        woken.wake();
    }
}
