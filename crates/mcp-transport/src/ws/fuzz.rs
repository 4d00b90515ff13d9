//! Targets for the fuzzer: frames and addresses.
#![expect(clippy::missing_panics_doc, reason = "panicking is what they are for")]

use std::io::Cursor;

use bytes::BytesMut;
use mcp_jsonrpc::Line;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;

use super::{
    address::Address,
    frames::{Broken, FrameReader, Received},
    masks::{Kind, Masks},
};

/// Any bytes after an upgrade: pieces make no difference, no message is over the limit, and what we
/// write ourselves is read as it was meant.
pub fn frames(data: &[u8]) {
    let Some((&[limit, cut], wire)) = data.split_first_chunk() else { return };
    let limit = usize::from(limit);
    let (whole, broken) = received([wire], limit);
    for one in &whole {
        match one {
            Received::Message(Line::Whole(message)) => {
                assert!(message.len() <= limit && !message.trim_ascii().is_empty());
            }
            Received::Message(Line::TooLong { length, head, tail }) => {
                assert!(*length > limit && head.len() <= *length && tail.len() <= *length);
            }
            Received::Ping(payload) => assert!(payload.len() <= 125),
            Received::Close(goodbye) => assert!(!goodbye.text.contains(char::is_control)),
            Received::Pong => {}
        }
    }
    assert_eq!(received(wire.chunks(usize::from(cut).max(1)), limit), (whole, broken));
    written(wire);
}

fn received<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<Received>, Option<Broken>) {
    let mut reader = FrameReader::new(limit, BytesMut::new());
    let mut received = Vec::new();
    for piece in pieces {
        reader.buffer().extend_from_slice(piece);
        reader.has_read(piece.len());
        loop {
            match reader.next() {
                Ok(Some(one)) => received.push(one),
                Ok(None) => break,
                Err(broken) => return (received, Some(broken)),
            }
        }
    }
    (received, None)
}

fn written(payload: &[u8]) {
    let mut wire = Vec::new();
    Masks::new().write(&mut wire, Kind::Text, payload).expect("random numbers");
    let mut cursor = Cursor::new(&wire);
    let (header, length) = FrameHeader::parse(&mut cursor).expect("a frame").expect("a whole one");
    assert_eq!(length, payload.len() as u64);
    let start = usize::try_from(cursor.position()).expect("a short header");
    let mask = header.mask.expect("clients mask");
    let masked = wire[start..].iter().zip(mask.iter().cycle());
    assert!(masked.map(|(byte, mask)| byte ^ mask).eq(payload.iter().copied()));
}

/// Any URL: the `Host` header and the request line have no room for anything else, and the query is
/// not shown.
pub(crate) fn address(url: &str) {
    let Ok(address) = Address::parse(url) else { return };
    for part in [&address.authority, &address.target, &address.host] {
        assert!(part.bytes().all(|byte| byte.is_ascii_graphic() || byte >= 0x80), "{part:?}");
    }
    assert!(address.target.starts_with('/') || address.target.starts_with('?'));
    assert!(!address.to_string().contains('?') && !address.authority.contains('@'));
}
