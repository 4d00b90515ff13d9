//! One side of a JSON-RPC connection: plain state without I/O or a clock.

mod call;
mod event;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    task::{Context, Poll, Waker},
    time::Instant,
};

use self::call::Call;
pub use self::{
    call::{CallId, CallLimits, Progress},
    event::{Event, UnmatchedMessages},
};
use crate::{
    failure::{Delivery, Failure, Refused},
    id::RequestId,
    json::{RawJson, write_string},
    message::{ErrorObject, Message, Notification, Request, Response},
    number_hash::NumberHash,
    wire::Reply,
};

const CANCELLED: &str = "notifications/cancelled";
const PROGRESS: &str = "notifications/progress";
/// How many abandoned calls are remembered, to distinguish late responses from duplicates.
const REMEMBERED: usize = 64;

/// The number of queued messages above which a refused request is dropped without a response.
const KEPT_REFUSALS: usize = 1024;

/// Bounds of a [`Peer`].
///
/// ```
/// let options = mcp_jsonrpc::PeerOptions::default().with_max_calls(16).with_max_incoming(8);
/// assert_eq!((options.max_calls, options.max_incoming), (16, 8));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerOptions {
    /// The maximum number of calls that wait for responses. Default 65,536.
    pub max_calls: usize,
    /// The maximum number of requests of the peer that wait for responses. Default 64.
    pub max_incoming: usize,
}

impl Default for PeerOptions {
    fn default() -> Self {
        Self { max_calls: 65_536, max_incoming: 64 }
    }
}

impl PeerOptions {
    /// Sets [`max_calls`](Self::max_calls).
    #[must_use]
    pub fn with_max_calls(mut self, max_calls: usize) -> Self {
        self.max_calls = max_calls;
        self
    }

    /// Sets [`max_incoming`](Self::max_incoming).
    #[must_use]
    pub fn with_max_incoming(mut self, max_incoming: usize) -> Self {
        self.max_incoming = max_incoming;
        self
    }
}

/// Matches responses to requests, tracks their deadlines, and queues messages and events.
///
/// Facts go in through [`open`](Self::open), [`sent`](Self::sent), [`receive`](Self::receive),
/// [`expire`](Self::expire) and [`close`](Self::close); consequences come out of
/// [`next_outgoing`](Self::next_outgoing), [`next_abandoned`](Self::next_abandoned),
/// [`next_event`](Self::next_event) and [`next_wake`](Self::next_wake), and of [`poll`](Self::poll)
/// for the caller.
///
/// ```
/// use std::{task::{Context, Poll, Waker}, time::Instant};
/// use mcp_jsonrpc::{CallLimits, Message, Peer, RawJson, Request};
///
/// let (mut ours, now) = (Peer::default(), Instant::now());
/// let call = ours.open(CallLimits::default(), now)?;
/// let request = Request::new(call, "ping", None);
/// ours.sent(call, 1);
///
/// // The response arrives.
/// ours.receive(request.answer(Ok(RawJson::empty_object())), now);
/// let mut cx = Context::from_waker(Waker::noop());
/// assert_eq!(ours.poll(call, &mut cx), Poll::Ready(Ok(RawJson::empty_object())));
/// # Ok::<(), mcp_jsonrpc::Refused>(())
/// ```
#[derive(Debug, Default)]
pub struct Peer {
    options: PeerOptions,
    last_id: i64,
    calls: HashMap<i64, Call, NumberHash>,
    /// No call expires before this. Responses do not move it, so it may be too early, but never too late.
    check_at: Option<Instant>,
    incoming: HashSet<RequestId>,
    given_up: VecDeque<i64>,
    outgoing: VecDeque<Message>,
    abandoned: VecDeque<CallId>,
    events: VecDeque<Event>,
    wakes: Vec<Waker>,
    noise: UnmatchedMessages,
    /// The number of messages that the link had written when it closed.
    closed: Option<u64>,
}

