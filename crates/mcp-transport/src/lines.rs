//! From lines of text to what a host hears, with account kept of what was no message.

use bytes::{Bytes, BytesMut};
use mcp_jsonrpc::{Decoded, Failure, Line, LineDecoder, Reply, decode, salvage_id};

use crate::{diagnostics::Diagnostics, link::Inbound};

/// How much of the first line skipped is kept to show.
const SHOWN: usize = 200;

/// Turns chunks of bytes into messages. Noise is counted, and never ends the stream.
#[derive(Debug)]
pub(crate) struct LineReader {
    decoder: LineDecoder,
    limit: usize,
    skipped: Skipped,
}

/// Lines that were no messages.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    lines: u64,
    bytes: u64,
    too_large: u64,
    first: Option<String>,
}

impl LineReader {
    /// Reads messages of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { decoder: LineDecoder::new(limit), limit, skipped: Skipped::default() }
    }

    /// Where to read to.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        self.decoder.buffer()
    }

    /// Appends every message that is complete.
    pub(crate) fn take(&mut self, batch: &mut Vec<Inbound>) {
        while let Some(line) = self.decoder.next_line() {
            self.sort(line, batch);
        }
    }

    /// Appends what the end of the stream completes.
    #[cfg(any(feature = "stdio", test))]
    pub(crate) fn finish(&mut self, batch: &mut Vec<Inbound>) {
        if let Some(line) = self.decoder.finish() {
            self.sort(line, batch);
        }
    }

    /// What was skipped since this was last asked.
    pub(crate) fn skipped(&mut self) -> Skipped {
        std::mem::take(&mut self.skipped)
    }

    fn sort(&mut self, line: Line, batch: &mut Vec<Inbound>) {
        match line {
            Line::Whole(line) => self.skipped.sort(&line, batch),
            Line::TooLong { length, head, tail } => {
                self.skipped.too_large(length, self.limit, &head, &tail, batch);
            }
        }
    }
}

impl Skipped {
    /// Appends the message, or the messages, that a frame holds.
    pub(crate) fn sort(&mut self, frame: &Bytes, batch: &mut Vec<Inbound>) {
        if let Some(reply) = Reply::recognize(frame) {
            batch.push(Inbound::Reply(reply));
            return;
        }
        match decode(frame) {
            Ok(Decoded::One(message)) => batch.push(Inbound::Message(message)),
            Ok(Decoded::Batch(messages)) => {
                // The frame as a whole is what a person would want to see.
                if messages.iter().any(Result::is_err) {
                    self.show(frame);
                }
                for message in messages {
                    match message {
                        Ok(message) => batch.push(Inbound::Message(message)),
                        Err(_) => self.lines += 1,
                    }
                }
            }
            Err(_) => self.count(frame),
        }
    }

    /// A message was thrown away because it was too large; its ends tell whose it was.
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
        if let Some(id) = salvage_id(head, tail) {
            batch.push(Inbound::Lost { id, failure: Failure::TooLarge { size, limit } });
        }
    }

    fn count(&mut self, line: &[u8]) {
        tracing::debug!(bytes = line.len(), "skipped a line that is no message");
        self.lines += 1;
        self.bytes += line.len() as u64;
        self.show(line);
    }

    fn show(&mut self, line: &[u8]) {
        self.first.get_or_insert_with(|| {
            // The cut may fall inside a character.
            let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
            shown.trim_end_matches('\u{fffd}').into()
        });
    }

    /// Whether everything was a message.
    #[cfg(feature = "http")]
    pub(crate) fn is_nothing(&self) -> bool {
        self.lines == 0 && self.too_large == 0
    }

    /// Adds the counts to a link's own.
    pub(crate) fn add_to(self, diagnostics: &mut Diagnostics) {
        diagnostics.skipped_lines += self.lines;
        diagnostics.skipped_bytes += self.bytes;
        diagnostics.too_large += self.too_large;
        if diagnostics.first_skipped.is_none() {
            diagnostics.first_skipped = self.first;
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::{Message, Notification};
    use proptest::prelude::*;

    use super::*;

    fn read(limit: usize, text: &str) -> (Vec<Inbound>, Diagnostics) {
        let (mut reader, mut batch) = (LineReader::new(limit), Vec::new());
        reader.buffer().extend_from_slice(text.as_bytes());
        reader.take(&mut batch);
        reader.finish(&mut batch);
        let mut diagnostics = Diagnostics::default();
        reader.skipped().add_to(&mut diagnostics);
        (batch, diagnostics)
    }

    #[test]
    fn a_bad_element_of_a_batch_costs_only_itself_and_shows_its_line() {
        let line = r#"[{"jsonrpc":"2.0","method":"a"},7,{"jsonrpc":"2.0","method":"b"}]"#;
        let (batch, diagnostics) = read(1024, line);
        assert_eq!(batch.len(), 2);
        assert_eq!(diagnostics.skipped_lines, 1);
        assert_eq!(diagnostics.first_skipped.as_deref(), Some(line));
    }

    #[test]
    fn a_long_banner_is_shown_cut_on_a_character() {
        let banner = "é".repeat(SHOWN);
        let (_, diagnostics) = read(1024, &banner);
        assert_eq!(diagnostics.first_skipped, Some("é".repeat(SHOWN / 2)));
        assert_eq!(diagnostics.skipped_bytes, banner.len() as u64);
    }

    #[test]
    fn an_answer_over_the_limit_is_lost_by_name_and_anything_else_by_count() {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{}"}}"#, "x".repeat(100));
        let (batch, diagnostics) = read(64, &format!("{answer}\n{}\n", "y".repeat(100)));
        let failure = Failure::TooLarge { size: answer.len(), limit: 64 };
        assert_eq!(batch, [Inbound::Lost { id: 7.into(), failure }]);
        assert_eq!(diagnostics.too_large, 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever a server prints, in whatever pieces, the next message arrives, and every line
        /// is a message or counted.
        #[test]
        fn no_noise_stops_the_stream(
            noise in prop::collection::vec(any::<u8>(), 0..300),
            limit in 60..200usize,
            size in 1..50usize,
        ) {
            let hello = Message::Notification(Notification::new("hello", None));
            let mut wire = noise.clone();
            wire.push(b'\n');
            hello.write(&mut wire);
            wire.push(b'\n');
            let (mut reader, mut batch) = (LineReader::new(limit), Vec::new());
            for piece in wire.chunks(size) {
                reader.buffer().extend_from_slice(piece);
                reader.take(&mut batch);
            }
            prop_assert_eq!(batch.last(), Some(&Inbound::Message(hello)));
            let mut diagnostics = Diagnostics::default();
            reader.skipped().add_to(&mut diagnostics);
            let lines = noise.split(|byte| *byte == b'\n');
            let lines = lines.filter(|line| !line.trim_ascii().is_empty()).count() as u64;
            let noticed = diagnostics.skipped_lines + diagnostics.too_large;
            prop_assert_eq!(noticed + batch.len() as u64, lines + 1);
        }
    }
}
