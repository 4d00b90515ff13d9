//! The write queue of a link over a byte stream, shared by stdio and WebSocket.
//!
//! A caller writes from its task while the sink accepts bytes. Bytes that the sink did not accept, and messages that
//! other callers add in the meantime, wait in one buffer, which the inlet's task writes at once. A single call costs
//! one write and no task switch, and concurrent calls share their writes. Reading never waits for writing: otherwise
//! a server that sends without reading would block both sides forever.

#[cfg(all(test, mcp_loom))]
pub(crate) mod model;
#[cfg(test)]
mod tests;

use std::{
    io,
    pin::Pin,
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use mcp_jsonrpc::Message;
use tokio::io::AsyncWrite;

use super::{
    frame_classifier::FrameClassifier,
    wakers::{Waiters, Woken},
};
use crate::{
    diagnostics::{CloseReason, Diagnostics, FrameLog},
    error::SendError,
    link::{Inbound, Outlet},
    sync::{Mutex, MutexGuard},
};

/// The factor over the limit for responses and notifications, which are sent without waiting.
const OVERFULL: usize = 2;
/// A write buffer larger than this is freed once it is empty.
pub(crate) const KEPT_BUFFER: usize = 64 << 10;

/// How a transport turns messages into bytes.
pub(crate) trait Encode: Send {
    /// How many bytes at the end of an encoded message do not count for its ticket, because a server may act on the
    /// message without them.
    const TRAILER: u64;
    /// Whether the sink buffers, as TLS does, and has to be flushed after a write.
    const FLUSHES: bool;

    /// Appends `message` to `out`.
    ///
    /// # Errors
    /// The reason why nothing more can be sent; the queue closes with it.
    fn encode(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), CloseReason>;
}

/// Encoded messages in transit to a sink, and the link's diagnostics under the same lock, so that a send locks only
/// once.
pub(crate) struct WriteQueue<S, E> {
    /// `None` once closed. Locked during a write (or a read, where both directions share it), for as long as the
    /// system call takes. Always locked before `state`, never after it.
    sink: Mutex<Option<S>>,
    /// All other state. Never locked during a system call, or callers would wait for it.
    state: Mutex<State<E>>,
    max_queued: usize,
}

/// The state of a queue.
#[expect(clippy::struct_excessive_bools, reason = "four facts that change on their own")]
pub(crate) struct State<E> {
    /// Whether the sink can be written to.
    pub(crate) is_open: bool,
    /// Bytes that are queued.
    outgoing: Vec<u8>,
    /// How many bytes are being written right now.
    in_hand: usize,
    /// Whether the sink has flushed everything that was written to it.
    is_flushed: bool,
    /// Bytes queued in total; the ticket of a message is this number after its last byte.
    queued: u64,
    /// Bytes written in total.
    pub(crate) written: u64,
    /// A caller has written since the inlet last ran, so later callers leave writing to the inlet and share a write.
    crowded: bool,
    pub(crate) closing: bool,
    pub(crate) failure: Option<CloseReason>,
    encoder: E,
    /// The inlet's task, unless it was woken already.
    driver: Option<Waker>,
    /// Callers that wait for capacity.
    waiting: Waiters,
    frames: FrameLog,
    pub(crate) diagnostics: Diagnostics,
}

impl<E> State<E> {
    fn pending(&self) -> usize {
        self.outgoing.len() + self.in_hand
    }

    /// Whether everything queued has been handed to the peer.
    pub(crate) fn is_drained(&self) -> bool {
        self.pending() == 0 && self.is_flushed
    }

    /// The total numbers of bytes queued and written.
    #[cfg(all(test, mcp_loom))]
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.queued, self.written)
    }

    /// Records messages that arrived, and frames that were skipped.
    pub(crate) fn note_arrived(&mut self, arrived: &[Inbound], skipped: &mut FrameClassifier) {
        arrived.iter().filter_map(Inbound::frame).for_each(|frame| self.frames.push(frame));
        skipped.report_to(&mut self.diagnostics);
    }

    fn push(&mut self, encode: impl FnOnce(&mut E, &mut Vec<u8>) -> Result<(), CloseReason>) {
        let before = self.outgoing.len();
        if let Err(reason) = encode(&mut self.encoder, &mut self.outgoing) {
            self.is_open = false;
            self.failure = Some(reason);
        }
        self.queued += (self.outgoing.len() - before) as u64;
    }
}

