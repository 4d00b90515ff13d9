//! The reader of newline-delimited messages: <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#receiving-messages>.

use bytes::BytesMut;
use mcp_jsonrpc::wire::LineDecoder;

use super::frame_classifier::FrameClassifier;
use crate::link::Inbound;

/// Decodes chunks of bytes into messages. Lines that are not messages are counted, and do not end the stream.
#[derive(Debug)]
pub(crate) struct LineReader {
    decoder: LineDecoder,
    limit: usize,
    classifier: FrameClassifier,
}

impl LineReader {
    /// Reads messages of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { decoder: LineDecoder::new(limit), limit, classifier: FrameClassifier::default() }
    }

    /// The buffer to read into.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        self.decoder.buffer()
    }

    /// Appends all complete messages.
    pub(crate) fn take(&mut self, batch: &mut Vec<Inbound>) {
        while let Some(line) = self.decoder.next_line() {
            self.classifier.decode_line(line, self.limit, batch);
        }
    }

    /// Appends the message that the end of the stream completes.
    #[cfg(any(feature = "streams", test))]
    pub(crate) fn finish(&mut self, batch: &mut Vec<Inbound>) {
        if let Some(line) = self.decoder.finish() {
            self.classifier.decode_line(line, self.limit, batch);
        }
    }

    /// The counts of lines that were not messages.
    pub(crate) fn skipped(&mut self) -> &mut FrameClassifier {
        &mut self.classifier
    }
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::{Failure, Message, Notification};
    use proptest::prelude::*;

    use super::*;
    use crate::diagnostics::Diagnostics;

    fn read(limit: usize, text: &str) -> (Vec<Inbound>, Diagnostics) {
        let (mut reader, mut batch) = (LineReader::new(limit), Vec::new());
        reader.buffer().extend_from_slice(text.as_bytes());
        reader.take(&mut batch);
        reader.finish(&mut batch);
        let mut diagnostics = Diagnostics::default();
        reader.skipped().report_to(&mut diagnostics);
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
        let banner = "é".repeat(200);
        let (_, diagnostics) = read(1024, &banner);
        assert_eq!(diagnostics.first_skipped, Some("é".repeat(200 / 2)));
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

        /// After any output, split at any position, the next message arrives, and every line is a message or counted.
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
            reader.skipped().report_to(&mut diagnostics);
            let lines = noise.split(|byte| *byte == b'\n');
            let lines = lines.filter(|line| !line.trim_ascii().is_empty()).count() as u64;
            let noticed = diagnostics.skipped_lines + diagnostics.too_large;
            prop_assert_eq!(noticed + batch.len() as u64, lines + 1);
        }
    }
}
