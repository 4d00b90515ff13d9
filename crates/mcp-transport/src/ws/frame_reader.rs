//! The reader of frames. It joins payloads to messages, and discards a message over the limit as it arrives.
//!
//! tungstenite parses the headers. Its `WebSocketStream` and `FrameSocket` end the connection on a message over their
//! limit, but the parity suite requires that such a response fails only its call. Therefore the payloads are joined
//! here, and the ends of a discarded message are kept to find the id of its call.

#[cfg(test)]
mod tests;

use std::io::Cursor;

use bytes::{Buf as _, Bytes, BytesMut};
use mcp_jsonrpc::wire::Line;
use tokio_tungstenite::tungstenite::protocol::frame::{
    FrameHeader,
    coding::{Control, Data, OpCode},
};

use super::close::Goodbye;

/// An item received from the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A message, of any kind of data frame. Never blank.
    Message(Line),
    /// A ping, to be answered with the same bytes.
    Ping(Bytes),
    Pong,
    Close(Goodbye),
}

/// A violation of the WebSocket protocol by the server, described.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken(pub(super) &'static str);

/// Joins frames to messages: plain state, no socket.
#[derive(Debug)]
pub(super) struct FrameReader {
    buffer: BytesMut,
    limit: usize,
    /// How many bytes to reserve for the next read.
    room: usize,
    /// The current frame, and the number of its payload bytes still to be read.
    frame: Option<(FrameHeader, u64)>,
    /// The message that is being joined.
    message: Option<Begun>,
}

#[derive(Debug)]
enum Begun {
    /// Most messages are a single frame, and stay in the buffer they were read into.
    One(Bytes),
    Joined(BytesMut),
    Skipped {
        length: usize,
        head: Vec<u8>,
        tail: Vec<u8>,
    },
}

/// Small, so that an idle connection costs little.
const SMALL_READ: usize = 4 << 10;
const LARGE_READ: usize = 64 << 10;
/// Longer messages take the buffer they were read into; shorter ones are copied out of it, so that keeping one small
/// result does not keep a whole buffer.
const HAND_OVER: usize = 16 << 10;
/// How many bytes of each end of a message over the limit are kept.
const ENDS: usize = 512;

impl FrameReader {
    /// Reads messages of at most `limit` bytes, starting with `rest`, which arrived with the handshake.
    pub(super) fn new(limit: usize, rest: BytesMut) -> Self {
        Self { buffer: rest, limit, room: SMALL_READ, frame: None, message: None }
    }

    /// The buffer to read into.
    pub(super) fn buffer(&mut self) -> &mut BytesMut {
        let missing = match &self.frame {
            Some((_, left)) => usize::try_from(*left).unwrap_or(usize::MAX),
            None => 0,
        };
        let missing = missing.saturating_sub(self.buffer.len());
        if self.buffer.is_empty() && self.buffer.capacity() > LARGE_READ {
            self.buffer = BytesMut::new();
        }
        // Reserve at most as much again as has arrived, or one read, regardless of the length that a frame declares.
        let trust = self.buffer.len().max(self.room);
        self.buffer.reserve(missing.clamp(self.room, trust));
        &mut self.buffer
    }

    /// Records how many bytes were read.
    pub(super) fn has_read(&mut self, count: usize) {
        self.room = if count >= self.room { LARGE_READ } else { SMALL_READ };
    }

    /// Returns the next complete item.
    pub(super) fn next(&mut self) -> Result<Option<Received>, Broken> {
        loop {
            let Some((header, left)) = self.header()? else { return Ok(None) };
            let received = match header.opcode {
                OpCode::Control(kind) => {
                    let Some(payload) = self.whole(left) else { return Ok(None) };
                    Some(control(kind, payload)?)
                }
                OpCode::Data(_) => {
                    if !self.data(left) {
                        return Ok(None);
                    }
                    if header.is_final { self.finish().map(Received::Message) } else { None }
                }
            };
            self.frame = None;
            if received.is_some() {
                return Ok(received);
            }
        }
    }

    /// Returns the header of the current frame, and the number of its payload bytes still to be read.
    fn header(&mut self) -> Result<Option<(FrameHeader, u64)>, Broken> {
        if self.frame.is_none() {
            let mut cursor = Cursor::new(&self.buffer);
            let parsed = FrameHeader::parse(&mut cursor);
            let parsed = parsed.map_err(|_| Broken("a frame has an unknown opcode"))?;
            let length = usize::try_from(cursor.position()).unwrap_or(0);
            let Some((header, payload)) = parsed else { return Ok(None) };
            self.check(&header, payload)?;
            self.buffer.advance(length);
            self.frame = Some((header, payload));
        }
        Ok(self.frame.clone())
    }

