//! Separates the frames of a transport into messages and skipped frames, which are counted.

use bytes::Bytes;
use mcp_jsonrpc::{
    Failure,
    wire::{Decoded, Line, Reply, decode, response_id_of_truncated},
};

use crate::{diagnostics::Diagnostics, link::Inbound};

/// How many bytes of the first skipped frame are kept.
const SHOWN: usize = 200;

/// Decodes frames, and counts those that are not messages.
#[derive(Debug, Default)]
pub(crate) struct FrameClassifier {
    frames: u64,
    bytes: u64,
    too_large: u64,
    first: Option<String>,
}

impl FrameClassifier {
    /// Appends the messages of a frame that may be over the `limit`.
    pub(crate) fn decode_line(&mut self, line: Line, limit: usize, batch: &mut Vec<Inbound>) {
        match line {
            Line::Whole(frame) => self.decode_into(&frame, batch),
            Line::TooLong { length, head, tail } => {
                self.too_large(length, limit, &head, &tail, batch);
            }
        }
    }

    /// Appends the messages of a frame.
    pub(crate) fn decode_into(&mut self, frame: &Bytes, batch: &mut Vec<Inbound>) {
        if let Some(reply) = Reply::recognize(frame) {
            batch.push(Inbound::Reply(reply));
            return;
        }
        match decode(frame) {
            Ok(Decoded::One(message)) => batch.push(Inbound::Message(message)),
            Ok(Decoded::Batch(messages)) => {
                // Keep the whole frame for diagnostics.
                if messages.iter().any(Result::is_err) {
                    self.show(frame);
                }
                for message in messages {
                    match message {
                        Ok(message) => batch.push(Inbound::Message(message)),
                        Err(_) => self.frames += 1,
                    }
                }
            }
            Err(_) => self.count(frame),
        }
    }

    /// Reports a message that was discarded because it was too large. Its head and tail may contain the request id.
    pub(crate) fn too_large(
        &mut self,
        size: usize,
        limit: usize,
        head: &[u8],
        tail: &[u8],
        batch: &mut Vec<Inbound>,
    ) {
        tracing::debug!(bytes = size, "skipped a message over the limit");
        self.too_large += 1;
        if let Some(id) = response_id_of_truncated(head, tail) {
            batch.push(Inbound::Lost { id, failure: Failure::TooLarge { size, limit } });
        }
    }

    fn count(&mut self, line: &[u8]) {
        tracing::debug!(bytes = line.len(), "skipped a line that is not a message");
        self.frames += 1;
        self.bytes += line.len() as u64;
        self.show(line);
    }

    fn show(&mut self, line: &[u8]) {
        self.first.get_or_insert_with(|| {
            // The cut may be inside a character.
            let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
            shown.trim_end_matches('\u{fffd}').into()
        });
    }

    /// Whether a frame was skipped since the last report.
    pub(crate) fn has_skipped(&self) -> bool {
        self.frames != 0 || self.too_large != 0
    }

    /// Moves the counts to the diagnostics of a link.
    pub(crate) fn report_to(&mut self, diagnostics: &mut Diagnostics) {
        if !self.has_skipped() {
            return;
        }
        let Self { frames, bytes, too_large, first } = std::mem::take(self);
        diagnostics.skipped_lines += frames;
        diagnostics.skipped_bytes += bytes;
        diagnostics.too_large += too_large;
        if diagnostics.first_skipped.is_none() {
            diagnostics.first_skipped = first;
        }
    }
}
