//! Server-sent events, by the rules of the WHATWG: bytes in, events out, no I/O.
//!
//! The text of an event that arrives in one piece is a slice of that piece. Everything is bounded: an event
//! over the limit is thrown away as it arrives, and reported by its size and its ends.

use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memchr2;

/// Longer names and ids come from no honest server. They are ignored.
const LONGEST_FIELD: usize = 4096;
const BOM: &[u8] = b"\xEF\xBB\xBF";
/// How much is kept of both ends of an event that is thrown away.
const KEPT_END: usize = 256;

/// Something a stream of events said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A block that ended in an empty line.
    Block {
        /// The kind: empty means `message`.
        kind: String,
        /// The lines of data, joined. `None` where the block had none.
        data: Option<Bytes>,
    },
    /// An event over the limit.
    TooLarge {
        /// How long its data was.
        size: usize,
        /// How it began.
        head: Vec<u8>,
        /// How it ended.
        tail: Vec<u8>,
    },
}

/// Cuts a stream of bytes into events.
#[derive(Debug)]
pub(crate) struct EventDecoder {
    limit: usize,
    /// Nothing has been read yet, so a byte order mark may come.
    fresh: bool,
    /// The last byte was a CR: an LF right behind it belongs to it.
    after_cr: bool,
    /// The beginning of a line whose end has not come yet.
    line: BytesMut,
    /// The line is too long to keep, and this much of it went by.
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

/// What is kept of something that is thrown away.
#[derive(Debug, Default)]
struct Overflow {
    size: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl EventDecoder {
    /// Reads events whose data is at most `limit` bytes.
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

    /// Reads a fresh stream that goes on where another one stopped.
    pub(crate) fn after(other: &Self, limit: usize) -> Self {
        Self { id: other.id.clone(), retry: other.retry, ..Self::new(limit) }
    }

    /// The id of the last event, to resume after it. Empty until there is one.
    pub(crate) fn last_id(&self) -> &str {
        &self.id
    }

    /// How long the server wants us to wait before coming back.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes the next bytes, and appends the events they complete.
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

    /// The name of a field comes on top of the limit for its value.
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
            // Comments have an empty name, and others are none of ours.
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

    /// A line that was too long. Only data is missed.
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
