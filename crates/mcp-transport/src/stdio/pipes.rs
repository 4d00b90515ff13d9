//! The link itself: lines out through one pipe, lines in through another.
//!
//! A caller writes from its own task while the pipe takes it. What the pipe does not take, and what
//! other callers add in the meantime, waits in one buffer that the inlet's task writes out in one go:
//! so a lone call costs one write and no hop, and many at once share their writes. Reading never waits
//! for writing, or a server that floods us while it does not read would hold us both for ever.

use std::{
    future::Future,
    io,
    pin::{Pin, pin},
    sync::{Arc, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use mcp_jsonrpc::Message;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite},
    time::{Sleep, sleep},
};

use super::{StdioOptions, minder::Minder, stderr::StderrTail};
use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics, Exit, FrameLog},
    error::SendError,
    lines::LineReader,
    link::{Inbound, Inlet, Link, Outlet},
    sync::{Mutex, MutexGuard},
    waiters::{Waiters, Woken},
};

/// How long to wait for a server's status once its output has ended, or once it no longer reads. It
/// is only waited out by a server that lives on, and a report without a status explains little.
const STATUS_GRACE: Duration = Duration::from_secs(2);
/// How long to wait for the rest of its output once it has exited: what it wrote is in the pipe
/// already, and whatever it started may hold the pipe for ever.
const OUTPUT_GRACE: Duration = Duration::from_millis(200);
/// How much more than the limit may wait where nobody could wait in turn: answers and notifications.
const OVERFULL: usize = 2;
/// A write buffer larger than this is given back once it is empty.
const KEPT_BUFFER: usize = 64 << 10;

/// The server's standard input. Models have one of their own.
type Input = Pin<Box<dyn AsyncWrite + Send>>;
/// And its standard output.
type Output = Pin<Box<dyn AsyncRead + Send>>;

pub(super) fn link(
    stdin: impl AsyncWrite + Send + 'static,
    stdout: impl AsyncRead + Send + 'static,
    minder: Minder,
    stderr: Arc<StderrTail>,
    options: &StdioOptions,
) -> Link {
    let inlet = StdioInlet::new(Box::pin(stdin), Box::pin(stdout), Some(minder), stderr, options);
    Link { outlet: inlet.shared.clone(), inlet: Box::new(inlet) }
}

struct Shared {
    /// The server's standard input, gone once closed. Locked while someone writes, which takes as
    /// long as the kernel does; always before `state`, never after it.
    pipe: Mutex<Option<Input>>,
    /// Everything else. Never locked during a system call, or callers would queue up behind it.
    state: Mutex<State>,
    stderr: Arc<StderrTail>,
    max_queued: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the server's standard input is.
    is_open: bool,
    /// What waits to be written.
    outgoing: Vec<u8>,
    /// How many bytes somebody is writing right now.
    in_hand: usize,
    /// Bytes ever taken for sending; the ticket of a message is this number behind its last byte.
    taken: u64,
    /// Bytes ever written.
    flushed: u64,
    /// Somebody has written since the inlet last ran, so the next ones wait for it and share a write.
    crowded: bool,
    closing: bool,
    failure: Option<CloseReason>,
    /// The inlet's task, unless it has been woken already.
    driver: Option<Waker>,
    /// Callers waiting for room.
    waiting: Waiters,
    frames: FrameLog,
    diagnostics: Diagnostics,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pipe(&self) -> MutexGuard<'_, Option<Input>> {
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the server's standard input, after whoever is writing to it.
    fn hang_up(&self) {
        *self.pipe() = None;
        self.lock().is_open = false;
    }

