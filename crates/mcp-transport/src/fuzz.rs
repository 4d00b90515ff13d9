//! Fuzz targets, called from the `fuzz` folder of the workspace. Not part of the API.
//!
//! Each takes arbitrary bytes and panics if a property does not hold.

use std::time::Duration;

use mcp_jsonrpc::{Message, Notification};

use crate::{
    challenge::{Challenge, is_token},
    diagnostics::Diagnostics,
    io::line_reader::LineReader,
    link::Inbound,
    record::Cassette,
    retry_after::{LONGEST, read},
};
pub use crate::{
    http::fuzz::{events, headers, urls},
    ws::fuzz::frames,
};

/// Output of a server: its fragmentation does not change the decoded messages, and a valid message after it arrives.
pub fn stdio(data: &[u8]) {
    let Some((&[limit, size], wire)) = data.split_first_chunk() else { return };
    let limit = usize::from(limit).max(64);
    let hello = Message::Notification(Notification::new("hello", None));
    let mut wire = wire.to_vec();
    wire.push(b'\n');
    hello.write(&mut wire);
    let (whole, diagnostics) = heard([&wire[..]], limit);
    assert_eq!(whole.last(), Some(&Inbound::Message(hello)));
    let (pieces, same) = heard(wire.chunks(usize::from(size).max(1)), limit);
    assert_eq!(pieces, whole);
    assert_eq!(format!("{same:?}"), format!("{diagnostics:?}"));
    let shown = diagnostics.first_skipped.unwrap_or_default();
    assert!(shown.chars().count() <= 200, "a long line is shown whole");
}

fn heard<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<Inbound>, Diagnostics) {
    let (mut reader, mut batch) = (LineReader::new(limit), Vec::new());
    for piece in pieces {
        reader.buffer().extend_from_slice(piece);
        reader.take(&mut batch);
    }
    reader.finish(&mut batch);
    let mut diagnostics = Diagnostics::default();
    reader.skipped().report_to(&mut diagnostics);
    (batch, diagnostics)
}

/// A `WWW-Authenticate` header: parsing is bounded, and its result survives a round trip through a header.
pub fn challenge(data: &[u8]) {
    let Ok(header) = std::str::from_utf8(data) else { return };
    let url = format!("https://example.com/mcp?C4nary={header}");
    let mut challenge = Challenge::new(401, url);
    challenge.read(header);
    assert!(challenge.schemes.len() <= 16);
    let mut written = Vec::new();
    for scheme in &challenge.schemes {
        assert!(scheme.name.chars().all(is_token) && scheme.params.len() <= 64);
        let params = scheme.params.iter().map(|(name, value)| {
            assert!(!name.is_empty() && name.chars().all(is_token));
            assert_eq!(scheme.param(name), Some(value.as_str()), "the first of a name counts");
            format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
        });
        written.push(format!("{} {}", scheme.name, params.collect::<Vec<_>>().join(", ")));
    }
    let written = written.join(", ");
    // Quoting adds length, and headers over the limit are ignored.
    if written.len() <= 8 << 10 {
        let mut again = Challenge::new(401, challenge.url.clone());
        again.read(&written);
        assert_eq!(again.schemes, challenge.schemes, "{written}");
    }
    if !header.contains("C4nary") {
        assert!(!format!("{challenge:?}").contains("C4nary"), "the query of the URL is shown");
    }
}

/// A `Retry-After` header: never longer than a day, shorter as time passes, and each date is parsed as its moment.
pub fn retry_after(data: &[u8]) {
    let Some((now, rest)) = data.split_first_chunk::<8>() else { return };
    let now = u64::from_le_bytes(*now) % (1 << 38);
    if let Ok(text) = std::str::from_utf8(rest) {
        let waits = read(text, now);
        assert!(waits.is_none_or(|waits| waits <= LONGEST));
        assert!(read(text, now + 1) <= waits, "it takes longer later");
    }
    // The range of a date with a four-digit year.
    let moment = now % 253_402_300_800;
    let before = moment.saturating_sub(90);
    assert_eq!(read(&date(moment), before), Some(Duration::from_secs(moment - before)));
}

/// Formats a date by counting days: slow and simple, and independent of the code under test.
fn date(moment: u64) -> String {
    const NAMES: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let (mut days, mut year) = (moment / 86_400, 1970);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (second, minute, hour) = (moment % 60, moment / 60 % 60, moment / 3_600 % 24);
    format!("Mon, {:02} {} {year} {hour:02}:{minute:02}:{second:02} GMT", days + 1, NAMES[month])
}

/// A recording survives a round trip through its text form.
pub fn cassette(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(cassette) = text.parse::<Cassette>() else { return };
    let written = cassette.to_string();
    assert_eq!(written.lines().count(), cassette.len(), "a line for each thing that happened");
    let again: Cassette = written.parse().expect("encoded text can be read");
    assert_eq!(again.to_string(), written);
    assert_eq!(again.len(), cassette.len());
}
