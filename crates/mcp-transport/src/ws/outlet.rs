//! The sending half: messages become frames at once, and leave when the socket takes them.
//!
//! As over stdio, a caller writes from its own task while the socket takes it, and what is left waits in
//! one buffer that the inlet's task writes out. Reading never waits for writing.

use std::{
    io,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use mcp_jsonrpc::{Message, Trouble};
use tokio::io::AsyncWrite as _;

use super::{
    masks::{Kind, Masks},
    socket::Socket,
};
use crate::{
    diagnostics::{CloseReason, Diagnostics, FrameLog},
    error::SendError,
    link::Outlet,
    waiters::{Waiters, Woken},
};

/// How much more than the limit may wait where nobody could wait in turn: answers and notifications.
const OVERFULL: usize = 2;
/// A write buffer larger than this is given back once it is empty.
const KEPT_BUFFER: usize = 64 << 10;

/// What both halves share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Gone once the link has ended. Locked while someone reads or writes, which takes as long as the
    /// kernel does; always before `state`, never after it.
    socket: Mutex<Option<Socket>>,
    /// Everything else. Never locked during a system call.
    state: Mutex<State>,
    max_queued: usize,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four facts that change on their own")]
pub(super) struct State {
    /// Whether the socket can be written to.
    pub(super) is_open: bool,
    /// Frames that wait to be written.
    outgoing: Vec<u8>,
    /// How many bytes somebody is writing right now.
    in_hand: usize,
    /// What was written may still be on its way through TLS.
    is_flushed: bool,
    /// Bytes ever taken for sending; the ticket of a message is this number behind its last byte.
    taken: u64,
    /// Bytes ever written.
    pub(super) flushed: u64,
    /// Somebody has written since the inlet last ran, so the next ones wait for it and share a write.
    crowded: bool,
    pub(super) closing: bool,
    pub(super) failure: Option<CloseReason>,
    masks: Masks,
    /// Where the text of a message is written before it is masked.
    text: Vec<u8>,
    /// The inlet's task, unless it has been woken already.
    driver: Option<Waker>,
    /// Callers waiting for room.
    waiting: Waiters,
    pub(super) frames: FrameLog,
    pub(super) diagnostics: Diagnostics,
}

impl Shared {
    pub(super) fn new(socket: Socket, max_queued: usize) -> Self {
        let state = State {
            is_open: true,
            outgoing: Vec::new(),
            in_hand: 0,
            is_flushed: true,
            taken: 0,
            flushed: 0,
            crowded: false,
            closing: false,
            failure: None,
            masks: Masks::new(),
            text: Vec::new(),
            driver: None,
            waiting: Waiters::default(),
            frames: FrameLog::default(),
            diagnostics: Diagnostics::default(),
        };
        Self { socket: Mutex::new(Some(socket)), state: Mutex::new(state), max_queued }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn socket(&self) -> MutexGuard<'_, Option<Socket>> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the socket, after whoever is using it. Nobody may be left waiting for room.
    pub(super) fn hang_up(&self) {
        if let Some(mut socket) = self.socket().take() {
            // As far as it goes without waiting: TLS says goodbye, and what is in the kernel still leaves.
            let _ = Pin::new(&mut socket).poll_shutdown(&mut Context::from_waker(Waker::noop()));
        }
        let waiting = {
            let mut state = self.lock();
            state.is_open = false;
            state.waiting.take()
        };
        waiting.wake();
    }

    /// Has a control frame sent behind what waits already. One that finds the queue overfull is left out:
    /// the server does not read.
    pub(super) fn send_control(&self, kind: Kind, payload: &[u8]) {
        let mut guard = self.lock();
        let state = &mut *guard;
        if state.pending() < self.max_queued.saturating_mul(OVERFULL) && state.is_open {
            state.frame(kind, payload);
        }
    }

    /// Writes what waits, as far as the socket takes it, and has `cx` woken when it takes more.
    pub(super) fn drive(&self, cx: &mut Context<'_>) {
        {
            let mut state = self.lock();
            state.crowded = false;
            match &mut state.driver {
                Some(known) => known.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
        self.write(self.socket(), cx);
        let waiting = {
            let mut state = self.lock();
            let room = state.pending() < self.max_queued || !state.is_open;
            if room { state.waiting.take() } else { Woken::default() }
        };
        waiting.wake();
    }

    /// Writes as much as `socket` takes of what waits, and of what is added in the meantime.
    fn write(&self, mut socket: MutexGuard<'_, Option<Socket>>, cx: &mut Context<'_>) {
        let mut chunk = Vec::new();
        loop {
            {
                let mut state = self.lock();
                if !state.is_open || state.outgoing.is_empty() && state.is_flushed {
                    return;
                }
                // The emptied buffer of the last round is the one to fill next.
                std::mem::swap(&mut state.outgoing, &mut chunk);
                state.in_hand = chunk.len();
            }
            let (written, outcome) = write_chunk(socket.as_mut(), &chunk, cx);
            let mut state = self.lock();
            state.flushed += written as u64;
            state.in_hand = 0;
            state.is_flushed = matches!(outcome, Poll::Ready(Ok(())));
            if !state.is_flushed {
                chunk.drain(..written);
                chunk.append(&mut state.outgoing);
                state.outgoing = chunk;
                if let Poll::Ready(Err(error)) = outcome {
                    // It no longer reads. Whether it is gone too, the inlet will find out.
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

/// Writes as much of `chunk` as the socket takes, and pushes it on its way. Ready when all of it is.
fn write_chunk(
    socket: Option<&mut Socket>,
    chunk: &[u8],
    cx: &mut Context<'_>,
) -> (usize, Poll<io::Result<()>>) {
    let Some(socket) = socket else { return (0, Poll::Pending) };
    let mut written = 0;
    while written < chunk.len() {
        match Pin::new(&mut *socket).poll_write(cx, &chunk[written..]) {
            Poll::Ready(Ok(0)) => {
                return (written, Poll::Ready(Err(io::ErrorKind::WriteZero.into())));
            }
            Poll::Ready(Ok(count)) => written += count,
            Poll::Ready(Err(error)) => return (written, Poll::Ready(Err(error))),
            Poll::Pending => return (written, Poll::Pending),
        }
    }
    (written, Pin::new(socket).poll_flush(cx))
}

impl State {
    fn pending(&self) -> usize {
        self.outgoing.len() + self.in_hand
    }

    /// Whether everything that was to be sent has been handed over.
    pub(super) fn is_drained(&self) -> bool {
        self.pending() == 0 && self.is_flushed
    }

    fn frame(&mut self, kind: Kind, payload: &[u8]) {
        let before = self.outgoing.len();
        if self.masks.write(&mut self.outgoing, kind, payload).is_err() {
            self.is_open = false;
            let reason = "the system has no random numbers to mask frames with".to_owned();
            self.failure = Some(CloseReason::Failed { trouble: Trouble::Local, reason });
        }
        self.taken += (self.outgoing.len() - before) as u64;
    }
}

impl Outlet for Shared {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let (ticket, is_alone) = {
            let mut guard = self.lock();
            let state = &mut *guard;
            if state.closing || !state.is_open {
                return Err(SendError::Closed);
            }
            let idle = state.pending() == 0;
            let spare = if matches!(message, Message::Request(_)) { 1 } else { OVERFULL };
            let limit = self.max_queued.saturating_mul(spare);
            if state.pending() >= limit {
                return Err(SendError::Full { limit });
            }
            state.frames.note(true, &message);
            let mut text = std::mem::take(&mut state.text);
            message.write(&mut text);
            state.frame(Kind::Text, &text);
            text.clear();
            if text.capacity() <= KEPT_BUFFER {
                state.text = text;
            }
            let is_alone = idle && !state.crowded;
            state.crowded = true;
            (state.taken, is_alone)
        };
        // Whoever holds the socket may have looked for the last time, so this does not rely on it.
        if is_alone && let Ok(socket) = self.socket.try_lock() {
            self.write(socket, &mut Context::from_waker(Waker::noop()));
        }
        // What is left, the inlet's task writes, and registers for when the socket is no longer full.
        let driver = {
            let mut state = self.lock();
            if state.is_drained() && state.is_open { None } else { state.driver.take() }
        };
        driver.into_iter().for_each(Waker::wake);
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.pending() < self.max_queued || state.closing || !state.is_open {
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