impl Peer {
    /// A peer with these bounds.
    pub fn new(options: PeerOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Starts a call. The caller then encodes the request, hands it to a link, and reports it as [`sent`](Self::sent).
    pub fn open(&mut self, limits: CallLimits, now: Instant) -> Result<CallId, Refused> {
        if self.is_closed() {
            return Err(Refused::Closed);
        }
        if self.calls.len() >= self.options.max_calls {
            return Err(Refused::TooManyCalls { limit: self.options.max_calls });
        }
        self.last_id += 1;
        let call = Call::new(limits, now);
        self.note_deadline(call.due());
        self.calls.insert(self.last_id, call);
        Ok(CallId(self.last_id))
    }

    /// Records that the link has accepted the request as its message number `ticket`.
    pub fn sent(&mut self, id: CallId, ticket: u64) {
        let Some(call) = self.calls.get_mut(&id.0) else { return };
        let was_sent = call.ticket.replace(ticket).is_some();
        // The call timed out before it was written, when there was nothing to cancel yet.
        let timed_out = matches!(call.outcome, Some(Err(Failure::TimedOut(_))));
        if timed_out && !was_sent && !call.limits.silent && self.closed.is_none() {
            self.abandoned.push_back(id);
        }
        // The link closed while the request was in the write queue. `NotSent` would be wrong here,
        // and a caller might send the request again.
        if self.closed.is_some_and(|flushed| ticket <= flushed)
            && let Some(Err(Failure::Closed(delivery))) = &mut call.outcome
        {
            *delivery = Delivery::Unknown;
        }
    }

    /// Returns the outcome of a call, once. The waker in `cx` is woken when there is one.
    ///
    /// A call that is unknown, or that has already returned its outcome, is reported as cancelled.
    pub fn poll(&mut self, id: CallId, cx: &mut Context<'_>) -> Poll<Result<RawJson, Failure>> {
        self.poll_reply(id, cx).map(|outcome| outcome.and_then(Reply::into_raw))
    }

    /// Like [`poll`](Self::poll), with the result undecoded.
    pub fn poll_reply(&mut self, id: CallId, cx: &mut Context<'_>) -> Poll<Result<Reply, Failure>> {
        let Some(call) = self.calls.get_mut(&id.0) else {
            return Poll::Ready(Err(Failure::Cancelled));
        };
        let Some(outcome) = call.outcome.take() else {
            call.wait(cx.waker());
            return Poll::Pending;
        };
        self.calls.remove(&id.0);
        Poll::Ready(outcome)
    }

    /// Returns the next progress report of a call, or `None` after the last one.
    ///
    /// Keeps a waker apart from that of [`poll`](Self::poll), so two tasks may share a call.
    pub fn poll_progress(&mut self, id: CallId, cx: &mut Context<'_>) -> Poll<Option<Progress>> {
        let Some(call) = self.calls.get_mut(&id.0) else { return Poll::Ready(None) };
        match call.progress.pop_front() {
            Some(progress) => Poll::Ready(Some(progress)),
            None if call.outcome.is_some() => Poll::Ready(None),
            None => {
                call.watch(cx.waker());
                Poll::Pending
            }
        }
    }

    /// Abandons this call. Returns whether to send a cancellation: only if the peer may have received the request and
    /// has not responded.
    pub fn give_up(&mut self, id: CallId) -> bool {
        let Some(call) = self.calls.remove(&id.0) else { return false };
        if call.outcome.is_some() {
            return false;
        }
        self.remember(id.0);
        call.ticket.is_some() && !call.limits.silent && !self.is_closed()
    }

    /// Builds the notification that cancels an abandoned call:
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#cancellation-flow>
    pub fn cancellation(id: CallId, reason: &str) -> Message {
        let mut params = format!(r#"{{"requestId":{},"reason":"#, id.0).into_bytes();
        write_string(reason, &mut params);
        params.push(b'}');
        Message::Notification(Notification::new(CANCELLED, Some(RawJson::trusted(params))))
    }

    /// Processes one message of the peer.
    pub fn receive(&mut self, message: Message, now: Instant) {
        match message {
            Message::Response(Response { id: Some(id), outcome }) => {
                let reply = outcome.map(|result| Reply::new(id.clone(), result));
                self.complete(&id, reply.map_err(Failure::Rejected));
            }
            Message::Response(Response { id: None, outcome }) => self.complain(outcome),
            Message::Request(request) => self.incoming(request),
            Message::Notification(notification) => match &*notification.method {
                PROGRESS => self.progress(&notification, now),
                CANCELLED => self.cancelled(&notification),
                _ => self.events.push_back(Event::Notification(notification)),
            },
        }
    }

    /// Processes a response of which only the id has been parsed.
    pub fn receive_reply(&mut self, reply: Reply) {
        let id = reply.id().clone();
        self.complete(&id, Ok(reply));
    }

    /// Records that the link lost this request or its response.
    pub fn fail(&mut self, id: &RequestId, failure: Failure) {
        self.complete(id, Err(failure));
    }

    /// Restarts the limit for silence of every call: the peer is not silent but waits for a response itself.
    pub fn touch(&mut self, now: Instant) {
        self.calls.values_mut().for_each(|call| call.touch(now));
    }

    /// Restarts the idle limit of this call, for a sign of life other than its own progress.
    pub fn touch_call(&mut self, id: CallId, now: Instant) {
        if let Some(call) = self.calls.get_mut(&id.0) {
            call.touch(now);
        }
    }

    /// Fails the calls that have passed their deadline: see [`next_abandoned`](Self::next_abandoned).
    pub fn expire(&mut self, now: Instant) {
        if self.check_at.is_none_or(|at| now < at) {
            return;
        }
        self.check_at = None;
        let mut earliest: Option<Instant> = None;
        let mut expired = Vec::new();
        for (&id, call) in &mut self.calls {
            if let Some(timeout) = call.timed_out(now) {
                call.finish(Err(Failure::TimedOut(timeout)), &mut self.wakes);
                expired.push((id, call.ticket.is_some() && !call.limits.silent));
            } else if let Some(due) = call.due() {
                earliest = Some(earliest.map_or(due, |e| e.min(due)));
            }
        }
        self.check_at = earliest;
        expired.sort_unstable();
        for (id, tell) in expired {
            self.remember(id);
            if tell {
                self.abandoned.push_back(CallId(id));
            }
        }
    }

    /// Records that the link closed after it had written its first `flushed` messages. Every call in flight fails, and
    /// no new one can be made.
    pub fn close(&mut self, flushed: u64) {
        self.closed = Some(flushed);
        self.incoming.clear();
        self.outgoing.clear();
        self.abandoned.clear();
        self.check_at = None;
        for call in self.calls.values_mut() {
            let written = call.ticket.is_some_and(|ticket| ticket <= flushed);
            let delivery = if written { Delivery::Unknown } else { Delivery::NotSent };
            call.finish(Err(Failure::Closed(delivery)), &mut self.wakes);
        }
    }

    /// Builds the response to a request of the peer. `None` if the peer has cancelled the request.
    pub fn respond(
        &mut self,
        id: &RequestId,
        outcome: Result<RawJson, ErrorObject>,
    ) -> Option<Message> {
        self.incoming
            .remove(id)
            .then(|| Message::Response(Response { id: Some(id.clone()), outcome }))
    }

    /// The next message that this peer sends without a caller.
    pub fn next_outgoing(&mut self) -> Option<Message> {
        self.outgoing.pop_front()
    }

    /// The next call that timed out and for which a cancellation should be sent, as after [`give_up`](Self::give_up).
    pub fn next_abandoned(&mut self) -> Option<CallId> {
        self.abandoned.pop_front()
    }

    /// The next event. Take the events after every message: the queue has no bound.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next waker to wake. Wakers are queued so that the caller can release its lock first.
    pub fn next_wake(&mut self) -> Option<Waker> {
        self.wakes.pop()
    }

    /// When to call [`expire`](Self::expire) next.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.check_at
    }

    /// The number of calls that wait for responses.
    pub fn in_flight(&self) -> usize {
        self.calls.values().filter(|call| call.outcome.is_none()).count()
    }

    /// Counts of messages that matched no call.
    pub fn noise(&self) -> UnmatchedMessages {
        self.noise
    }

    /// Whether the link has closed.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    fn complete(&mut self, id: &RequestId, outcome: Result<Reply, Failure>) {
        let Some(number) = id.as_integer() else {
            self.noise.unknown += 1;
            return;
        };
        match self.calls.get_mut(&number) {
            Some(call) if call.outcome.is_none() => call.finish(outcome, &mut self.wakes),
            // Not an error: a response may cross the cancellation of its call.
            // <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#timing-considerations>
            Some(call) if !call.is_answered() => self.noise.late += 1,
            _ if self.given_up.contains(&number) => self.noise.late += 1,
            _ if (1..=self.last_id).contains(&number) => self.noise.duplicate += 1,
            _ => self.noise.unknown += 1,
        }
    }