    /// Writes as much as `pipe` takes of what waits, and of what is added in the meantime.
    fn write(&self, mut pipe: MutexGuard<'_, Option<Input>>, cx: &mut Context<'_>) {
        let mut chunk = Vec::new();
        loop {
            {
                let mut state = self.lock();
                if state.outgoing.is_empty() || !state.is_open {
                    return;
                }
                // The emptied buffer of the last round is the one to fill next.
                std::mem::swap(&mut state.outgoing, &mut chunk);
                state.in_hand = chunk.len();
            }
            let (written, outcome) = write_chunk(pipe.as_mut(), &chunk, cx);
            let mut state = self.lock();
            state.flushed += written as u64;
            state.in_hand = 0;
            if written < chunk.len() {
                chunk.drain(..written);
                chunk.append(&mut state.outgoing);
                state.outgoing = chunk;
                if let Err(error) = outcome {
                    // It no longer reads. Whether it is gone too, the inlet will find out.
                    *pipe = None;
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

/// Writes as much of `chunk` as the pipe takes.
fn write_chunk(
    pipe: Option<&mut Input>,
    chunk: &[u8],
    cx: &mut Context<'_>,
) -> (usize, io::Result<()>) {
    let Some(pipe) = pipe else { return (0, Ok(())) };
    let mut written = 0;
    while written < chunk.len() {
        match pipe.as_mut().poll_write(cx, &chunk[written..]) {
            Poll::Ready(Ok(count)) => written += count,
            Poll::Ready(Err(error)) => return (written, Err(error)),
            Poll::Pending => break,
        }
    }
    (written, Ok(()))
}

impl State {
    fn pending(&self) -> usize {
        self.outgoing.len() + self.in_hand
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
            let before = state.outgoing.len();
            message.write(&mut state.outgoing);
            state.taken += (state.outgoing.len() - before) as u64;
            // Its newline is not part of a ticket: a server may act on the last line without one.
            let ticket = state.taken;
            state.outgoing.push(b'\n');
            state.taken += 1;
            let is_alone = idle && !state.crowded;
            state.crowded = true;
            (ticket, is_alone)
        };
        // Whoever holds the pipe may have looked for the last time, so this does not rely on it.
        if is_alone && let Ok(pipe) = self.pipe.try_lock() {
            self.write(pipe, &mut Context::from_waker(Waker::noop()));
        }
        let woken = {
            let mut state = self.lock();
            // What is left, the inlet's task writes, and registers for when the pipe is no longer full.
            let driver = if state.pending() > 0 { state.driver.take() } else { None };
            // And whoever found the buffer full while we had it in hand need not wait for that task.
            let room = state.pending() < self.max_queued;
            let waiting = if room { state.waiting.take() } else { Woken::default() };
            waiting.and(driver)
        };
        woken.wake();
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
        let driver = {
            let mut state = self.lock();
            state.closing = true;
            state.driver.take()
        };
        driver.into_iter().for_each(Waker::wake);
    }

    fn diagnostics(&self) -> Diagnostics {
        let state = self.lock();
        let skipped = state.diagnostics.first_skipped.clone();
        Diagnostics {
            stderr: self.stderr.lines(),
            first_skipped: skipped.map(|line| self.stderr.confidence().kept(line)),
            frames: state.frames.frames(),
            ..state.diagnostics.clone()
        }
    }
}

struct StdioInlet {
    shared: Arc<Shared>,
    stdout: Option<Output>,
    reader: LineReader,
    minder: Option<Minder>,
    exited: bool,
    grace: Option<Pin<Box<Sleep>>>,
}

impl Inlet for StdioInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let closing = self.drive_writes(cx);
        let already = batch.len();
        while let Some(stdout) = &mut self.stdout {
            let read = pin!(stdout.read_buf(self.reader.buffer())).poll(cx);
            match read {
                Poll::Ready(Ok(count)) if count > 0 => self.take_lines(batch),
                Poll::Ready(ended) => self.end_of_output(ended.err(), batch),
                Poll::Pending => break,
            }
            if batch.len() > already {
                return Poll::Ready(Ok(()));
            }
        }
        ready!(self.poll_end(cx, closing));
        Poll::Ready(Err(self.report(closing)))
    }
}

impl StdioInlet {
    fn new(
        stdin: Input,
        stdout: Output,
        minder: Option<Minder>,
        stderr: Arc<StderrTail>,
        options: &StdioOptions,
    ) -> Self {
        let shared = Shared {
            pipe: Mutex::new(Some(stdin)),
            state: Mutex::new(State { is_open: true, ..State::default() }),
            stderr,
            max_queued: options.max_queued,
        };
        Self {
            shared: Arc::new(shared),
            stdout: Some(stdout),
            reader: LineReader::new(options.max_message),
            minder,
            exited: false,
            grace: None,
        }
    }

    /// Writes what callers left in the buffer, and goes on with closing. Returns whether we are.
    fn drive_writes(&mut self, cx: &mut Context<'_>) -> bool {
        {
            let mut state = self.shared.lock();
            state.crowded = false;
            match &mut state.driver {
                Some(known) => known.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
        self.shared.write(self.shared.pipe(), cx);
        let (closing, is_flushed) = {
            let state = self.shared.lock();
            (state.closing, state.pending() == 0)
        };
        if closing && is_flushed || self.stdout.is_none() {
            // The server takes this as its cue to end. One that reads no more never sees the
            // rest of the buffer, and the signals that follow do not need it to.
            self.shared.hang_up();
        }
        let waiting = {
            let mut state = self.shared.lock();
            let room = state.pending() < self.shared.max_queued || !state.is_open;
            if room { state.waiting.take() } else { Woken::default() }
        };
        waiting.wake();
        if closing && let Some(minder) = &mut self.minder {
            minder.end();
        }
        closing
    }

    fn take_lines(&mut self, batch: &mut Vec<Inbound>) {
        let already = batch.len();
        self.reader.take(batch);
        self.note(&batch[already..]);
    }

    fn end_of_output(&mut self, error: Option<io::Error>, batch: &mut Vec<Inbound>) {
        self.stdout = None;
        let already = batch.len();
        self.reader.finish(batch);
        self.note(&batch[already..]);
        self.shared.hang_up();
        let mut state = self.shared.lock();
        if let Some(error) = error {
            state.failure.get_or_insert(CloseReason::failed(&error));
        }
    }

    fn note(&mut self, arrived: &[Inbound]) {
        let mut state = self.shared.lock();
        for inbound in arrived {
            match inbound {
                Inbound::Message(message) => state.frames.note(false, message),
                Inbound::Reply(reply) => state.frames.note_reply(reply),
                Inbound::Lost { .. } => {}
            }
        }
        self.reader.skipped().add_to(&mut state.diagnostics);
    }

    /// Ready once there is nothing more to wait for.
    fn poll_end(&mut self, cx: &mut Context<'_>, closing: bool) -> Poll<()> {
        if !self.exited
            && let Some(minder) = &mut self.minder
            && let Poll::Ready(exit) = minder.poll_exit(cx)
        {
            self.exited = true;
            self.set_exit(exit);
        }
        let output_ended = self.stdout.is_none();
        let patience = match (output_ended, self.exited) {
            (true, true) => return Poll::Ready(()),
            (false, true) => OUTPUT_GRACE,
            // An orderly end takes the time it takes; the minder bounds it.
            (_, false) if closing => return Poll::Pending,
            (true, false) => STATUS_GRACE,
            // A server that lives and talks but hears nothing can answer no call.
            (false, false) if self.is_deaf() => STATUS_GRACE,
            (false, false) => return Poll::Pending,
        };
        self.grace.get_or_insert_with(|| Box::pin(sleep(patience))).as_mut().poll(cx)
    }

    /// Whether the server has closed its input.
    fn is_deaf(&self) -> bool {
        !self.shared.lock().is_open
    }

    fn set_exit(&self, exit: Option<Exit>) {
        self.shared.lock().diagnostics.exit = exit;
    }

    fn report(&mut self, closing: bool) -> Box<CloseReport> {
        if let Some(minder) = self.minder.take() {
            minder.detach();
        }
        // Nobody is writing any more, so what has been written is known.
        self.shared.hang_up();
        let diagnostics = self.shared.diagnostics();
        let mut state = self.shared.lock();
        let reason = match state.failure.take() {
            _ if closing => CloseReason::Requested,
            // Writing to a server that has ended is a consequence, not a cause.
            Some(failure) if diagnostics.exit.is_none() => failure,
            _ => CloseReason::Ended,
        };
        let waiting = state.waiting.take();
        let flushed = state.flushed;
        drop(state);
        waiting.wake();
        Box::new(CloseReport { reason, flushed, diagnostics })
    }
}

impl Drop for StdioInlet {
    fn drop(&mut self) {
        // Nobody writes any more, so nobody may be left waiting for room.
        self.shared.hang_up();
        let waiting = self.shared.lock().waiting.take();
        waiting.wake();
    }
}

#[cfg(all(test, mcp_loom))]
#[path = "pipes_model.rs"]
mod model;
