//! Loom models of callers and the inlet's task that share a sink.
//!
//! The transports run these models over their links. Loom reports a lost wake-up as a deadlock, since a thread then
//! sleeps forever.

use std::{future::poll_fn, sync::Arc, task::ready};

use loom::{future::block_on, model::Builder, sync::Mutex as LoomMutex, thread};
use mcp_jsonrpc::Request;
use tokio::io::{AsyncRead, ReadBuf};

use super::*;
use crate::link::{Inlet, Link};

/// A transport under test.
#[derive(Clone, Copy)]
pub(crate) struct Wire {
    /// Opens a link with this capacity in bytes. Also returns the total numbers of bytes queued and written.
    pub(crate) open: fn(Ends, usize) -> (Link, Totals),
    /// Returns the messages that have arrived completely.
    pub(crate) messages: fn(&[u8]) -> Vec<Vec<u8>>,
    /// Encodes a message of the server.
    pub(crate) frame: fn(&str) -> Vec<u8>,
}

pub(crate) type Totals = Box<dyn Fn() -> (u64, u64)>;

/// The server of the model.
struct Server {
    wire: Wire,
    received: Vec<u8>,
    /// The number of messages it has answered.
    answered: usize,
    /// It does not respond.
    is_mute: bool,
    /// Accepts one byte and then, once, none, as a full pipe does.
    choke: u8,
    reader: Option<Waker>,
}

#[derive(Clone)]
pub(crate) struct Ends(Arc<LoomMutex<Server>>);

impl Ends {
    fn new(wire: Wire, is_mute: bool, choke: u8) -> Self {
        let server =
            Server { wire, received: Vec::new(), answered: 0, is_mute, choke, reader: None };
        Self(Arc::new(LoomMutex::new(server)))
    }

    fn with<T>(&self, change: impl FnOnce(&mut Server) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    fn messages(&self) -> Vec<Vec<u8>> {
        self.with(|server| (server.wire.messages)(&server.received))
    }
}

impl AsyncWrite for Ends {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let (taken, reader) = self.with(|server| {
            let count = match server.choke {
                2 => 1,
                1 => 0,
                _ => bytes.len(),
            };
            server.choke = server.choke.saturating_sub(1);
            server.received.extend_from_slice(&bytes[..count]);
            (count, server.reader.take().filter(|_| count > 0))
        });
        reader.into_iter().for_each(Waker::wake);
        if taken == 0 {
            // It accepts bytes again immediately. A task that is not registered is not woken.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Ends {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|server| {
            let received = (server.wire.messages)(&server.received).len();
            if server.is_mute || server.answered == received {
                server.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            server.answered += 1;
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, server.answered);
            buffer.put_slice(&(server.wire.frame)(&answer));
            Poll::Ready(Ok(()))
        })
    }
}

/// Reads until this many responses have arrived.
fn reading(mut inlet: Box<dyn Inlet>, answers: usize) -> thread::JoinHandle<Box<dyn Inlet>> {
    thread::spawn(move || {
        let mut batch = Vec::new();
        block_on(poll_fn(|cx| {
            while batch.len() < answers {
                ready!(inlet.poll_recv(cx, &mut batch)).unwrap();
            }
            Poll::Ready(())
        }));
        inlet
    })
}

fn request(id: i64) -> Message {
    Message::Request(Request::new(id, "ask", None))
}

fn every_order(preemptions: usize, play: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(play);
}

/// Concurrent messages arrive complete, and all bytes are accounted for.
pub(crate) fn concurrent_messages_arrive_whole(wire: Wire) {
    every_order(2, move || {
        let ends = Ends::new(wire, false, 0);
        let (Link { outlet, inlet }, totals) = (wire.open)(ends.clone(), 1 << 20);
        let reading = reading(inlet, 2);
        let other = {
            let outlet = outlet.clone();
            thread::spawn(move || outlet.send(request(1)).map(drop))
        };
        outlet.send(request(2)).unwrap();
        other.join().unwrap().unwrap();
        let inlet = reading.join().unwrap();
        let messages = ends.messages();
        assert_eq!(messages.len(), 2);
        assert!(messages.iter().all(|message| message.ends_with(b"}")), "{messages:?}");
        let (queued, written) = totals();
        assert_eq!(queued, written);
        drop(inlet);
    });
}

/// The inlet's task writes the bytes that a full sink did not accept, once it accepts them.
pub(crate) fn rest_is_written_after_a_full_sink(wire: Wire) {
    every_order(2, move || {
        let ends = Ends::new(wire, false, 2);
        let (Link { outlet, inlet }, _) = (wire.open)(ends.clone(), 1 << 20);
        let reading = reading(inlet, 1);
        outlet.send(request(1)).unwrap();
        drop(reading.join().unwrap());
        assert_eq!(ends.messages().len(), 1);
    });
}

/// A caller that waits for capacity is woken by the one that wrote. The server is silent, so no message wakes a task.
pub(crate) fn blocked_sender_is_woken_after_drain(wire: Wire) {
    every_order(2, move || {
        let ends = Ends::new(wire, true, 0);
        let (Link { outlet, mut inlet }, _) = (wire.open)(ends.clone(), 1);
        let send = |id| {
            let outlet = outlet.clone();
            thread::spawn(move || {
                // The other caller may take the capacity between the check and the send.
                for _ in 0..3 {
                    block_on(poll_fn(|cx| outlet.poll_ready(cx)));
                    if outlet.send(request(id)).is_ok() {
                        return;
                    }
                }
                panic!("there was never any room");
            })
        };
        let callers = [send(1), send(2)];
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        // Neither caller needed the inlet's task until now. It writes the rest.
        block_on(poll_fn(|cx| {
            assert!(inlet.poll_recv(cx, &mut Vec::new()).is_pending());
            Poll::Ready(())
        }));
        assert_eq!(ends.messages().len(), 2);
        drop(inlet);
    });
}
