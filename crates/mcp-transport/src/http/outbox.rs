//! The messages of a link that are queued or in flight: their order and limits. Plain state without I/O.

use std::collections::{HashMap, HashSet, VecDeque};

use mcp_jsonrpc::{Message, NumberHash, RequestId};

use super::exchange_set::Key;

/// Notifications and responses are accepted up to this multiple of the limit for requests.
const EXTRA: usize = 4;
/// Concurrent callers may all observe the last free slot. Up to this many requests over the limit are accepted.
const CROWD: usize = 64;

pub(super) struct Outbox {
    /// How many requests may be in flight at once.
    limit: usize,
    /// Requests in flight, and their exchanges.
    calls: HashMap<RequestId, Call, NumberHash>,
    /// A notification or a response of ours is in flight: later messages wait for it.
    in_order: bool,
    waiting: VecDeque<Message>,
    waiting_requests: usize,
    /// Requests that a 2024-11-05 server has accepted and not answered yet. Its responses arrive on its stream.
    unanswered: HashSet<RequestId>,
    tickets: u64,
}

/// A request in flight.
pub(super) struct Call {
    pub(super) ticket: u64,
    pub(super) key: Key,
    /// The request names its protocol version, so dropping its stream cancels it.
    pub(super) is_modern: bool,
    /// The request lasts until it is cancelled.
    pub(super) is_held: bool,
}

/// Whether a message can be posted.
#[derive(Debug, PartialEq)]
pub(super) enum Sent {
    /// Post it now.
    Now(Message),
    /// It is queued.
    Waits,
}

/// The state of a request that was cancelled.
pub(super) enum Cancelled {
    /// It was in flight.
    Call(Call),
    /// It was still queued.
    Waiting,
    /// It is not here: it has a response, or the response arrives on another stream.
    Unknown,
}