    /// An error without an id. It can only concern the single call in flight that is not an open stream.
    fn complain(&mut self, outcome: Result<RawJson, ErrorObject>) {
        let Err(error) = outcome else { return };
        let is_waiting = |call: &&mut Call| call.outcome.is_none() && !call.limits.held;
        let mut waiting = self.calls.values_mut().filter(is_waiting);
        match (waiting.next(), waiting.next()) {
            (Some(only), None) => only.finish(Err(Failure::Rejected(error)), &mut self.wakes),
            _ => self.events.push_back(Event::Complaint(error)),
        }
    }

    fn incoming(&mut self, request: Request) {
        if self.is_closed() {
            return;
        }
        let refusal = if self.incoming.len() >= self.options.max_incoming {
            ErrorObject::new(ErrorObject::INTERNAL_ERROR, "too many requests at once")
        } else if self.incoming.insert(request.id.clone()) {
            self.events.push_back(Event::Request(request));
            return;
        } else {
            ErrorObject::new(ErrorObject::INVALID_REQUEST, "this id is already in use")
        };
        // A peer that sends requests and does not read must not fill the memory with refusals.
        if self.outgoing.len() < KEPT_REFUSALS {
            self.outgoing.push_back(request.answer(Err(refusal)));
        } else {
            self.noise.unanswered += 1;
        }
    }

