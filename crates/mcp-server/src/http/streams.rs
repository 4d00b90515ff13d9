//! The event streams of a session: sent events, kept for clients that reconnect, and events to send.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::{
    collections::{HashMap, VecDeque},
    task::{Context, Poll, Waker},
};

use mcp_jsonrpc::{Message, RequestId};

/// The number of the stream for messages that belong to no request.
pub(super) const GENERAL: u64 = 0;
/// How many ended streams without a reader are kept for clients that reconnect.
const MOST_ENDED: usize = 16;

/// All streams of one session.
#[derive(Debug)]
pub(super) struct Streams {
    all: HashMap<u64, Stream>,
    by_request: HashMap<RequestId, u64>,
    /// Ended streams without a reader, oldest first.
    ended: VecDeque<u64>,
    next: u64,
    /// How many events of one stream are kept.
    most_events: usize,
}

#[derive(Debug, Default)]
struct Stream {
    events: VecDeque<(u64, Event)>,
    next_event: u64,
    /// The number of the first event that no reader has received.
    unread: u64,
    /// How many responses are still to come. The general stream never ends.
    awaited: usize,
    /// Incremented to make the current reader stop.
    epoch: u64,
    /// Whether there is a reader, or will be in a moment: unread responses must then be kept.
    is_read: bool,
    waker: Option<Waker>,
}

/// A message sent on a stream.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) message: Message,
    /// The HTTP status, if the message is a response.
    pub(super) answer: Option<u16>,
}

/// A reader's position in a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    pub(super) stream: u64,
    pub(super) next: u64,
    epoch: u64,
}

impl Streams {
    pub(super) fn new(most_events: usize) -> Self {
        let all = HashMap::from([(GENERAL, Stream::default())]);
        Self {
            all,
            by_request: HashMap::new(),
            ended: VecDeque::new(),
            next: GENERAL + 1,
            most_events,
        }
    }

    /// Opens a stream for the responses to these requests.
    pub(super) fn open(&mut self, requests: impl IntoIterator<Item = RequestId>) -> Cursor {
        let number = self.next;
        self.next += 1;
        let mut stream = Stream { is_read: true, ..Stream::default() };
        for request in requests {
            self.by_request.insert(request, number);
            stream.awaited += 1;
        }
        self.all.insert(number, stream);
        Cursor { stream: number, next: 0, epoch: 0 }
    }

    /// Reads the general stream from the first unread event. Replaces its current reader.
    pub(super) fn general(&mut self) -> Option<Cursor> {
        let next = self.all.get(&GENERAL)?.unread;
        self.take_over(GENERAL, next)
    }

    /// Reads a stream from its event number `next`. Replaces its current reader.
    pub(super) fn take_over(&mut self, stream: u64, next: u64) -> Option<Cursor> {
        let found = self.all.get_mut(&stream)?;
        found.stop_reading();
        found.is_read = true;
        // A stream with a reader is not evicted.
        self.ended.retain(|known| *known != stream);
        Some(Cursor { stream, next, epoch: found.epoch })
    }

    /// Removes the reader of a stream.
    pub(super) fn leave(&mut self, cursor: Cursor) {
        let Some(stream) = self.all.get_mut(&cursor.stream) else { return };
        if cursor.epoch == stream.epoch {
            stream.is_read = false;
            self.retire(cursor.stream);
        }
    }

