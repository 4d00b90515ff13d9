//! A sans-I/O decoder of server-sent events:
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation>.
//!
//! The data of an event that arrives in one chunk is a slice of that chunk. All buffers are bounded: an event over
//! the limit is discarded as it arrives, and reported by its size, head and tail.

use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memchr2;

/// Longer field values are ignored: legitimate servers do not send them.
const LONGEST_FIELD: usize = 4096;
const BOM: &[u8] = b"\xEF\xBB\xBF";
/// How many bytes are kept of each end of a discarded event.
const KEPT_END: usize = 256;

/// An item of an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A block that ended in an empty line.
    Block {
        /// The event type. Empty means `message`.
        kind: String,
        /// The data lines, joined. `None` if the block had none.
        data: Option<Bytes>,
    },
    /// An event over the limit.
    TooLarge {
        /// The length of its data.
        size: usize,
        /// Its first bytes.
        head: Vec<u8>,
        /// Its last bytes.
        tail: Vec<u8>,
    },
}

/// Splits a stream of bytes into events.
#[derive(Debug)]
pub(crate) struct EventDecoder {
    limit: usize,
    /// No bytes have been read yet, so a byte order mark may follow.
    fresh: bool,
    /// The last byte was a CR. An LF right after it ends the same line.
    after_cr: bool,
    /// The beginning of an incomplete line.
    line: BytesMut,
    /// Set while the line is too long to keep.
    overflow: Option<Overflow>,
    block: Block,
    id: String,
    retry: Option<Duration>,
}

#[derive(Debug, Default)]
struct Block {
    kind: String,
    data: Data,
    id: Option<String>,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    One(Bytes),
    Many(BytesMut),
    TooLarge(Overflow),
}

