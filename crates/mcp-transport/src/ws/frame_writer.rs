//! The writer of frames. Clients mask their frames, so that proxies do not interpret the payload as HTTP:
//! <https://www.rfc-editor.org/rfc/rfc6455#section-5.3>.
//!
//! tungstenite formats the headers. Its `WebSocketStream` has a separate write buffer that one task owns. Here,
//! callers write from their tasks, and the report at the end of a link says which messages were sent. Therefore the
//! frames go into the shared [`write_queue`](crate::io::write_queue), and are masked there in place.

use mcp_jsonrpc::{FailureCause, Message};
use tokio_tungstenite::tungstenite::protocol::frame::{
    FrameHeader,
    coding::{Control, Data, OpCode},
};

use crate::{
    diagnostics::CloseReason,
    io::write_queue::{Encode, KEPT_BUFFER},
};

/// The purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Ping,
    Pong,
    Close,
}

/// Writes masked frames.
pub(crate) struct FrameWriter {
    /// Random masks. Many are drawn at a time, since each draw is a system call.
    pool: [u8; 256],
    used: usize,
    /// The text of a message before it is masked.
    text: Vec<u8>,
}

impl Encode for FrameWriter {
    const TRAILER: u64 = 0;
    const FLUSHES: bool = true;

    fn encode(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), CloseReason> {
        let mut text = std::mem::take(&mut self.text);
        message.write(&mut text);
        let written = self.write(out, Kind::Text, &text);
        text.clear();
        if text.capacity() <= KEPT_BUFFER {
            self.text = text;
        }
        written
    }
}

impl FrameWriter {
    pub(crate) fn new() -> Self {
        Self { pool: [0; 256], used: 256, text: Vec::new() }
    }

    fn draw(&mut self) -> Result<[u8; 4], CloseReason> {
        if self.used == self.pool.len() {
            getrandom::fill(&mut self.pool).map_err(|_| CloseReason::Failed {
                cause: FailureCause::Local,
                reason: "the system random number generator failed".into(),
            })?;
            self.used = 0;
        }
        let mut mask = [0; 4];
        mask.copy_from_slice(&self.pool[self.used..self.used + 4]);
        self.used += 4;
        Ok(mask)
    }

    /// Appends a frame with `payload` to `out`.
    pub(super) fn write(
        &mut self,
        out: &mut Vec<u8>,
        kind: Kind,
        payload: &[u8],
    ) -> Result<(), CloseReason> {
        let opcode = match kind {
            Kind::Text => OpCode::Data(Data::Text),
            Kind::Ping => OpCode::Control(Control::Ping),
            Kind::Pong => OpCode::Control(Control::Pong),
            Kind::Close => OpCode::Control(Control::Close),
        };
        let mask = self.draw()?;
        let header = FrameHeader { opcode, mask: Some(mask), ..FrameHeader::default() };
        let length = payload.len() as u64;
        out.reserve(header.len(length) + payload.len());
        // Writing to memory does not fail.
        let _ = header.format(length, out);
        let start = out.len();
        out.extend_from_slice(payload);
        apply(mask, &mut out[start..]);
        Ok(())
    }
}

/// Applies the mask sixteen bytes at a time, which compilers can vectorize.
fn apply(mask: [u8; 4], payload: &mut [u8]) {
    let lane = u128::from(u32::from_ne_bytes(mask));
    let word = lane | lane << 32 | lane << 64 | lane << 96;
    let (words, rest) = payload.as_chunks_mut::<16>();
    for bytes in words {
        *bytes = (u128::from_ne_bytes(*bytes) ^ word).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, io::Cursor};

    use super::*;

    #[test]
    fn frames_are_read_as_they_were_meant_and_no_mask_comes_twice() {
        let (mut writer, mut seen) = (FrameWriter::new(), HashSet::new());
        for length in [0, 1, 15, 16, 17, 125, 126, 1000, 70_000] {
            let payload: Vec<u8> = b"abcdefghijk".iter().copied().cycle().take(length).collect();
            let mut out = b"before".to_vec();
            writer.write(&mut out, Kind::Text, &payload).expect("randomness");
            let mut cursor = Cursor::new(&out[6..]);
            let (header, announced) =
                FrameHeader::parse(&mut cursor).expect("valid").expect("whole");
            assert!(header.is_final && header.opcode == OpCode::Data(Data::Text));
            assert_eq!(announced, length as u64);
            let mask = header.mask.expect("a mask");
            let start = 6 + usize::try_from(cursor.position()).expect("small");
            let unmasked: Vec<u8> =
                out[start..].iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b).collect();
            assert_eq!(unmasked, payload);
            seen.insert(mask);
        }
        assert!(seen.len() > 7, "masks repeat");
    }
}
