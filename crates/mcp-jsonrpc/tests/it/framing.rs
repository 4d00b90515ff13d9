//! From chunks of bytes to lines.

use mcp_jsonrpc::wire::{Line, LineDecoder};
use proptest::{prelude::*, sample::Index};

/// Feeds `chunks` to a decoder and returns every line, that of the end included.
fn lines<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
    let mut decoder = LineDecoder::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.buffer().extend_from_slice(chunk);
        lines.extend(std::iter::from_fn(|| decoder.next_line()));
    }
    lines.extend(decoder.finish());
    assert_eq!(decoder.finish(), None, "nothing comes after the end");
    lines
}

/// The same as text: whole lines as they are, long ones as their length and ends.
fn shown(limit: usize, wire: &[u8]) -> Vec<String> {
    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    lines(limit, [wire])
        .iter()
        .map(|line| match line {
            Line::Whole(line) => show(line),
            Line::TooLong { length, head, tail } => {
                format!("{length} bytes: {} … {}", show(head), show(tail))
            }
        })
        .collect()
}

#[test]
fn lines_end_with_lf_crlf_or_end_of_input() {
    for (wire, expected) in [
        ("", &[][..]),
        ("{}\n[]\n", &["{}", "[]"]),
        ("{}\r\n[]\r\n", &["{}", "[]"]),
        ("\n\r\n \t \n{}\n\n", &["{}"]),
        ("{}  \r\r\n", &["{}"]),
        ("  {}\n", &["  {}"]),
        ("{}\n[] and no newline", &["{}", "[] and no newline"]),
        ("{}\n \r", &["{}"]),
        ("not json\n{}\n", &["not json", "{}"]),
    ] {
        assert_eq!(shown(64, wire.as_bytes()), expected, "{wire:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_come_out_as_they_are() {
    assert_eq!(
        lines(64, [&b"\xff\xfe\n{}\n"[..]]),
        [Line::Whole(b"\xff\xfe"[..].into()), Line::Whole("{}".into())]
    );
}

#[test]
fn a_line_at_the_limit_is_whole_and_one_above_is_reported() {
    assert_eq!(shown(4, b"1234\n12345\n12\n"), ["1234", "5 bytes: 12345 … 12345", "12"]);
}

#[test]
fn a_long_line_leaves_its_ends_and_the_next_line_is_whole() {
    let long = format!("head{}tail", "x".repeat(100_000));
    let wire = format!("{long}\n{{}}\n{long}");
    let [first, Line::Whole(next), last] = &lines(1000, wire.as_bytes().chunks(700))[..] else {
        panic!("three lines");
    };
    assert_eq!(next, "{}");
    let Line::TooLong { length, head, tail } = first else { panic!("too long") };
    assert_eq!(*length, long.len());
    assert!(head.starts_with(b"headxxx") && tail.ends_with(b"xxxtail"));
    assert!(head.len() <= 1024 && tail.len() <= 1024, "thrown away but for both ends");
    // An unterminated line has no tail to inspect.
    let Line::TooLong { length, head, tail } = last else { panic!("too long") };
    assert_eq!((*length, &head[..4], &tail[..]), (long.len(), &b"head"[..], &b""[..]));
}

#[test]
fn a_long_line_is_not_kept_while_it_goes_by() {
    let mut decoder = LineDecoder::new(1000);
    for _ in 0..1000 {
        decoder.buffer().extend_from_slice(&[b'x'; 10_000]);
        assert_eq!(decoder.next_line(), None);
        assert!(decoder.buffer().capacity() < 1 << 20);
    }
}

#[test]
fn large_line_takes_its_buffer() {
    let mut decoder = LineDecoder::new(64 << 20);
    for chunk in vec![b'x'; 8 << 20].chunks(64 << 10) {
        decoder.buffer().extend_from_slice(chunk);
        assert_eq!(decoder.next_line(), None);
    }
    decoder.buffer().extend_from_slice(b"\n{}\n[");
    assert!(matches!(decoder.next_line(), Some(Line::Whole(line)) if line.len() == 8 << 20));
    assert_eq!(decoder.next_line(), Some(Line::Whole("{}".into())));
    assert_eq!(decoder.next_line(), None);
    assert!(decoder.buffer().capacity() < 1 << 20, "an idle connection costs little");
}

#[test]
fn buffer_always_has_spare_capacity() {
    let mut decoder = LineDecoder::new(1 << 20);
    for round in 0..200 {
        let buffer = decoder.buffer();
        let room = buffer.capacity() - buffer.len();
        assert!(room >= 1024, "round {round}");
        let end = buffer.len() + room;
        buffer.resize(end, b'x');
        assert_eq!(decoder.next_line(), None);
    }
}

#[test]
fn untaken_lines_are_returned_at_the_end() {
    let mut decoder = LineDecoder::new(64);
    decoder.buffer().extend_from_slice(b"1\n\n2\n3");
    let lines: Vec<_> = std::iter::from_fn(|| decoder.finish()).collect();
    assert_eq!(lines, ["1", "2", "3"].map(|line| Line::Whole(line.into())));
}

#[test]
fn buffer_emptied_by_its_reader_is_reused() {
    let mut decoder = LineDecoder::new(64);
    decoder.buffer().extend_from_slice(b"half a line");
    assert_eq!(decoder.next_line(), None);
    decoder.buffer().clear();
    assert_eq!(decoder.next_line(), None);
    decoder.buffer().extend_from_slice(b"{}\n");
    assert_eq!(decoder.next_line(), Some(Line::Whole("{}".into())));
}

/// Bytes in which newlines and runs above a small limit are common.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b" ".to_vec()),
        Just(br#"{"jsonrpc":"2.0"}"#.to_vec()),
        prop::collection::vec(any::<u8>(), 0..24),
        (any::<u8>(), 0..3000_usize).prop_map(|(byte, length)| vec![byte; length]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// `wire` in chunks that end at `cuts`.
fn chunks<'a>(wire: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(wire.len() + 1)).collect();
    ends.extend([0, wire.len()]);
    ends.sort_unstable();
    ends.windows(2).map(|pair| &wire[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_matter(
        wire in wire(),
        cuts in prop::collection::vec(any::<Index>(), 0..12),
        limit in prop_oneof![0..40_usize, Just(600), Just(2000), Just(1 << 20)],
    ) {
        let at_once = lines(limit, [&wire[..]]);
        prop_assert_eq!(lines(limit, chunks(&wire, &cuts)), at_once.clone());
        prop_assert_eq!(lines(limit, wire.chunks(1)), at_once);
    }

    #[test]
    fn lines_equal_splitting_at_newlines(wire in wire(), limit in 0..2000_usize) {
        let expected: Vec<_> = wire
            .split(|&byte| byte == b'\n')
            .filter(|line| line.len() > limit || !line.trim_ascii_end().is_empty())
            .map(|line| (line.len() > limit, line.trim_ascii_end()))
            .collect();
        let found = lines(limit, [&wire[..]]);
        prop_assert_eq!(found.len(), expected.len());
        for (found, (too_long, content)) in found.iter().zip(expected) {
            match found {
                Line::Whole(line) => prop_assert_eq!((false, &line[..]), (too_long, content)),
                Line::TooLong { head, .. } => {
                    prop_assert!(too_long && content.starts_with(head.trim_ascii_end()));
                }
            }
        }
    }

    #[test]
    fn line_is_found_after_any_prefix(noise in wire(), limit in 64..2000_usize) {
        let wire = [&noise[..], b"\n{\"a\":1}\n"].concat();
        let last = lines(limit, [&wire[..]]).pop();
        prop_assert_eq!(last, Some(Line::Whole(r#"{"a":1}"#.into())));
    }
}
