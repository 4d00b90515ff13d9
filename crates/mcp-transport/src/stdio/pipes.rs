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
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::Bytes;
use mcp_jsonrpc::{Decoded, Failure, Line, LineDecoder, Message, Reply, decode, salvage_id};
use tokio::{
    io::{AsyncReadExt as _, AsyncWrite as _},
    process::{ChildStdin, ChildStdout},
    time::{Sleep, sleep},
};

use super::{StdioOptions, minder::Minder, stderr::StderrTail};
use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics, Exit, FrameLog},
    error::SendError,
    link::{Inbound, Inlet, Link, Outlet},
};

/// How long to wait for the other half of the news when a server goes away: its status once its
/// output ended, or the rest of its output once it exited.
const GRACE: Duration = Duration::from_millis(200);
/// A write buffer larger than this is given back once it is empty.
const KEPT_BUFFER: usize = 64 << 10;

pub(super) fn link(
    stdin: ChildStdin,
    stdout: ChildStdout,
    minder: Minder,
    stderr: Arc<StderrTail>,
    options: &StdioOptions,
) -> Link {
    let state = State { stdin: Some(stdin), ..State::default() };
    let shared =
        Arc::new(Shared { state: Mutex::new(state), stderr, max_queued: options.max_queued });
    let inlet = StdioInlet {
        shared: shared.clone(),
        stdout: Some(stdout),
        decoder: LineDecoder::new(options.max_message),
        max_message: options.max_message,
        minder: Some(minder),
        exited: false,
        grace: None,
    };
    Link { outlet: shared, inlet: Box::new(inlet) }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    stderr: Arc<StderrTail>,
    max_queued: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Gone once closed, by us or by the server.
    stdin: Option<ChildStdin>,
    outgoing: Vec<u8>,
    /// How much of `outgoing` is written.
    written: usize,
    /// Bytes ever taken for sending; the ticket of a message is this number behind it.
    taken: u64,
    /// Bytes ever written.
    flushed: u64,
    /// Somebody has written since the inlet last ran, so the next ones wait for it and share a write.
    crowded: bool,
    closing: bool,
    failure: Option<String>,
    /// The inlet's task, unless it has been woken already.
    driver: Option<Waker>,
    /// Callers waiting for room.
    waiting: Vec<Waker>,
    frames: FrameLog,
    diagnostics: Diagnostics,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pending(&self) -> usize {
        self.outgoing.len() - self.written
    }

    /// Writes as much as the pipe takes.
    fn write(&mut self, cx: &mut Context<'_>) {
        while self.pending() > 0 {
            let Some(stdin) = &mut self.stdin else { return };
            match Pin::new(stdin).poll_write(cx, &self.outgoing[self.written..]) {
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    self.flushed += count as u64;
                }
                Poll::Ready(Err(error)) => {
                    // It no longer reads. Whether it is gone too, the inlet will find out.
                    self.stdin = None;
                    self.failure = Some(error.to_string());
                    return;
                }
                Poll::Pending => return,
            }
        }
        self.outgoing.clear();
        self.written = 0;
        if self.outgoing.capacity() > KEPT_BUFFER {
            self.outgoing = Vec::new();
        }
    }
}

impl Outlet for Shared {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let (ticket, driver) = {
            let mut guard = self.lock();
            let state = &mut *guard;
            if state.closing || state.stdin.is_none() {
                return Err(SendError::Closed);
            }
            let idle = state.pending() == 0;
            if state.pending() >= self.max_queued && matches!(message, Message::Request(_)) {
                return Err(SendError::Full { limit: self.max_queued });
            }
            state.frames.note(true, &message);
            let before = state.outgoing.len();
            message.write(&mut state.outgoing);
            state.outgoing.push(b'\n');
            state.taken += (state.outgoing.len() - before) as u64;
            if idle && !state.crowded {
                state.crowded = true;
                // If the pipe is full, the inlet's task registers for when it is not.
                state.write(&mut Context::from_waker(Waker::noop()));
            }
            let driver = if state.pending() > 0 { state.driver.take() } else { None };
            (state.taken, driver)
        };
        driver.into_iter().for_each(Waker::wake);
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.pending() < self.max_queued || state.closing || state.stdin.is_none() {
            return Poll::Ready(());
        }
        state.waiting.push(cx.waker().clone());
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
        Diagnostics {
            stderr: self.stderr.lines(),
            frames: state.frames.frames(),
            ..state.diagnostics.clone()
        }
    }
}