    /// Marks an ended stream without a reader for eviction.
    fn retire(&mut self, number: u64) {
        let is_over = |stream: &Stream| stream.awaited == 0 && !stream.is_read;
        if number == GENERAL || !self.all.get(&number).is_some_and(is_over) {
            return;
        }
        self.ended.push_back(number);
        if self.ended.len() > MOST_ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.forget(oldest);
        }
    }

    /// Adds a message to the stream of the request it is about, or to the general stream.
    pub(super) fn push(&mut self, about: Option<&RequestId>, event: Event) {
        let number = about.and_then(|id| self.by_request.get(id)).copied().unwrap_or(GENERAL);
        let most_events = self.most_events;
        let Some(stream) = self.all.get_mut(&number) else { return };
        if event.answer.is_some() {
            stream.awaited = stream.awaited.saturating_sub(1);
            if let Some(id) = about {
                self.by_request.remove(id);
            }
        }
        stream.events.push_back((stream.next_event, event));
        stream.next_event += 1;
        // CachePolicy responses: clients reconnect to get them.
        if stream.events.len() > most_events
            && let Some(oldest) = stream.events.iter().position(|(_, e)| e.answer.is_none())
        {
            stream.events.remove(oldest);
        }
        stream.wake();
        let is_over = stream.awaited == 0;
        if is_over {
            self.retire(number);
        }
    }

    /// Ends the current reader of this request's stream. The stream itself is kept.
    pub(super) fn hang_up(&mut self, about: &RequestId) {
        let number = self.by_request.get(about).copied();
        if let Some(stream) = number.and_then(|number| self.all.get_mut(&number)) {
            stream.stop_reading();
        }
    }

    /// Removes a cancelled request, which gets no response.
    pub(super) fn abandon(&mut self, request: &RequestId) {
        let Some(number) = self.by_request.remove(request) else { return };
        if let Some(stream) = self.all.get_mut(&number) {
            stream.awaited = stream.awaited.saturating_sub(1);
            stream.wake();
            if stream.awaited == 0 && stream.events.is_empty() {
                self.forget(number);
            } else {
                self.retire(number);
            }
        }
    }

    pub(super) fn forget(&mut self, number: u64) {
        self.ended.retain(|known| *known != number);
        self.by_request.retain(|_, known| *known != number);
        if let Some(mut stream) = self.all.remove(&number) {
            stream.wake();
        }
    }

    /// Ends all streams.
    pub(super) fn end(&mut self) {
        self.all.values_mut().for_each(Stream::stop_reading);
        self.all.clear();
    }

    /// The next event for a reader, or `None` at the end.
    pub(super) fn poll(
        &mut self,
        cursor: &mut Cursor,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Event>> {
        let Some(stream) = self.all.get_mut(&cursor.stream) else { return Poll::Ready(None) };
        if cursor.epoch != stream.epoch {
            return Poll::Ready(None);
        }
        if let Some((number, event)) = stream.events.iter().find(|(n, _)| *n >= cursor.next) {
            cursor.next = number + 1;
            stream.unread = stream.unread.max(cursor.next);
            return Poll::Ready(Some(event.clone()));
        }
        if cursor.stream != GENERAL && stream.awaited == 0 {
            return Poll::Ready(None);
        }
        stream.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Stream {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn stop_reading(&mut self) {
        self.epoch += 1;
        self.is_read = false;
        self.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_jsonrpc::Notification;

    fn event(name: &'static str, answer: Option<u16>) -> Event {
        Event { message: Message::Notification(Notification::new(name, None)), answer }
    }

    fn read(streams: &mut Streams, cursor: &mut Cursor) -> Vec<String> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut seen = Vec::new();
        loop {
            match streams.poll(cursor, &mut cx) {
                Poll::Ready(Some(event)) => {
                    seen.push(event.message.method().unwrap_or_default().to_owned());
                }
                Poll::Ready(None) => seen.push("end".into()),
                Poll::Pending => seen.push("wait".into()),
            }
            if seen.last().is_some_and(|last| last == "end" || last == "wait") {
                return seen;
            }
        }
    }

    #[test]
    fn reconnecting_client_resumes_after_its_last_event() {
        let mut streams = Streams::new(8);
        let id = RequestId::from(1);
        let mut first = streams.open([id.clone()]);
        streams.push(Some(&id), event("a", None));
        assert_eq!(read(&mut streams, &mut first), ["a", "wait"]);
        streams.hang_up(&id);
        assert_eq!(read(&mut streams, &mut first), ["end"]);
        streams.push(Some(&id), event("b", Some(200)));
        let mut again = streams.take_over(first.stream, first.next).unwrap();
        assert_eq!(read(&mut streams, &mut again), ["b", "end"]);
        let mut from_start = streams.take_over(first.stream, 0).unwrap();
        assert_eq!(read(&mut streams, &mut from_start), ["a", "b", "end"]);
    }

    #[test]
    fn unrelated_messages_wait_for_the_general_stream_and_are_read_once() {
        let mut streams = Streams::new(8);
        streams.push(None, event("a", None));
        let mut first = streams.general().unwrap();
        assert_eq!(read(&mut streams, &mut first), ["a", "wait"]);
        let mut second = streams.general().unwrap();
        streams.push(None, event("b", None));
        assert_eq!(read(&mut streams, &mut first), ["end"], "another reader took over");
        assert_eq!(read(&mut streams, &mut second), ["b", "wait"]);
    }

    #[test]
    fn streams_and_their_events_are_bounded() {
        let mut streams = Streams::new(4);
        for number in 0..100 {
            let id = RequestId::from(number);
            let cursor = streams.open([id.clone()]);
            streams.leave(cursor);
            for _ in 0..10 {
                streams.push(Some(&id), event("noise", None));
            }
            streams.push(Some(&id), event("answer", Some(200)));
        }
        assert_eq!(streams.all.len(), MOST_ENDED + 1);
        assert!(streams.by_request.is_empty());
        let mut last = streams.take_over(100, 0).unwrap();
        let seen = read(&mut streams, &mut last);
        assert_eq!(seen.len(), 5);
        assert!(seen.contains(&"answer".to_owned()));
    }

    #[test]
    fn streams_with_a_reader_are_not_evicted() {
        let mut streams = Streams::new(4);
        let mut readers: Vec<_> = (0..100).map(|n| streams.open([RequestId::from(n)])).collect();
        for number in 0..100 {
            streams.push(Some(&RequestId::from(number)), event("answer", Some(200)));
        }
        for reader in &mut readers {
            assert_eq!(read(&mut streams, reader), ["answer", "end"]);
        }
        for reader in readers {
            streams.leave(reader);
        }
        assert_eq!(streams.all.len(), MOST_ENDED + 1, "streams without a reader are evicted");
    }
}
