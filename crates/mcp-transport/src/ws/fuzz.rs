//! Fuzz targets for frames and URLs.
#![expect(clippy::missing_panics_doc, reason = "fuzz targets report by panicking")]

use std::io::Cursor;

use bytes::BytesMut;
use mcp_jsonrpc::wire::Line;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;

use super::{
    address::Address,
    frame_reader::{Broken, FrameReader, Received},
    frame_writer::{FrameWriter, Kind},
};

/// Bytes after an upgrade: chunk boundaries do not change the result, no message is over the limit, and our frames
/// survive a round trip.
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
            Received::Close(goodbye) => assert!(!goodbye.text.contains(mcp_safe::text::is_hidden)),
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
    FrameWriter::new().write(&mut wire, Kind::Text, payload).expect("random numbers");
    let mut cursor = Cursor::new(&wire);
    let (header, length) = FrameHeader::parse(&mut cursor).expect("a frame").expect("a whole one");
    assert_eq!(length, payload.len() as u64);
    let start = usize::try_from(cursor.position()).expect("a short header");
    let mask = header.mask.expect("clients mask");
    let masked = wire[start..].iter().zip(mask.iter().cycle());
    assert!(masked.map(|(byte, mask)| byte ^ mask).eq(payload.iter().copied()));
}

/// A URL: the `Host` header and the request line cannot be injected into, and the query is not displayed.
pub(crate) fn address(url: &str) {
    let Ok(address) = Address::parse(url) else { return };
    let uri = &address.uri;
    let target = uri.path_and_query().expect("a target").as_str();
    let authority = uri.authority().expect("an authority").as_str();
    for part in [authority, target] {
        assert!(part.bytes().all(|byte| byte.is_ascii_graphic() || byte >= 0x80), "{part:?}");
    }
    assert!(target.starts_with('/') && target.parse::<http::Uri>().is_ok());
    assert!(!address.to_string().contains('?') && !authority.contains('@'));
}