struct StdioInlet {
    shared: Arc<Shared>,
    stdout: Option<ChildStdout>,
    decoder: LineDecoder,
    max_message: usize,
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
            let read = pin!(stdout.read_buf(self.decoder.buffer())).poll(cx);
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
    /// Writes what callers left in the buffer, and goes on with closing. Returns whether we are.
    fn drive_writes(&mut self, cx: &mut Context<'_>) -> bool {
        let (closing, waiting) = {
            let mut state = self.shared.lock();
            state.crowded = false;
            match &mut state.driver {
                Some(known) => known.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            state.write(cx);
            if state.closing && state.pending() == 0 || self.stdout.is_none() {
                // The server takes this as its cue to end. One that reads no more never sees the
                // rest of the buffer, and the signals that follow do not need it to.
                state.stdin = None;
            }
            let room = state.pending() < self.shared.max_queued || state.stdin.is_none();
            let waiting = if room { std::mem::take(&mut state.waiting) } else { Vec::new() };
            (state.closing, waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
        if closing && let Some(minder) = &mut self.minder {
            minder.end();
        }
        closing
    }

    fn take_lines(&mut self, batch: &mut Vec<Inbound>) {
        let already = batch.len();
        let mut skipped = Skipped::default();
        while let Some(line) = self.decoder.next_line() {
            sort(line, self.max_message, batch, &mut skipped);
        }
        self.note(&batch[already..], skipped);
    }

    fn end_of_output(&mut self, error: Option<io::Error>, batch: &mut Vec<Inbound>) {
        self.stdout = None;
        let already = batch.len();
        let mut skipped = Skipped::default();
        if let Some(line) = self.decoder.finish() {
            sort(line, self.max_message, batch, &mut skipped);
        }
        self.note(&batch[already..], skipped);
        let mut state = self.shared.lock();
        state.stdin = None;
        if let Some(error) = error {
            state.failure.get_or_insert(error.to_string());
        }
    }

    fn note(&self, arrived: &[Inbound], skipped: Skipped) {
        let mut state = self.shared.lock();
        for inbound in arrived {
            match inbound {
                Inbound::Message(message) => state.frames.note(false, message),
                Inbound::Reply(reply) => state.frames.note_reply(reply),
                Inbound::Lost { .. } => {}
            }
        }
        let diagnostics = &mut state.diagnostics;
        diagnostics.skipped_lines += skipped.lines;
        diagnostics.skipped_bytes += skipped.bytes;
        diagnostics.too_large += skipped.too_large;
        if diagnostics.first_skipped.is_none() {
            diagnostics.first_skipped = skipped.first;
        }
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
        match (output_ended, self.exited) {
            (true, true) => return Poll::Ready(()),
            (false, false) => return Poll::Pending,
            // An orderly end takes the time it takes; the minder bounds it.
            (true, false) if closing => return Poll::Pending,
            _ => {}
        }
        self.grace.get_or_insert_with(|| Box::pin(sleep(GRACE))).as_mut().poll(cx)
    }

    fn set_exit(&self, exit: Option<Exit>) {
        self.shared.lock().diagnostics.exit = exit;
    }

    fn report(&mut self, closing: bool) -> Box<CloseReport> {
        if let Some(minder) = self.minder.take() {
            minder.detach();
        }
        let diagnostics = self.shared.diagnostics();
        let mut state = self.shared.lock();
        state.stdin = None;
        let reason = match state.failure.take() {
            _ if closing => CloseReason::Requested,
            // Writing to a server that has ended is a consequence, not a cause.
            Some(failure) if diagnostics.exit.is_none() => CloseReason::Failed(failure),
            _ => CloseReason::Ended,
        };
        let waiting = std::mem::take(&mut state.waiting);
        let flushed = state.flushed;
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        Box::new(CloseReport { reason, flushed, diagnostics })
    }
}

impl Drop for StdioInlet {
    fn drop(&mut self) {
        // Nobody writes any more, so nobody may be left waiting for room.
        let waiting = {
            let mut state = self.shared.lock();
            state.stdin = None;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// Lines that were no messages.
#[derive(Default)]
struct Skipped {
    lines: u64,
    bytes: u64,
    too_large: u64,
    first: Option<String>,
}

impl Skipped {
    fn count(&mut self, line: &[u8]) {
        tracing::debug!(bytes = line.len(), "skipped a line that is no message");
        self.lines += 1;
        self.bytes += line.len() as u64;
        self.first.get_or_insert_with(|| {
            String::from_utf8_lossy(&line[..line.len().min(200)])
                .trim_end_matches('\u{fffd}')
                .into()
        });
    }
}

fn sort(line: Line, limit: usize, batch: &mut Vec<Inbound>, skipped: &mut Skipped) {
    match line {
        Line::Whole(line) => sort_line(&line, batch, skipped),
        Line::TooLong { length, head, tail } => {
            skipped.too_large += 1;
            if let Some(id) = salvage_id(&head, &tail) {
                let failure = Failure::TooLarge { size: length, limit };
                batch.push(Inbound::Lost { id, failure });
            }
        }
    }
}

fn sort_line(line: &Bytes, batch: &mut Vec<Inbound>, skipped: &mut Skipped) {
    if let Some(reply) = Reply::recognize(line) {
        batch.push(Inbound::Reply(reply));
        return;
    }
    match decode(line) {
        Ok(Decoded::One(message)) => batch.push(Inbound::Message(message)),
        Ok(Decoded::Batch(messages)) => {
            for message in messages {
                match message {
                    Ok(message) => batch.push(Inbound::Message(message)),
                    Err(_) => skipped.count(b""),
                }
            }
        }
        Err(_) => skipped.count(line),
    }
}