/// The size and the ends of discarded data.
#[derive(Debug, Default)]
struct Overflow {
    size: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl EventDecoder {
    /// Decodes events with at most `limit` bytes of data.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            fresh: true,
            after_cr: false,
            line: BytesMut::new(),
            overflow: None,
            block: Block::default(),
            id: String::new(),
            retry: None,
        }
    }

    /// Decodes a new stream that resumes another one.
    pub(crate) fn after(other: &Self, limit: usize) -> Self {
        Self { id: other.id.clone(), retry: other.retry, ..Self::new(limit) }
    }

    /// The id of the last event, for resumption. Empty until an event has one.
    pub(crate) fn last_id(&self) -> &str {
        &self.id
    }

    /// The reconnection time that the server asks for.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Decodes the next bytes and appends the events they complete.
    pub(crate) fn push(&mut self, mut chunk: Bytes, events: &mut Vec<Event>) {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_cr) && chunk[0] == b'\n' {
                chunk.advance(1);
                continue;
            }
            let Some(end) = memchr2(b'\r', b'\n', &chunk) else {
                self.keep(&chunk);
                return;
            };
            self.after_cr = chunk[end] == b'\r';
            let line = chunk.split_to(end);
            chunk.advance(1);
            self.end_line(line, events);
        }
    }

    fn keep(&mut self, part: &[u8]) {
        let longest = self.longest_line();
        match &mut self.overflow {
            Some(overflow) => overflow.add(part),
            None if self.line.len() + part.len() > longest => {
                let mut overflow = Overflow::default();
                overflow.add(&std::mem::take(&mut self.line));
                overflow.add(part);
                self.overflow = Some(overflow);
            }
            None => self.line.extend_from_slice(part),
        }
    }

    /// Leaves room for the field name in front of a value of the maximum length.
    fn longest_line(&self) -> usize {
        self.limit.max(LONGEST_FIELD).saturating_add(16)
    }

    fn end_line(&mut self, rest: Bytes, events: &mut Vec<Event>) {
        if self.line.is_empty() && self.overflow.is_none() {
            return self.line(rest, events);
        }
        self.keep(&rest);
        if let Some(overflow) = self.overflow.take() {
            self.lost_line(overflow);
        } else {
            let line = self.line.split().freeze();
            self.line(line, events);
        }
    }

    fn line(&mut self, mut line: Bytes, events: &mut Vec<Event>) {
        if std::mem::take(&mut self.fresh) && line.starts_with(BOM) {
            line.advance(BOM.len());
        }
        if line.is_empty() {
            return self.dispatch(events);
        }
        let (name, value) = match memchr::memchr(b':', &line) {
            Some(colon) => {
                let space = usize::from(line.get(colon + 1) == Some(&b' '));
                (line.slice(..colon), line.slice(colon + 1 + space..))
            }
            None => (line, Bytes::new()),
        };
        match &*name {
            b"data" => self.data(value),
            b"event" if value.len() <= LONGEST_FIELD => self.block.kind = text(&value),
            b"id" if value.len() <= LONGEST_FIELD && !value.contains(&0) => {
                self.block.id = Some(text(&value));
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                if let Ok(milliseconds) = text(&value).parse() {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
            }
            // Comments have an empty name, and other fields are ignored.
            _ => {}
        }
    }

    fn data(&mut self, value: Bytes) {
        let data = &mut self.block.data;
        let before = match data {
            Data::None => 0,
            Data::One(first) => first.len() + 1,
            Data::Many(lines) => lines.len() + 1,
            Data::TooLarge(overflow) => {
                overflow.add(b"\n");
                overflow.add(&value);
                return;
            }
        };
        if before + value.len() > self.limit {
            let mut overflow = Overflow::default();
            match data {
                Data::One(first) => overflow.add(first),
                Data::Many(lines) => overflow.add(lines),
                Data::None | Data::TooLarge(_) => {}
            }
            if before > 0 {
                overflow.add(b"\n");
            }
            overflow.add(&value);
            *data = Data::TooLarge(overflow);
            return;
        }
        match data {
            Data::Many(lines) => {
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&value);
            }
            Data::One(first) => {
                let mut lines = BytesMut::with_capacity(before + value.len());
                lines.extend_from_slice(first);
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&value);
                *data = Data::Many(lines);
            }
            _ => *data = Data::One(value),
        }
    }

    /// Handles a line that was too long. Only data is reported.
    fn lost_line(&mut self, mut line: Overflow) {
        let mut head = &line.head[..];
        if std::mem::take(&mut self.fresh) {
            head = head.strip_prefix(BOM).unwrap_or(head);
        }
        let Some(head) = head.strip_prefix(b"data:") else { return };
        let head = head.strip_prefix(b" ").unwrap_or(head).to_vec();
        line.size -= line.head.len() - head.len();
        line.head = head;
        let mut overflow = match std::mem::take(&mut self.block.data) {
            Data::None => return self.block.data = Data::TooLarge(line),
            Data::TooLarge(overflow) => overflow,
            Data::One(first) => Overflow::of(&first),
            Data::Many(lines) => Overflow::of(&lines),
        };
        overflow.add(b"\n");
        overflow.size += line.size;
        overflow.tail = line.tail;
        self.block.data = Data::TooLarge(overflow);
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        let Block { kind, data, id } = std::mem::take(&mut self.block);
        let had_id = id.is_some();
        if let Some(id) = id {
            self.id = id;
        }
        let data = match data {
            Data::None if kind.is_empty() && !had_id => return,
            Data::None => None,
            Data::One(line) => Some(line),
            Data::Many(lines) => Some(lines.freeze()),
            Data::TooLarge(Overflow { size, head, tail }) => {
                return events.push(Event::TooLarge { size, head, tail });
            }
        };
        events.push(Event::Block { kind, data });
    }
}

impl Overflow {
    fn of(part: &[u8]) -> Self {
        let mut overflow = Self::default();
        overflow.add(part);
        overflow
    }

    fn add(&mut self, part: &[u8]) {
        self.size += part.len();
        let room = KEPT_END.saturating_sub(self.head.len());
        self.head.extend_from_slice(&part[..part.len().min(room)]);
        self.tail.extend_from_slice(&part[part.len().saturating_sub(KEPT_END)..]);
        let excess = self.tail.len().saturating_sub(KEPT_END);
        self.tail.drain(..excess);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
