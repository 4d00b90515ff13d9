//! Frames and reads of every size.

use mcp_jsonrpc::wire::response_id_of_truncated;
use proptest::prelude::*;

use super::*;

fn frame(kind: OpCode, is_final: bool, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader { is_final, opcode: kind, ..FrameHeader::default() };
    let mut bytes = Vec::new();
    header.format(payload.len() as u64, &mut bytes).expect("a header");
    [bytes, payload.to_vec()].concat()
}

fn text(is_final: bool, payload: &[u8]) -> Vec<u8> {
    frame(OpCode::Data(Data::Text), is_final, payload)
}

fn more(is_final: bool, payload: &[u8]) -> Vec<u8> {
    frame(OpCode::Data(Data::Continue), is_final, payload)
}

fn ping(payload: &[u8]) -> Vec<u8> {
    frame(OpCode::Control(Control::Ping), true, payload)
}

/// Reads all items in `wire`, `size` bytes at a time.
fn read(limit: usize, wire: &[u8], size: usize) -> Result<Vec<Received>, Broken> {
    let mut reader = FrameReader::new(limit, BytesMut::new());
    let mut all = Vec::new();
    for piece in wire.chunks(size) {
        reader.buffer().extend_from_slice(piece);
        reader.has_read(piece.len());
        while let Some(received) = reader.next()? {
            all.push(received);
        }
    }
    Ok(all)
}

fn message(text: &str) -> Received {
    Received::Message(Line::Whole(Bytes::copy_from_slice(text.as_bytes())))
}

#[test]
fn fragments_are_joined_around_a_ping_and_blank_ones_are_nothing() {
    let wire = [
        text(false, b"{\"a\""),
        ping(b"?"),
        more(false, b""),
        more(true, b":1}"),
        text(true, b" \n"),
        frame(OpCode::Data(Data::Binary), true, b"[]"),
    ]
    .concat();
    let expected = [Received::Ping("?".into()), message(r#"{"a":1}"#), message("[]")];
    assert_eq!(read(100, &wire, 1).expect("frames"), expected);
    assert_eq!(read(100, &wire, usize::MAX).expect("frames"), expected);
}

#[test]
fn a_message_over_the_limit_is_drained_and_its_id_found() {
    let filler = "x".repeat(5000);
    let head = r#"{"jsonrpc":"2.0","result":""#;
    let tail = r#"","id":7}"#;
    let one = text(true, format!("{head}{filler}{tail}").as_bytes());
    let cut = [
        text(false, head.as_bytes()),
        more(false, filler.as_bytes()),
        ping(b""),
        more(true, tail.as_bytes()),
    ];
    for (wire, pings) in [(one, 0), (cut.concat(), 1)] {
        let wire = [wire, text(true, b"{}")].concat();
        let mut received = read(100, &wire, 33).expect("frames");
        assert_eq!(received.pop(), Some(message("{}")));
        let Some(Received::Message(Line::TooLong { length, head, tail })) = received.pop() else {
            panic!("it is kept");
        };
        assert_eq!(length, 5000 + 27 + 9);
        assert_eq!(response_id_of_truncated(&head, &tail), Some(7.into()));
        assert!(head.len() <= ENDS && tail.len() <= ENDS);
        assert_eq!(received.len(), pings);
    }
}

#[test]
fn memory_grows_with_received_bytes_not_with_the_claimed_frame_length() {
    let mut claim = vec![0x81, 127];
    claim.extend_from_slice(&(60_u64 << 20).to_be_bytes());
    for limit in [64 << 20, 1 << 20] {
        let mut reader = FrameReader::new(limit, BytesMut::from(claim.as_slice()));
        assert_eq!(reader.next(), Ok(None));
        for _ in 0..100 {
            reader.buffer().extend_from_slice(b"x");
            assert_eq!(reader.next(), Ok(None));
        }
        assert!(reader.buffer().capacity() <= 4 * SMALL_READ);
    }
    let endless = [&[0x81, 127][..], &[0xff; 8], b"and so on"].concat();
    assert_eq!(read(100, &endless, 3), Ok(Vec::new()));
}

#[test]
fn protocol_violations_are_named() {
    let long = ping(&[0; 126]);
    let close = frame(OpCode::Control(Control::Close), true, &[3]);
    let cut = frame(OpCode::Control(Control::Pong), false, b"");
    for (wire, problem) in [
        (&[0xc1, 0][..], "a frame uses an extension that was not negotiated"),
        (&[0x81, 0x80, 0, 0, 0, 0], "a frame is masked, which only clients may do"),
        (&[0x83, 0], "a frame has an unknown opcode"),
        (&[0x8b, 0], "a frame has an unknown opcode"),
        (&more(true, b"x"), "a continuation frame without a message"),
        (
            &[text(false, b"x"), text(true, b"y")].concat(),
            "a message began before the previous one ended",
        ),
        (&long, "a control frame is longer than 125 bytes"),
        (&cut, "a control frame is fragmented"),
        (&close, "a close frame has an incomplete status code"),
    ] {
        assert_eq!(read(100, wire, usize::MAX), Err(Broken(problem)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The split of messages into frames and of frames into reads does not change the messages.
    #[test]
    fn no_boundary_matters(
        messages in prop::collection::vec("[a-z]{1,300}", 1..6),
        cut in 1..200usize,
        size in 1..400usize,
        limit in 1..300usize,
    ) {
        let (mut whole, mut pieces) = (Vec::new(), Vec::new());
        for message in &messages {
            whole.extend(text(true, message.as_bytes()));
            let last = message.len().div_ceil(cut) - 1;
            for (at, piece) in message.as_bytes().chunks(cut).enumerate() {
                let frame = if at == 0 { text } else { more };
                pieces.extend(frame(at == last, piece));
                pieces.extend(ping(b"p"));
            }
        }
        let mut received = read(limit, &pieces, size).expect("frames");
        received.retain(|received| *received != Received::Ping("p".into()));
        prop_assert_eq!(&received, &read(limit, &whole, usize::MAX).expect("frames"));
        for (received, sent) in received.iter().zip(&messages) {
            let fits = matches!(received, Received::Message(Line::Whole(text)) if text == sent);
            prop_assert_eq!(fits, sent.len() <= limit);
        }
    }

    /// Any input results in messages or an error, never in a panic.
    #[test]
    fn no_bytes_are_too_strange(wire in prop::collection::vec(any::<u8>(), 0..200), size in 1..50usize) {
        let _ = read(64, &wire, size);
    }
}
