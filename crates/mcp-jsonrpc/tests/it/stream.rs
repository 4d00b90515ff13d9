//! The whole path from bytes to responses, with unrelated bytes in the stream.

use std::{
    task::{Context, Poll, Waker},
    time::Instant,
};

use mcp_jsonrpc::{
    CallLimits, Failure, Message, Peer, RawJson, Response,
    wire::{Decoded, Line, LineDecoder, decode, response_id_of_truncated},
};
use proptest::{prelude::*, sample::Index};

/// Reads `wire` in chunks that end at `cuts`, as a host does.
fn receive(peer: &mut Peer, wire: &[u8], cuts: &[Index], limit: usize) {
    let mut decoder = LineDecoder::new(limit);
    let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(wire.len() + 1)).collect();
    ends.extend([0, wire.len()]);
    ends.sort_unstable();
    for pair in ends.windows(2) {
        decoder.buffer().extend_from_slice(&wire[pair[0]..pair[1]]);
        while let Some(line) = decoder.next_line() {
            take(peer, line, limit);
        }
    }
    while let Some(line) = decoder.finish() {
        take(peer, line, limit);
    }
}

fn take(peer: &mut Peer, line: Line, limit: usize) {
    match line {
        Line::Whole(line) => match decode(&line) {
            Ok(Decoded::One(message)) => peer.receive(message, Instant::now()),
            Ok(Decoded::Batch(messages)) => {
                messages.into_iter().flatten().for_each(|m| peer.receive(m, Instant::now()));
            }
            Err(_) => {}
        },
        Line::TooLong { length, head, tail } => {
            if let Some(id) = response_id_of_truncated(&head, &tail) {
                peer.fail(&id, Failure::TooLarge { size: length, limit });
            }
        }
    }
}

/// What servers put between their messages: bytes, text, logs, halves of JSON, and other messages.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        "[ -~]{0,40}".prop_map(String::into_bytes),
        r#"(INFO |\[|\{"jsonrpc":"2.0",)?[\[\]{}",:a-z0-9\\]{0,30}"#.prop_map(String::into_bytes),
        Just(vec![b'x'; 3000]),
        Just(br#"{"jsonrpc":"2.0","id":77,"result":{}}"#.to_vec()),
        Just(br#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#.to_vec()),
        Just(b"[1,2]\n\n\r\n[]".to_vec()),
    ]
}

proptest! {
    #[test]
    fn noise_of_any_kind_never_stops_the_stream(
        noise in prop::collection::vec(noise(), 8),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
        newline in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        let (mut peer, now) = (Peer::default(), Instant::now());
        let mut wire = Vec::new();
        let calls: Vec<_> = noise
            .iter()
            .map(|noise| {
                let call = peer.open(CallLimits::default(), now).unwrap();
                wire.extend_from_slice(noise);
                wire.extend_from_slice(newline.as_bytes());
                let result = RawJson::encode(&[call.get()]).unwrap();
                let answer = Response { id: Some(call.into()), outcome: Ok(result) };
                Message::Response(answer).write(&mut wire);
                wire.extend_from_slice(newline.as_bytes());
                call
            })
            .collect();
        receive(&mut peer, &wire, &cuts, 2000);
        for call in calls {
            let outcome = peer.poll(call, &mut Context::from_waker(Waker::noop()));
            let Poll::Ready(Ok(result)) = outcome else { panic!("{outcome:?}") };
            prop_assert_eq!(result.decode::<[i64; 1]>().unwrap(), [call.get()]);
        }
    }

    #[test]
    fn an_answer_above_the_limit_fails_its_own_call_at_once(
        id_first in any::<bool>(),
        length in 1000..9000_usize,
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        let (mut peer, now) = (Peer::default(), Instant::now());
        let [small, large] = [(); 2].map(|()| peer.open(CallLimits::default(), now).unwrap());
        let text = format!(r#"{{"id":1,"text":"{}","id":1}}"#, "x".repeat(length));
        let line = if id_first {
            format!(r#"{{"jsonrpc":"2.0","id":2,"result":{text}}}"#)
        } else {
            format!(r#"{{"jsonrpc":"2.0","result":{text},"id":2}}"#)
        };
        let wire = format!("{line}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}\n");
        receive(&mut peer, wire.as_bytes(), &cuts, 1000);
        let mut cx = Context::from_waker(Waker::noop());
        prop_assert_eq!(peer.poll(small, &mut cx), Poll::Ready(Ok(RawJson::empty_object())));
        let size = line.len();
        let too_large = Failure::TooLarge { size, limit: 1000 };
        prop_assert_eq!(peer.poll(large, &mut cx), Poll::Ready(Err(too_large)));
    }
}
