//! The rules, a corpus of streams split at every position, and the limits.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

const LIMIT: usize = 64;

/// Decodes the chunks and formats the result: `kind=data`, the id and the delay.
fn read(pieces: &[&[u8]]) -> String {
    let mut decoder = EventDecoder::new(LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(Bytes::copy_from_slice(piece), &mut events);
    }
    let mut seen = String::new();
    for event in &events {
        let _ = match event {
            Event::Block { kind, data: Some(data) } => {
                write!(seen, "{kind}={} ", String::from_utf8_lossy(data))
            }
            Event::Block { kind, data: None } => write!(seen, "{kind}- "),
            Event::TooLarge { size, .. } => write!(seen, "too-large:{size} "),
        };
    }
    let _ = write!(seen, "#{}", decoder.last_id());
    if let Some(retry) = decoder.retry() {
        let _ = write!(seen, " ~{}", retry.as_millis());
    }
    seen
}

const CORPUS: &[(&str, &str)] = &[
    ("", "#"),
    ("data: a\n\n", "=a #"),
    ("data:a\n\n", "=a #"),
    ("data:  a\n\n", "= a #"),
    ("data\n\n", "= #"),
    ("data:\n\n", "= #"),
    ("data: a\ndata: b\n\n", "=a\nb #"),
    ("data\ndata\n\n", "=\n #"),
    ("data: a\r\n\r\n", "=a #"),
    ("data: a\r\rdata: b\r\r", "=a =b #"),
    ("data: a\n\r\n", "=a #"),
    ("\u{feff}data: a\n\n", "=a #"),
    ("\u{feff}\u{feff}data: a\n\n", "#"),
    (": comment\ndata: a\n:\n\n", "=a #"),
    (":\n\n:\n\n", "#"),
    ("event: x\ndata: a\n\n", "x=a #"),
    ("event: x\n\ndata: a\n\n", "x- =a #"),
    ("data: a", "#"),
    ("data: a\n", "#"),
    ("id: 1\ndata: a\n\n", "=a #1"),
    ("id: 1\n\n", "- #1"),
    ("id: 1\ndata: a\n\nid\ndata: b\n\n", "=a =b #"),
    ("id: a\0b\ndata: a\n\n", "=a #"),
    ("id: 1\ndata:\n\n", "= #1"),
    // An incomplete event does not change the last id.
    ("id: 1\ndata: a\n\nid: 2\ndata: b", "=a #1"),
    ("retry: 500\n\n", "# ~500"),
    ("retry: 5x\n\n", "#"),
    ("retry: -5\n\n", "#"),
    ("retry:\n\n", "#"),
    ("retry: 99999999999999999999999\n\n", "#"),
    ("unknown: x\ndata: a\nfoo\n\n", "=a #"),
    ("data: a:b\n\n", "=a:b #"),
    ("Data: a\n\n", "#"),
    (" data: a\n\n", "#"),
    ("data: ü世\n\n", "=ü世 #"),
    ("\n\n\ndata: a\n\n\n\n", "=a #"),
];

#[test]
fn the_rules_hold_however_the_stream_is_cut() {
    for (stream, expected) in CORPUS {
        let stream = stream.as_bytes();
        assert_eq!(read(&[stream]), *expected, "{stream:?} in one piece");
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(read(&bytes), *expected, "{stream:?} byte by byte");
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(read(&[first, second]), *expected, "{stream:?} cut at {cut}");
        }
    }
}

#[test]
fn oversized_message_is_reported_and_fails_only_itself() {
    let long = "x".repeat(100);
    for cut in [1, 7, 50, 4096] {
        let stream = format!("data: {long}\n\ndata: a\n\n");
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(cut).collect();
        assert_eq!(read(&pieces), "too-large:100 =a #");
        let stream = format!("data: {}\ndata: {}\n\ndata: a\n\n", &long[..40], &long[..40]);
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(cut).collect();
        assert!(read(&pieces).starts_with("too-large:"));
        let stream = format!(": {long}{long}\nevent: {long}{long}\ndata: a\n\n");
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(cut).collect();
        assert!(read(&pieces).ends_with("=a #"));
    }
}

/// Found by the fuzzer: fields longer than the limit for data, and a byte order mark before data that is too long.
#[test]
fn long_lines_make_no_difference_either() {
    let id = "i".repeat(LIMIT + 100);
    let long = "x".repeat(2 * LONGEST_FIELD);
    for stream in [
        format!("id: {id}\nevent: {id}\ndata: a\n\n"),
        format!("id: {long}\nevent: {long}\ndata: a\n\n"),
        format!("\u{feff}data: {long}\n\ndata: a\n\n"),
        format!("data: a\ndata: {long}\ndata: {long}\n\n"),
    ] {
        let whole = read(&[stream.as_bytes()]);
        for cut in [1, 7, 4096] {
            let pieces: Vec<&[u8]> = stream.as_bytes().chunks(cut).collect();
            assert_eq!(read(&pieces), whole, "{cut}");
        }
    }
}

#[test]
fn discarded_line_keeps_its_head_and_tail() {
    let mut decoder = EventDecoder::new(LIMIT);
    let mut events = Vec::new();
    let stream = format!("data: {{\"result\":\"{}\",\"id\":7}}\n\n", "x".repeat(10_000));
    for piece in stream.as_bytes().chunks(1000) {
        decoder.push(Bytes::copy_from_slice(piece), &mut events);
    }
    let [Event::TooLarge { head, tail, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(mcp_jsonrpc::wire::response_id_of_truncated(head, tail), Some(7.into()));
    assert!(decoder.line.capacity() <= 2 * decoder.longest_line());
}

proptest! {
    #[test]
    fn cuts_make_no_difference(
        stream in proptest::collection::vec(
            prop_oneof![
                Just("data: "), Just("data:"), Just("id: 1"), Just("event: e"), Just("retry: 7"), Just(":"), Just("\n"),
                Just("\r"), Just("\r\n"), Just("\n\n"), Just("x"), Just("ü"), Just("\u{feff}"), Just("\0"),
            ],
            0..40,
        ),
        cuts in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        let stream = stream.concat();
        let whole = read(&[stream.as_bytes()]);
        let mut rest = stream.as_bytes();
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break; }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(read(&pieces), whole);
    }

    #[test]
    fn no_bytes_make_it_panic_or_grow(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let mut decoder = EventDecoder::new(LIMIT);
        let mut events = Vec::new();
        for piece in &pieces {
            decoder.push(Bytes::copy_from_slice(piece), &mut events);
            prop_assert!(decoder.line.len() <= decoder.longest_line());
        }
    }
}
