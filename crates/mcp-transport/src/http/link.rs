//! The two halves of a link over HTTP.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use http::Method;
use mcp_jsonrpc::{Delivery, ErrorClass, Loss, Message, RawJson, RequestId, Trouble};
use tokio::time::timeout;

use super::{
    Settings,
    annotations::annotations,
    ask::Ask,
    client::HttpClient,
    post::{self, Post, kind_of},
    state::{Call, Phase, Shared, Waiting},
};
use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics},
    error::SendError,
    link::{CancelBy, Inbound, Inlet, Link, Outlet},
    waiters::Woken,
};

/// Notifications and answers are taken up to this multiple of the limit for requests.
const EXTRA: usize = 4;
/// Callers on as many threads may see the last free place at the same moment, and each of them is let in.
const CROWD: usize = 64;
/// More tools with headers than this are not remembered.
const MOST_TOOLS: usize = 100_000;

pub(super) fn open(client: HttpClient, settings: Settings) -> Link {
    link_of(Arc::new(Shared::new(client, settings)))
}

pub(super) fn link_of(shared: Arc<Shared>) -> Link {
    let outlet = Arc::new(HttpOutlet { shared: shared.clone() });
    Link { outlet, inlet: Box::new(HttpInlet { shared, leaving: false }) }
}

struct HttpOutlet {
    shared: Arc<Shared>,
}

impl Outlet for HttpOutlet {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let shared = &self.shared;
        let limit = shared.settings.options.max_in_flight;
        let is_request = matches!(message, Message::Request(_));
        let mut state = shared.lock();
        if !state.is_open() {
            return Err(SendError::Closed);
        }
        let is_full = if is_request {
            state.requests() >= limit.saturating_add(CROWD)
        } else {
            state.calls.len() + state.waiting.len() >= limit.saturating_mul(EXTRA)
        };
        if is_full {
            return Err(SendError::Full { limit });
        }
        state.tickets += 1;
        let ticket = state.tickets;
        state.frames.note(true, &message);
        if state.in_order {
            state.waiting.push(message);
            return Ok(ticket);
        }
        // What is no request arrives in the order it was sent, and before what is sent later.
        state.in_order = !is_request;
        drop(state);
        let key = begin(shared, message, ticket);
        shared.exchanges.start(key);
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        let limit = self.shared.settings.options.max_in_flight;
        if state.is_open() && state.requests() >= limit {
            state.room.add(cx);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn cancel(&self, id: &RequestId) -> CancelBy {
        let mut state = self.shared.lock();
        state.unanswered.remove(id);
        let Some(call) = state.calls.remove(id) else {
            // Not on its way yet, or it went to an old server whose answers come elsewhere.
            let was_waiting = state.waiting.remove(id);
            let woken = if was_waiting { state.room.take() } else { Woken::default() };
            drop(state);
            woken.wake();
            return if was_waiting { CancelBy::Link } else { CancelBy::Notification };
        };
        let woken = state.room.take();
        // What an old server answers comes on a stream for everybody, which nobody closes for one call.
        let has_stream = state.endpoint.is_none();
        drop(state);
        self.shared.exchanges.stop(call.key);
        woken.wake();
        if call.modern && has_stream { CancelBy::Link } else { CancelBy::Notification }
    }

    fn answers_each_request(&self) -> bool {
        true
    }

    fn learn_tool(&self, name: &str, input_schema: &RawJson) -> Result<(), String> {
        let found = annotations(input_schema);
        let mut state = self.shared.lock();
        if found.as_ref().is_ok_and(Vec::is_empty) {
            state.tools.remove(name);
        } else if state.tools.len() < MOST_TOOLS {
            state.tools.insert(name.to_owned(), found.clone().map(Into::into));
        }
        found.map(drop)
    }

    fn close(&self) {
        let mut state = self.shared.lock();
        if state.is_open() {
            state.phase = Phase::Closing;
        }
        let woken = state.room.take();
        drop(state);
        woken.wake();
        self.shared.exchanges.wake_driver();
    }

    fn diagnostics(&self) -> Diagnostics {
        self.shared.diagnostics()
    }
}

/// Makes an exchange of a message. It does not run yet.
fn begin(shared: &Arc<Shared>, message: Message, ticket: u64) -> u64 {
    let nature = kind_of(&message);
    let modern = nature.1.is_some();
    let request = match &message {
        Message::Request(request) => {
            Some((request.id.clone(), request.method == "subscriptions/listen"))
        }
        _ => None,
    };
    let done =
        Done { shared: shared.clone(), id: request.as_ref().map(|(id, _)| id.clone()), ticket };
    let key = shared.exchanges.add(Box::pin(async move {
        // Dropped at the end, or when the exchange is given up.
        let done = done;
        match Post::new(&done.shared, &message, nature) {
            Ok(post) => post::run(&done.shared, post).await,
            Err(loss) => done.shared.lose_any(done.id.as_ref(), loss),
        }
    }));
    if let Some((id, held)) = request {
        let mut state = shared.lock();
        if state.endpoint.is_some() {
            state.unanswered.insert(id.clone());
        }
        state.calls.insert(id, Call { ticket, key, modern, held });
    }
    key
}

/// Makes room when an exchange is over, and lets what waited for it go.
struct Done {
    shared: Arc<Shared>,
    id: Option<RequestId>,
    ticket: u64,
}

impl Drop for Done {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let mut next = Vec::new();
        if let Some(id) = &self.id {
            if state.calls.get(id).is_some_and(|call| call.ticket == self.ticket) {
                state.calls.remove(id);
            }
        } else {
            state.in_order = false;
            while !state.in_order
                && let Some(message) = state.waiting.pop()
            {
                state.in_order = !matches!(message, Message::Request(_));
                state.tickets += 1;
                next.push((message, state.tickets));
            }
        }
        let woken = state.room.take();
        drop(state);
        for (message, ticket) in next {
            let key = begin(&self.shared, message, ticket);
            self.shared.exchanges.start_later(key);
        }
        woken.wake();
    }
}

