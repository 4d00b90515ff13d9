//! Loom models of senders and a receiver on one pipe.

use std::{future::poll_fn, sync::Arc};

use loom::{future::block_on, model::Builder, thread};
use mcp_jsonrpc::{Message, Request};

use super::pipe::Pipe;

fn every_order(preemptions: usize, play: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(play);
}

fn request(id: i64) -> Message {
    Message::Request(Request::new(id, "ask", None))
}

/// Sends once the pipe has capacity, which is one message. Returns whether the message was accepted.
fn sending(pipe: &Arc<Pipe>, id: i64) -> thread::JoinHandle<bool> {
    let pipe = pipe.clone();
    thread::spawn(move || {
        for _ in 0..3 {
            block_on(poll_fn(|cx| pipe.poll_ready(cx)));
            match pipe.send(request(id)) {
                Ok(_) => return true,
                Err(crate::SendError::Full { .. }) => {}
                Err(_) => return false,
            }
        }
        panic!("there was never any room");
    })
}

#[test]
fn sent_messages_arrive_and_blocked_senders_get_room() {
    every_order(2, || {
        let pipe = Arc::new(Pipe::new(usize::MAX, false));
        let senders = [sending(&pipe, 1), sending(&pipe, 2)];
        let mut batch = Vec::new();
        while batch.len() < 2 {
            block_on(poll_fn(|cx| pipe.poll_take(cx, &mut batch))).unwrap();
        }
        assert!(senders.map(|sender| sender.join().unwrap()).into_iter().all(|taken| taken));
        assert_eq!(pipe.flushed(), 2);
    });
}

#[test]
fn a_receiver_that_leaves_lets_everybody_go() {
    every_order(3, || {
        let pipe = Arc::new(Pipe::new(usize::MAX, false));
        let senders = [sending(&pipe, 1), sending(&pipe, 2)];
        pipe.abandon();
        for sender in senders {
            sender.join().unwrap();
        }
        assert_eq!(pipe.flushed(), 0);
    });
}

#[test]
fn end_of_the_sender_arrives_after_its_messages() {
    every_order(3, || {
        let pipe = Arc::new(Pipe::new(usize::MAX, false));
        let sender = {
            let pipe = pipe.clone();
            thread::spawn(move || {
                pipe.send(request(1)).unwrap();
                pipe.finish();
            })
        };
        let mut batch = Vec::new();
        block_on(poll_fn(|cx| pipe.poll_take(cx, &mut batch))).unwrap();
        assert_eq!(batch.len(), 1);
        assert!(block_on(poll_fn(|cx| pipe.poll_take(cx, &mut batch))).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn withdrawn_message_is_not_received() {
    every_order(3, || {
        let pipe = Arc::new(Pipe::new(usize::MAX, false));
        let sender = sending(&pipe, 1);
        let mut batch = Vec::new();
        let receiver = {
            let pipe = pipe.clone();
            thread::spawn(move || {
                let _ = block_on(poll_fn(|cx| pipe.poll_take(cx, &mut batch)));
                batch.len() as u64
            })
        };
        let flushed = pipe.withdraw();
        sender.join().unwrap();
        let received = receiver.join().unwrap();
        assert!(received <= 1 && flushed <= 1);
        // `withdraw` returns the exact number of messages received, and none is received after it.
        assert_eq!(received, flushed);
    });
}
