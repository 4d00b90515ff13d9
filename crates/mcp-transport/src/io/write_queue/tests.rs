//! A caller that checks for capacity while another one writes.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::Wake,
};

use mcp_jsonrpc::Request;

use super::*;

struct Lines;

impl Encode for Lines {
    const TRAILER: u64 = 0;
    const FLUSHES: bool = false;

    fn encode(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), CloseReason> {
        message.write(out);
        Ok(())
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

type During = Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>;

/// Accepts all bytes. Runs a callback for other callers during a write.
struct Sink(During);

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.get().expect("another caller")();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The server is silent, so no message wakes a task.
fn blocked_sender_is_woken<E: Encode + 'static>(encoder: E) {
    let during = During::default();
    let queue = Arc::new(WriteQueue::new(Sink(during.clone()), encoder, 1));
    let flag = Arc::new(Flag::default());
    let (other, waker) = (queue.clone(), Waker::from(flag.clone()));
    let blocked = move || assert!(other.poll_ready(&mut Context::from_waker(&waker)).is_pending());
    assert!(during.set(Box::new(blocked)).is_ok());
    queue.send(Message::Request(Request::new(1, "ask", None))).expect("room");
    assert!(flag.0.load(Ordering::SeqCst), "asleep although the queue has drained");
}

#[test]
fn blocked_sender_is_woken_after_drain() {
    blocked_sender_is_woken(Lines);
}

#[cfg(feature = "ws")]
#[test]
fn blocked_sender_over_websocket_is_woken_after_drain() {
    blocked_sender_is_woken(crate::ws::FrameWriter::new());
}
