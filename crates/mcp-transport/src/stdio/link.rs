//! The link to a child process: writes lines to one pipe, and reads lines from another.

#[cfg(all(test, mcp_loom))]
mod model;

use std::{
    future::Future,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use mcp_jsonrpc::Message;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite},
    time::{Sleep, sleep},
};

use super::{child::ChildHandle, options::StdioOptions, stderr::StderrTail};
use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics},
    error::SendError,
    io::{
        line_reader::LineReader,
        write_queue::{Encode, WriteQueue},
    },
    link::{Inbound, Inlet, Link, Outlet},
};

/// How long to wait for a server's exit status after the end of its output or input. Only a server that keeps running
/// uses all of it, and a report without a status explains little.
const STATUS_GRACE: Duration = Duration::from_secs(2);
/// How long to wait for the rest of the output after the server has exited: its output is in the pipe already, and a
/// descendant may hold the pipe open forever.
const OUTPUT_GRACE: Duration = Duration::from_millis(200);
/// Reads without a message before other tasks and timers get a turn: a server may write text that is not a message
/// without end.
const MAX_NOISY_READS: usize = 4;

/// The server's standard input. Models use another type.
type Input = Pin<Box<dyn AsyncWrite + Send>>;
/// The server's standard output.
type Output = Pin<Box<dyn AsyncRead + Send>>;

pub(super) fn link(
    stdin: impl AsyncWrite + Send + 'static,
    stdout: impl AsyncRead + Send + 'static,
    child: ChildHandle,
    stderr: Arc<StderrTail>,
    options: &StdioOptions,
) -> Link {
    let inlet = StdioInlet::new(Box::pin(stdin), Box::pin(stdout), Some(child), stderr, options);
    Link { outlet: inlet.outlet.clone(), inlet: Box::new(inlet) }
}

/// Encodes one message per line: <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio>.
struct LineEncoder;

impl Encode for LineEncoder {
    /// The newline: a server may act on the last line without one.
    const TRAILER: u64 = 1;
    const FLUSHES: bool = false;

    fn encode(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), CloseReason> {
        message.write(out);
        out.push(b'\n');
        Ok(())
    }
}

struct StdioOutlet {
    queue: WriteQueue<Input, LineEncoder>,
    stderr: Arc<StderrTail>,
}

impl Outlet for StdioOutlet {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        self.queue.send(message)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.queue.poll_ready(cx)
    }

    fn close(&self) {
        self.queue.close();
    }

    fn diagnostics(&self) -> Diagnostics {
        let mut diagnostics = self.queue.diagnostics();
        diagnostics.stderr = self.stderr.lines();
        diagnostics.first_skipped =
            diagnostics.first_skipped.map(|line| self.stderr.secrets().redact(&line).into_owned());
        diagnostics
    }
}

struct StdioInlet {
    outlet: Arc<StdioOutlet>,
    stdout: Option<Output>,
    reader: LineReader,
    child: Option<ChildHandle>,
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
        let mut noisy_reads = 0;
        while let Some(stdout) = &mut self.stdout {
            if noisy_reads == MAX_NOISY_READS {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let read = pin!(stdout.read_buf(self.reader.buffer())).poll(cx);
            match read {
                Poll::Ready(Ok(count)) if count > 0 => self.take_lines(batch),
                Poll::Ready(ended) => self.end_of_output(ended.err(), batch),
                Poll::Pending => break,
            }
            if batch.len() > already {
                return Poll::Ready(Ok(()));
            }
            noisy_reads += 1;
        }
        ready!(self.poll_end(cx, closing));
        Poll::Ready(Err(self.report(closing)))
    }
}

impl StdioInlet {
    fn new(
        stdin: Input,
        stdout: Output,
        child: Option<ChildHandle>,
        stderr: Arc<StderrTail>,
        options: &StdioOptions,
    ) -> Self {
        let queue = WriteQueue::new(stdin, LineEncoder, options.max_queued);
        Self {
            outlet: Arc::new(StdioOutlet { queue, stderr }),
            stdout: Some(stdout),
            reader: LineReader::new(options.max_message),
            child,
            exited: false,
            grace: None,
        }
    }

    /// Writes queued bytes and continues a close in progress. Returns whether the link is closing.
    fn drive_writes(&mut self, cx: &mut Context<'_>) -> bool {
        let queue = &self.outlet.queue;
        queue.drive(cx);
        let (closing, is_done) = {
            let state = queue.lock();
            (state.closing, state.closing && state.is_drained() || !state.is_open)
        };
        if is_done || self.stdout.is_none() {
            // The end of its input tells the server to exit: <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#stdio>.
            // A server that no longer reads does not receive the rest of the buffer,
            // and is ended by signals.
            queue.hang_up();
        }
        if closing && let Some(child) = &mut self.child {
            child.end();
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
        self.outlet.queue.hang_up();
        if let Some(error) = error {
            let mut state = self.outlet.queue.lock();
            state.failure.get_or_insert(CloseReason::failed(&error));
        }
    }

    fn note(&mut self, arrived: &[Inbound]) {
        self.outlet.queue.lock().note_arrived(arrived, self.reader.skipped());
    }

    /// Ready once the link has ended.
    fn poll_end(&mut self, cx: &mut Context<'_>, closing: bool) -> Poll<()> {
        if !self.exited
            && let Some(child) = &mut self.child
            && let Poll::Ready(exit) = child.poll_exit(cx)
        {
            self.exited = true;
            self.outlet.queue.lock().diagnostics.exit = exit;
        }
        let output_ended = self.stdout.is_none();
        let patience = match (output_ended, self.exited) {
            (true, true) => return Poll::Ready(()),
            (false, true) => OUTPUT_GRACE,
            // `ChildHandle` limits the time of an orderly shutdown.
            (_, false) if closing => return Poll::Pending,
            (true, false) => STATUS_GRACE,
            // A server that runs and writes but does not read cannot respond to calls.
            (false, false) if self.stdin_is_closed() => STATUS_GRACE,
            (false, false) => return Poll::Pending,
        };
        self.grace.get_or_insert_with(|| Box::pin(sleep(patience))).as_mut().poll(cx)
    }

    /// Whether the server has closed its standard input.
    fn stdin_is_closed(&self) -> bool {
        !self.outlet.queue.lock().is_open
    }

    fn report(&mut self, closing: bool) -> Box<CloseReport> {
        if let Some(child) = self.child.take() {
            child.detach();
        }
        // After this, no caller is writing, so the number of bytes written is final.
        self.outlet.queue.hang_up();
        let diagnostics = self.outlet.diagnostics();
        let mut state = self.outlet.queue.lock();
        let reason = match state.failure.take() {
            _ if closing => CloseReason::Requested,
            // A failed write to a server that has exited is a consequence, not the cause.
            Some(failure) if diagnostics.exit.is_none() => failure,
            _ => CloseReason::Ended,
        };
        Box::new(CloseReport { reason, flushed: state.written, diagnostics })
    }
}

impl Drop for StdioInlet {
    fn drop(&mut self) {
        self.outlet.queue.hang_up();
    }
}