impl<S: AsyncWrite + Unpin, E: Encode> WriteQueue<S, E> {
    /// A queue to `sink` that holds `max_queued` bytes before requests have to wait.
    pub(crate) fn new(sink: S, encoder: E, max_queued: usize) -> Self {
        let state = State {
            is_open: true,
            outgoing: Vec::new(),
            in_hand: 0,
            is_flushed: true,
            queued: 0,
            written: 0,
            crowded: false,
            closing: false,
            failure: None,
            encoder,
            driver: None,
            waiting: Waiters::default(),
            frames: FrameLog::default(),
            diagnostics: Diagnostics::default(),
        };
        Self { sink: Mutex::new(Some(sink)), state: Mutex::new(state), max_queued }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sink(&self) -> MutexGuard<'_, Option<S>> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues bytes that are not a message, such as a control frame. Drops them if the queue is overfull, because the
    /// server does not read.
    #[cfg(feature = "ws")]
    pub(crate) fn push_control(
        &self,
        encode: impl FnOnce(&mut E, &mut Vec<u8>) -> Result<(), CloseReason>,
    ) {
        let mut state = self.lock();
        if state.pending() < self.max_queued.saturating_mul(OVERFULL) && state.is_open {
            state.push(encode);
        }
    }

    /// Writes as much as the sink accepts, and registers `cx` for when it accepts more, or when a caller leaves
    /// bytes. The inlet's task calls this first whenever it is polled.
    pub(crate) fn drive(&self, cx: &mut Context<'_>) {
        {
            let mut state = self.lock();
            state.crowded = false;
            match &mut state.driver {
                Some(known) => known.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
        self.write(self.sink(), cx);
        let woken = self.unblocked(&mut self.lock());
        woken.wake();
    }

    /// Closes the sink once no caller is using it, and wakes all callers that wait for capacity.
    pub(crate) fn hang_up(&self) {
        if let Some(mut sink) = self.sink().take() {
            // Does not wait: TLS sends its closing alert, and the kernel still sends its buffered bytes.
            let _ = Pin::new(&mut sink).poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
        let waiting = {
            let mut state = self.lock();
            state.is_open = false;
            state.waiting.take()
        };
        waiting.wake();
    }

    fn is_ready(&self, state: &State<E>) -> bool {
        state.pending() < self.max_queued || state.closing || !state.is_open
    }

    /// Takes the callers that no longer have to wait.
    fn unblocked(&self, state: &mut State<E>) -> Woken {
        if self.is_ready(state) { state.waiting.take() } else { Woken::default() }
    }

    /// Writes as much as `sink` accepts of the queued bytes, and of those added in the meantime.
    fn write(&self, mut sink: MutexGuard<'_, Option<S>>, cx: &mut Context<'_>) {
        let mut chunk = Vec::new();
        loop {
            {
                let mut state = self.lock();
                if !state.is_open || state.outgoing.is_empty() && state.is_flushed {
                    return;
                }
                // Reuse the emptied buffer of the last round.
                std::mem::swap(&mut state.outgoing, &mut chunk);
                state.in_hand = chunk.len();
            }
            let (written, outcome) = write_chunk::<S, E>(sink.as_mut(), &chunk, cx);
            let mut state = self.lock();
            state.written += written as u64;
            state.in_hand = 0;
            state.is_flushed = matches!(outcome, Poll::Ready(Ok(())));
            if !state.is_flushed {
                chunk.drain(..written);
                chunk.append(&mut state.outgoing);
                state.outgoing = chunk;
                if let Poll::Ready(Err(error)) = outcome {
                    // The server no longer reads. The inlet finds out whether it has ended.
                    state.is_open = false;
                    state.failure = Some(CloseReason::failed(&error));
                }
                return;
            }
            chunk.clear();
            if chunk.capacity() > KEPT_BUFFER {
                chunk = Vec::new();
            }
        }
    }
}

/// Writes as much of `chunk` as the sink accepts. Ready if all of it was written and flushed.
fn write_chunk<S: AsyncWrite + Unpin, E: Encode>(
    sink: Option<&mut S>,
    chunk: &[u8],
    cx: &mut Context<'_>,
) -> (usize, Poll<io::Result<()>>) {
    let Some(sink) = sink else { return (0, Poll::Pending) };
    let mut written = 0;
    while written < chunk.len() {
        match Pin::new(&mut *sink).poll_write(cx, &chunk[written..]) {
            Poll::Ready(Ok(0)) => {
                return (written, Poll::Ready(Err(io::ErrorKind::WriteZero.into())));
            }
            Poll::Ready(Ok(count)) => written += count,
            Poll::Ready(Err(error)) => return (written, Poll::Ready(Err(error))),
            Poll::Pending => return (written, Poll::Pending),
        }
    }
    let flush = if E::FLUSHES { Pin::new(sink).poll_flush(cx) } else { Poll::Ready(Ok(())) };
    (written, flush)
}

impl<S: AsyncWrite + Unpin + Send, E: Encode> Outlet for WriteQueue<S, E> {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let (ticket, is_alone) = {
            let mut guard = self.lock();
            let state = &mut *guard;
            if state.closing || !state.is_open {
                return Err(SendError::Closed);
            }
            let is_idle = state.pending() == 0;
            let spare = if matches!(message, Message::Request(_)) { 1 } else { OVERFULL };
            let limit = self.max_queued.saturating_mul(spare);
            if state.pending() >= limit {
                return Err(SendError::Full { limit });
            }
            state.frames.note(true, &message);
            state.push(|encoder, out| encoder.encode(&message, out));
            let is_alone = is_idle && !state.crowded;
            state.crowded = true;
            (state.queued - E::TRAILER, is_alone)
        };
        // The holder of the sink may have checked the queue for the last time, so do not rely on it.
        if is_alone && let Ok(sink) = self.sink.try_lock() {
            self.write(sink, &mut Context::from_waker(Waker::noop()));
        }
        let woken = {
            let mut state = self.lock();
            // The inlet's task writes the rest, and registers for when the sink accepts more.
            let is_done = state.is_drained() && state.is_open;
            let driver = if is_done { None } else { state.driver.take() };
            // Callers that found the buffer full during the write need not wait for that task.
            self.unblocked(&mut state).and(driver)
        };
        woken.wake();
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if self.is_ready(&state) {
            return Poll::Ready(());
        }
        state.waiting.add(cx);
        Poll::Pending
    }

    fn close(&self) {
        let woken = {
            let mut state = self.lock();
            state.closing = true;
            let driver = state.driver.take();
            state.waiting.take().and(driver)
        };
        woken.wake();
    }

    fn diagnostics(&self) -> Diagnostics {
        let state = self.lock();
        Diagnostics { frames: state.frames.frames(), ..state.diagnostics.clone() }
    }
}
