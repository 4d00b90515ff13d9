//! The models of the write queue, over a WebSocket.

use std::io::Cursor;

use tokio_tungstenite::tungstenite::protocol::frame::{
    FrameHeader,
    coding::{Data, OpCode},
};

use super::*;
use crate::io::write_queue::model::{self, Ends, Totals, Wire};

const WIRE: Wire = Wire { open, messages, frame };

fn open(ends: Ends, max_queued: usize) -> (Link, Totals) {
    let mut options = WsOptions::new("ws://none");
    options.max_queued = max_queued;
    // Loom does not model the clock.
    options.ping_interval = None;
    let inlet = WsInlet::new(ends, BytesMut::new(), &options);
    let queue = inlet.queue.clone();
    let outlet = queue.clone();
    (Link { outlet, inlet: Box::new(inlet) }, Box::new(move || queue.lock().totals()))
}

fn messages(mut received: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    loop {
        let mut cursor = Cursor::new(received);
        let Some((header, length)) = FrameHeader::parse(&mut cursor).unwrap() else {
            return messages;
        };
        let start = usize::try_from(cursor.position()).unwrap();
        let end = start + usize::try_from(length).unwrap();
        let Some(payload) = received.get(start..end) else { return messages };
        let mask = header.mask.unwrap();
        messages.push(payload.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b).collect());
        received = &received[end..];
    }
}

fn frame(text: &str) -> Vec<u8> {
    let opcode = OpCode::Data(Data::Text);
    let mut frame = Vec::new();
    let header = FrameHeader { opcode, ..FrameHeader::default() };
    header.format(text.len() as u64, &mut frame).unwrap();
    frame.extend_from_slice(text.as_bytes());
    frame
}

#[test]
fn concurrent_messages_arrive_whole() {
    model::concurrent_messages_arrive_whole(WIRE);
}

#[test]
fn rest_is_written_after_a_full_sink() {
    model::rest_is_written_after_a_full_sink(WIRE);
}

#[test]
fn blocked_sender_is_woken_after_drain() {
    model::blocked_sender_is_woken_after_drain(WIRE);
}