struct HttpInlet {
    shared: Arc<Shared>,
    /// The end has been asked for and is under way.
    leaving: bool,
}

impl Inlet for HttpInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        loop {
            self.shared.exchanges.poll(cx);
            let mut state = self.shared.lock();
            if !state.inbox.is_empty() {
                batch.append(&mut state.inbox);
                return Poll::Ready(Ok(()));
            }
            match &state.phase {
                Phase::Closing if !self.leaving => {
                    drop(state);
                    self.leaving = true;
                    let key = self.shared.exchanges.add(Box::pin(leave(self.shared.clone())));
                    self.shared.exchanges.start(key);
                }
                Phase::Open | Phase::Closing => return Poll::Pending,
                Phase::Ended(reason) => {
                    let reason = reason.clone();
                    // What never left is known not to have.
                    let mut unsent = std::mem::take(&mut state.waiting);
                    let flushed = state.tickets;
                    let before = batch.len();
                    batch.extend(std::iter::from_fn(|| unsent.pop()).filter_map(not_sent));
                    if batch.len() > before {
                        return Poll::Ready(Ok(()));
                    }
                    drop(state);
                    let diagnostics = self.shared.diagnostics();
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
    let loss = Loss::new(Delivery::NotSent, ErrorClass::Transient, Trouble::Closed, reason);
    Some(Inbound::Lost { id: request.id, failure: loss.into() })
}

/// Lets what is on its way arrive, ends the session, and reports the end.
async fn leave(shared: Arc<Shared>) {
    let grace = shared.settings.options.close_grace;
    let idle = poll_fn(|cx| {
        let mut state = shared.lock();
        let is_idle = !state.in_order && state.unanswered.is_empty();
        if is_idle && state.calls.values().all(|call| call.held) {
            return Poll::Ready(());
        }
        state.room.add(cx);
        Poll::Pending
    });
    let _ = timeout(grace, idle).await;
    let mut headers = shared.settings.headers.clone();
    shared.lock().name_session(&mut headers);
    if shared.lock().session.is_some() {
        let url = shared.settings.url.clone();
        let ask = Ask { method: Method::DELETE, url, headers, body: None, patience: None };
        // Whatever it answers, and many answer that they know nothing of the kind.
        let _ = timeout(grace, shared.ask(ask)).await;
    }
    shared.end(CloseReason::Requested);
}

impl Drop for HttpInlet {
    fn drop(&mut self) {
        self.shared.end(CloseReason::Ended);
        self.shared.lock().waiting = Waiting::default();
        self.shared.exchanges.stop_all();
        let woken = self.shared.lock().room.take();
        woken.wake();
    }
}
