//! The part of WebSocket that the clients use: one message per frame.

use bench_server::Request;

use crate::{
    answers::Answers,
    connection::{Out, Step},
};

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// Takes the first frame in `input`.
pub(crate) fn step(input: &mut [u8], answers: &mut Answers, out: &mut Out) -> Step {
    let Some((length, at)) = length(input) else { return Step::Wait };
    // Clients mask their frames.
    let (mask, taken) = (at, at + 4 + length);
    if input.len() < taken {
        return Step::Wait;
    }
    let mask: [u8; 4] = input[mask..at + 4].try_into().expect("four bytes");
    let kind = input[0];
    let payload = &mut input[at + 4..taken];
    for (at, byte) in payload.iter_mut().enumerate() {
        *byte ^= mask[at % 4];
    }
    match kind {
        TEXT => {
            if let Some(message) = answers.to(&Request::read(payload)) {
                head(TEXT, message.len(), out);
                out.message(&message);
            }
        }
        PING => {
            head(PONG, payload.len(), out);
            out.add(payload);
        }
        CLOSE => {
            head(CLOSE, payload.len(), out);
            out.add(payload);
            return Step::Over;
        }
        _ => {}
    }
    Step::Taken(taken)
}

/// The length of the payload, and where the mask begins.
fn length(input: &[u8]) -> Option<(usize, usize)> {
    let wide = |size: usize| {
        let bytes = input.get(2..2 + size)?;
        Some((bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), 2 + size))
    };
    match input.get(1)? & 0x7f {
        126 => wide(2),
        127 => wide(8),
        short => Some((usize::from(short), 2)),
    }
}

fn head(kind: u8, length: usize, out: &mut Out) {
    out.add(&[kind]);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ ..126), _) => out.add(&[short]),
        (_, Ok(length)) => {
            out.add(&[126]);
            out.add(&length.to_be_bytes());
        }
        _ => {
            out.add(&[127]);
            out.add(&(length as u64).to_be_bytes());
        }
    }
}