    fn check(&self, header: &FrameHeader, payload: u64) -> Result<(), Broken> {
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return Err(Broken("a frame uses an extension that was not negotiated"));
        }
        if header.mask.is_some() {
            return Err(Broken("a frame is masked, which only clients may do"));
        }
        match header.opcode {
            OpCode::Control(_) if !header.is_final => Err(Broken("a control frame is fragmented")),
            OpCode::Control(_) if payload > 125 => {
                Err(Broken("a control frame is longer than 125 bytes"))
            }
            OpCode::Data(Data::Continue) if self.message.is_none() => {
                Err(Broken("a continuation frame without a message"))
            }
            OpCode::Data(Data::Text | Data::Binary) if self.message.is_some() => {
                Err(Broken("a message began before the previous one ended"))
            }
            _ => Ok(()),
        }
    }

    /// Returns a payload once it is complete.
    fn whole(&mut self, length: u64) -> Option<Bytes> {
        let length = usize::try_from(length).ok().filter(|length| *length <= self.buffer.len())?;
        if length < HAND_OVER {
            let payload = Bytes::copy_from_slice(&self.buffer[..length]);
            self.buffer.advance(length);
            return Some(payload);
        }
        Some(self.buffer.split_to(length).freeze())
    }

    /// Takes the available bytes of a data frame. Returns whether the frame is complete.
    fn data(&mut self, left: u64) -> bool {
        let so_far = match &self.message {
            None => Some(0),
            Some(begun) => begun.kept().map(<[u8]>::len),
        };
        let total = so_far.and_then(|so_far| usize::try_from(left).ok()?.checked_add(so_far));
        if total.is_none_or(|total| total > self.limit) {
            return self.skip(left);
        }
        let Some(payload) = self.whole(left) else { return false };
        self.message = Some(match self.message.take() {
            None => Begun::One(payload),
            Some(Begun::One(first)) => Begun::Joined([first, payload].concat().as_slice().into()),
            Some(Begun::Joined(mut joined)) => {
                joined.extend_from_slice(&payload);
                Begun::Joined(joined)
            }
            Some(skipped) => skipped,
        });
        true
    }

    /// Discards the available bytes of a frame, except the ends of its message.
    fn skip(&mut self, left: u64) -> bool {
        let here = self.buffer.len();
        let here = usize::try_from(left).map_or(here, |left| left.min(here));
        let begun = self.message.take().map_or_else(Begun::nothing, Begun::give_up);
        self.message = Some(begun.skip(&self.buffer[..here]));
        self.buffer.advance(here);
        let left = left - here as u64;
        if let Some((_, of_frame)) = &mut self.frame {
            *of_frame = left;
        }
        left == 0
    }

    /// Returns the message that is complete now, unless it is blank.
    fn finish(&mut self) -> Option<Line> {
        match self.message.take()? {
            Begun::One(only) => whole(only),
            Begun::Joined(joined) => whole(joined.freeze()),
            Begun::Skipped { length, head, tail } => {
                Some(Line::TooLong { length, head: head.into(), tail: tail.into() })
            }
        }
    }
}

/// A blank message is ignored, like a blank line.
fn whole(message: Bytes) -> Option<Line> {
    (!message.trim_ascii().is_empty()).then_some(Line::Whole(message))
}

impl Begun {
    fn kept(&self) -> Option<&[u8]> {
        match self {
            Begun::One(first) => Some(first),
            Begun::Joined(joined) => Some(joined),
            Begun::Skipped { .. } => None,
        }
    }

    /// A message that is too large from its beginning on.
    fn nothing() -> Self {
        Self::Skipped { length: 0, head: Vec::new(), tail: Vec::new() }
    }

    /// Discards a message that has become too large.
    fn give_up(self) -> Self {
        match self.kept() {
            Some(kept) => Self::nothing().skip(kept),
            None => self,
        }
    }

    fn skip(mut self, bytes: &[u8]) -> Self {
        if let Self::Skipped { length, head, tail } = &mut self {
            *length = length.saturating_add(bytes.len());
            let missing = ENDS - head.len();
            head.extend_from_slice(&bytes[..bytes.len().min(missing)]);
            tail.extend_from_slice(&bytes[bytes.len().saturating_sub(ENDS)..]);
            let surplus = tail.len().saturating_sub(ENDS);
            tail.drain(..surplus);
        }
        self
    }
}

fn control(kind: Control, payload: Bytes) -> Result<Received, Broken> {
    match kind {
        Control::Ping => Ok(Received::Ping(payload)),
        Control::Pong => Ok(Received::Pong),
        Control::Close => match Goodbye::read(&payload) {
            Some(goodbye) => Ok(Received::Close(goodbye)),
            None => Err(Broken("a close frame has an incomplete status code")),
        },
        Control::Reserved(_) => Err(Broken("a frame has an unknown opcode")),
    }
}
