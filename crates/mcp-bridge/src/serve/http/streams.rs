//! The event streams of a session: what was sent on them, and what has to be sent yet.

use std::{
    collections::{HashMap, VecDeque},
    task::{Context, Poll, Waker},
};

use mcp_client::RequestId;
use mcp_jsonrpc::Message;

/// The stream for everything that belongs to no request.
pub(super) const GENERAL: u64 = 0;
/// How many streams that have ended and that nobody reads are kept for clients that come back.
const MOST_ENDED: usize = 16;

/// All streams of one session.
#[derive(Debug)]
pub(super) struct Streams {
    all: HashMap<u64, Stream>,
    by_request: HashMap<RequestId, u64>,
    /// Those that have ended and that nobody reads, oldest first.
    ended: VecDeque<u64>,
    next: u64,
    /// How many events of a stream are kept.
    most_events: usize,
}

#[derive(Debug, Default)]
struct Stream {
    events: VecDeque<(u64, Event)>,
    next_event: u64,
    /// The first event that nobody was handed yet.
    unread: u64,
    /// How many answers are to come. The general stream never ends.
    awaited: usize,
    /// Grows when whoever reads should stop.
    epoch: u64,
    /// Somebody reads it, or is about to: an answer that is there is not one that was read.
    is_read: bool,
    waker: Option<Waker>,
}

/// Something sent on a stream.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) message: Message,
    /// The status, if it is an answer.
    pub(super) answer: Option<u16>,
}

/// Who reads a stream, and how far.
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

    /// A stream for the answers to these requests.
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

    /// Reads the general stream from what nobody has read, in place of whoever did so far.
    pub(super) fn general(&mut self) -> Option<Cursor> {
        let next = self.all.get(&GENERAL)?.unread;
        self.take_over(GENERAL, next)
    }

    /// Reads a stream from its event number `next`, in place of whoever did so far.
    pub(super) fn take_over(&mut self, stream: u64, next: u64) -> Option<Cursor> {
        let found = self.all.get_mut(&stream)?;
        found.stop_reading();
        found.is_read = true;
        // It is kept for as long as it is read.
        self.ended.retain(|known| *known != stream);
        Some(Cursor { stream, next, epoch: found.epoch })
    }

    /// Whoever read a stream has left.
    pub(super) fn leave(&mut self, cursor: Cursor) {
        let Some(stream) = self.all.get_mut(&cursor.stream) else { return };
        if cursor.epoch == stream.epoch {
            stream.is_read = false;
            self.retire(cursor.stream);
        }
    }

    /// Keeps a stream that has ended for a while, if nobody reads it.
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

    /// Adds a message to the stream of the request it is about, or to the general one.
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
        // Answers stay: they are what a client comes back for.
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

    /// Nothing more for whoever reads the stream of this request now.
    pub(super) fn hang_up(&mut self, about: &RequestId) {
        let number = self.by_request.get(about).copied();
        if let Some(stream) = number.and_then(|number| self.all.get_mut(&number)) {
            stream.stop_reading();
        }
    }

    /// A request is given up: nobody will be answered.
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

    /// Everybody stops reading.
    pub(super) fn end(&mut self) {
        self.all.values_mut().for_each(Stream::stop_reading);
        self.all.clear();
    }

    /// The next event for a reader, or the end.
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
    fn a_client_that_comes_back_reads_on_where_it_was() {
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
    fn what_belongs_to_no_request_waits_for_the_general_stream_and_is_read_once() {
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
    fn many_answers_at_once_wait_for_those_who_are_there_to_read_them() {
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
        assert_eq!(streams.all.len(), MOST_ENDED + 1, "and then they are as good as any");
    }
}