impl Outbox {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            calls: HashMap::default(),
            in_order: false,
            waiting: VecDeque::new(),
            waiting_requests: 0,
            unanswered: HashSet::new(),
            tickets: 0,
        }
    }

    /// Whether a message must be rejected.
    pub(super) fn is_full_for(&self, message: &Message) -> bool {
        if matches!(message, Message::Request(_)) {
            return self.requests() >= self.limit.saturating_add(CROWD);
        }
        self.calls.len() + self.waiting.len() >= self.limit.saturating_mul(EXTRA)
    }

    /// Accepts a message. Notifications and responses are delivered in order, and before later messages.
    pub(super) fn send(&mut self, message: Message) -> Sent {
        let is_request = matches!(message, Message::Request(_));
        self.tickets += 1;
        if self.in_order {
            self.waiting_requests += usize::from(is_request);
            self.waiting.push_back(message);
            return Sent::Waits;
        }
        self.in_order = !is_request;
        Sent::Now(message)
    }

    /// The ticket of the last message accepted.
    pub(super) fn last_ticket(&self) -> u64 {
        self.tickets
    }

    /// Records that a request is in flight. With `is_old`, its response arrives on the stream of a 2024-11-05 server,
    /// so it stays unanswered when its exchange ends.
    pub(super) fn started(&mut self, id: RequestId, call: Call, is_old: bool) {
        if is_old {
            self.unanswered.insert(id.clone());
        }
        self.calls.insert(id, call);
    }

    /// Records the end of an exchange. Returns the messages to post now, with their tickets.
    pub(super) fn finished(&mut self, id: Option<&RequestId>, ticket: u64) -> Vec<(Message, u64)> {
        let mut next = Vec::new();
        if let Some(id) = id {
            // A later request may have the same id.
            if self.calls.get(id).is_some_and(|call| call.ticket == ticket) {
                self.calls.remove(id);
            }
            return next;
        }
        self.in_order = false;
        while !self.in_order
            && let Some(message) = self.pop()
        {
            self.in_order = !matches!(message, Message::Request(_));
            self.tickets += 1;
            next.push((message, self.tickets));
        }
        next
    }

    /// Records that a request is settled.
    pub(super) fn answered(&mut self, id: &RequestId) {
        if !self.unanswered.is_empty() {
            self.unanswered.remove(id);
        }
    }

    pub(super) fn cancel(&mut self, id: &RequestId) -> Cancelled {
        self.answered(id);
        if let Some(call) = self.calls.remove(id) {
            return Cancelled::Call(call);
        }
        let is_it =
            |message: &Message| matches!(message, Message::Request(request) if request.id == *id);
        let Some(at) = self.waiting.iter().position(is_it) else { return Cancelled::Unknown };
        self.waiting_requests -= 1;
        self.waiting.remove(at);
        Cancelled::Waiting
    }

    pub(super) fn has_room(&self) -> bool {
        self.requests() < self.limit
    }

    /// Whether all messages are delivered, and all requests have responses except those that last until cancelled.
    pub(super) fn is_settled(&self) -> bool {
        let is_idle = !self.in_order && self.unanswered.is_empty();
        is_idle && self.calls.values().all(|call| call.is_held)
    }

    /// Returns the messages that were never sent.
    pub(super) fn take_waiting(&mut self) -> VecDeque<Message> {
        self.waiting_requests = 0;
        std::mem::take(&mut self.waiting)
    }

    /// The number of requests without a response.
    fn requests(&self) -> usize {
        self.calls.len() + self.waiting_requests
    }

    fn pop(&mut self) -> Option<Message> {
        let message = self.waiting.pop_front()?;
        self.waiting_requests -= usize::from(matches!(message, Message::Request(_)));
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::wire::{Decoded, decode};

    use super::*;

    fn message(text: &str) -> Message {
        match decode(&text.to_owned().into()) {
            Ok(Decoded::One(message)) => message,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn request(id: i64) -> Message {
        message(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#))
    }

    fn note() -> Message {
        message(r#"{"jsonrpc":"2.0","method":"n"}"#)
    }

    fn call(ticket: u64) -> Call {
        Call { ticket, key: ticket, is_modern: false, is_held: false }
    }

    fn id(id: i64) -> RequestId {
        match request(id) {
            Message::Request(request) => request.id,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn later_messages_wait_for_a_notification() {
        let mut outbox = Outbox::new(8);
        assert_eq!(outbox.send(request(1)), Sent::Now(request(1)));
        assert_eq!(outbox.send(note()), Sent::Now(note()));
        for later in [request(2), request(3), note(), request(4)] {
            assert_eq!(outbox.send(later), Sent::Waits);
        }
        assert!(matches!(outbox.cancel(&id(3)), Cancelled::Waiting));
        // Requests do not wait for each other, so all up to the next notification go at once.
        assert_eq!(outbox.finished(None, 2), [(request(2), 7), (note(), 8)]);
        assert!(!outbox.is_settled());
        assert_eq!(outbox.finished(None, 8), [(request(4), 9)]);
        assert!(outbox.is_settled() && outbox.take_waiting().is_empty());
    }

    #[test]
    fn requests_are_counted_until_they_are_over() {
        let mut outbox = Outbox::new(1);
        outbox.send(request(1));
        assert!(outbox.has_room());
        outbox.started(id(1), call(1), false);
        assert!(!outbox.has_room());
        // The exchange of an earlier request with the same id.
        outbox.finished(Some(&id(1)), 0);
        assert!(!outbox.has_room());
        outbox.finished(Some(&id(1)), 1);
        assert!(outbox.has_room());
        assert!(matches!(outbox.cancel(&id(1)), Cancelled::Unknown));
        for n in 0..65 {
            assert!(!outbox.is_full_for(&request(n)), "{n}");
            outbox.send(request(n));
            outbox.started(id(n), call(1), false);
        }
        assert!(outbox.is_full_for(&request(65)));
        assert!(outbox.is_full_for(&note()), "more than four for each request");
    }

    #[test]
    fn an_old_server_is_waited_for_when_its_exchange_is_over() {
        let mut outbox = Outbox::new(8);
        outbox.send(request(1));
        outbox.started(id(1), call(1), true);
        outbox.finished(Some(&id(1)), 1);
        assert!(!outbox.is_settled());
        outbox.answered(&id(1));
        assert!(outbox.is_settled());
        outbox.started(id(2), Call { is_held: true, ..call(2) }, false);
        assert!(outbox.is_settled(), "a subscription has no timeout");
    }
}
