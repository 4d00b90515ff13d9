//! Splits a stream of bytes into lines, each of them one message.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio>

use bytes::{Buf, Bytes, BytesMut};

use super::buffer_pool::Spare;

/// One line cut out of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a line fits or it does not")]
pub enum Line {
    /// A whole line without its ending. Never blank.
    Whole(Bytes),
    /// A line above the limit. It was read to its end and thrown away but for both ends, which
    /// [`response_id_of_truncated`](crate::wire::response_id_of_truncated) can find the request in.
    TooLong {
        /// How long it was.
        length: usize,
        /// Its first bytes.
        head: Bytes,
        /// Its last bytes. None if the stream ended first.
        tail: Bytes,
    },
}

/// Cuts a stream of bytes into lines.
///
/// Read into [`buffer`](Self::buffer), then take lines until there are none. Lines may come in any
/// chunks, end in `\n` or `\r\n`, be blank (skipped), hold invalid UTF-8 (returned as it is) or be too
/// long (reported, and the stream goes on with the next line).
///
/// ```
/// use mcp_jsonrpc::wire::{Line, LineDecoder};
///
/// let mut decoder = LineDecoder::new(1024);
/// decoder.buffer().extend_from_slice(b"{}\r\n\n[");
/// assert_eq!(decoder.next_line(), Some(Line::Whole("{}".into())));
/// assert_eq!(decoder.next_line(), None);
/// decoder.buffer().extend_from_slice(b"]\n");
/// assert_eq!(decoder.next_line(), Some(Line::Whole("[]".into())));
/// ```
#[derive(Debug)]
pub struct LineDecoder {
    buffer: BytesMut,
    limit: usize,
    /// How much of the buffer is known to hold no newline.
    searched: usize,
    /// Set while a line over the limit is being skipped.
    skipping: Option<Skipped>,
    /// Room to offer to the next read, between [`SMALL_READ`] and [`LARGE_READ`].
    room: usize,
    /// The buffer of the last large line, once all slices of that line are dropped.
    spare: Spare,
    /// Whether the last line was a large one.
    has_lent: bool,
}

#[derive(Debug, Default)]
struct Skipped {
    length: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// An idle connection should cost little.
const SMALL_READ: usize = 2 << 10;
/// A pipe holds this much, so a larger read would not return more.
const LARGE_READ: usize = 64 << 10;
/// Longer lines leave with the buffer they were read into; shorter ones are copied out of it, so
/// that keeping one small result does not keep a whole buffer.
const HAND_OVER: usize = 16 << 10;
/// How much of each end of a line that is too long is kept.
const ENDS: usize = 512;

impl LineDecoder {
    /// A decoder for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            limit,
            searched: 0,
            skipping: None,
            room: SMALL_READ,
            spare: Spare::default(),
            has_lent: false,
        }
    }

    /// Where to read to: append bytes at its end. There is always spare capacity.
    pub fn buffer(&mut self) -> &mut BytesMut {
        if self.skipping.is_some() {
            self.room = LARGE_READ;
        } else if self.buffer.is_empty() {
            self.room = SMALL_READ;
        } else if self.buffer.len() == self.buffer.capacity() {
            // The last read filled the whole buffer, so a large message is arriving.
            self.room = (self.room * 4).min(LARGE_READ).max(self.buffer.len().min(self.limit));
        }
        if self.buffer.capacity() - self.buffer.len() < SMALL_READ / 2 {
            self.make_room();
        }
        &mut self.buffer
    }

    fn make_room(&mut self) {
        if self.room > SMALL_READ
            && self.has_lent
            && let Some(mut spare) = self.spare.take()
        {
            spare.extend_from_slice(&self.buffer);
            self.buffer = spare;
        }
        if self.buffer.capacity() - self.buffer.len() < self.room {
            self.buffer.reserve(self.room);
        }
    }

    /// The next whole line, if there is one.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_else(|| {
                // The reader removed bytes from the buffer, so the search starts again.
                self.searched = 0;
                &self.buffer
            });
            let Some(found) = memchr::memchr(b'\n', unsearched) else {
                self.searched = self.buffer.len();
                if self.skipping.is_some() || self.buffer.len() > self.limit {
                    self.skip(self.buffer.len());
                }
                return None;
            };
            let end = self.searched + found;
            self.searched = 0;
            if self.skipping.is_some() || end > self.limit {
                self.skip(end);
                self.buffer.advance(1);
                if let Some(line) = self.skipped() {
                    return Some(line);
                }
            } else if let Some(line) = self.cut(end, 1) {
                return Some(line);
            }
        }
    }

    /// The rest when the stream ends: lines not yet taken, then one without its newline.
    pub fn finish(&mut self) -> Option<Line> {
        if let Some(line) = self.next_line() {
            return Some(line);
        }
        self.searched = 0;
        if let Some(skipped) = &mut self.skipping {
            // The stream ended inside the line, so these bytes are not the end of the line.
            skipped.tail.clear();
            return self.skipped();
        }
        self.cut(self.buffer.len(), 0)
    }

    /// Takes `end` bytes of content and `newline` bytes behind them. `None` if that is blank.
    fn cut(&mut self, end: usize, newline: usize) -> Option<Line> {
        let content = self.buffer[..end].trim_ascii_end().len();
        let line = if content == 0 {
            None
        } else if end < HAND_OVER {
            if std::mem::take(&mut self.has_lent) {
                drop(self.spare.take());
            }
            Some(Bytes::copy_from_slice(&self.buffer[..content]))
        } else if self.buffer.len() - end <= end {
            // The line takes the large allocation along; what came after it gets a new one.
            let rest = BytesMut::from(&self.buffer[end + newline..]);
            let line = std::mem::replace(&mut self.buffer, rest);
            self.has_lent = true;
            return Some(Line::Whole(self.spare.lend(line, content)));
        } else {
            let mut line = self.buffer.split_to(end);
            line.truncate(content);
            self.buffer.advance(newline);
            return Some(Line::Whole(line.freeze()));
        };
        self.buffer.advance(end + newline);
        line.map(Line::Whole)
    }

    /// Throws `count` bytes away, keeping the ends of the line they belong to.
    fn skip(&mut self, count: usize) {
        let bytes = &self.buffer[..count];
        let skipped = self.skipping.get_or_insert_default();
        skipped.length += count;
        let missing = ENDS - skipped.head.len();
        skipped.head.extend_from_slice(&bytes[..count.min(missing)]);
        skipped.tail.extend_from_slice(&bytes[count.saturating_sub(ENDS)..]);
        let surplus = skipped.tail.len().saturating_sub(ENDS);
        skipped.tail.drain(..surplus);
        self.buffer.advance(count);
        self.searched = 0;
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }

    fn skipped(&mut self) -> Option<Line> {
        let Skipped { length, head, tail } = self.skipping.take()?;
        Some(Line::TooLong { length, head: head.into(), tail: tail.into() })
    }
}