    fn progress(&mut self, notification: &Notification, now: Instant) {
        let Some(params) = &notification.params else { return };
        // Notifications with the token of a finished call are ignored:
        // <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#behavior-requirements>
        let token = params.get("progressToken").and_then(|token| token.decode::<RequestId>().ok());
        let call = token.and_then(|id| self.calls.get_mut(&id.as_integer()?));
        let Some(call) = call.filter(|call| call.outcome.is_none()) else { return };
        let number = |name| params.get(name).and_then(|value| value.decode::<f64>().ok());
        let Some(progress) = number("progress") else { return };
        let message = params.get("message").and_then(|value| value.decode().ok());
        call.report(Progress { progress, total: number("total"), message }, now, &mut self.wakes);
        // Its deadline moved back: `check_at` is now too early, which is allowed.
    }

    fn cancelled(&mut self, notification: &Notification) {
        let id = notification.params.as_ref().and_then(|params| params.get("requestId"));
        let Some(id) = id.and_then(|id| id.decode::<RequestId>().ok()) else { return };
        if self.incoming.remove(&id) {
            self.events.push_back(Event::Cancelled(id));
            return;
        }
        // The ids of the two sides are independent, so the notification may concern an old request of the peer with the
        // same number as a call. Only a stream can be ended this way:
        // <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation>
        let call = id.as_integer().and_then(|id| self.calls.get_mut(&id));
        if let Some(call) = call.filter(|call| call.limits.held && call.outcome.is_none()) {
            call.finish(Err(Failure::Cancelled), &mut self.wakes);
        }
    }

    fn note_deadline(&mut self, due: Option<Instant>) {
        if let Some(due) = due {
            self.check_at = Some(self.check_at.map_or(due, |at| at.min(due)));
        }
    }

    fn remember(&mut self, id: i64) {
        if self.given_up.len() == REMEMBERED {
            self.given_up.pop_front();
        }
        self.given_up.push_back(id);
    }
}
