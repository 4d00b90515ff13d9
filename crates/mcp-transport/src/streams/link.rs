//! The link over a byte stream: its inlet reads lines, drives the writing, and closes the link.

use std::{
    future::Future as _,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use mcp_jsonrpc::{FailureCause, Message};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadHalf, WriteHalf},
    time::{Sleep, sleep},
};

use super::StreamOptions;
use crate::{
    diagnostics::{CloseReason, CloseReport},
    io::{
        line_reader::LineReader,
        write_queue::{Encode, WriteQueue},
    },
    link::{Inbound, Inlet, Link, Outlet as _},
};

/// How long reading continues after a write has failed.
const READ_GRACE: Duration = Duration::from_secs(1);
/// Reads without a message before other tasks and timers get a turn.
const MAX_NOISY_READS: usize = 4;

/// A link over `stream`.
pub(super) fn link<S>(stream: S, options: &StreamOptions) -> Link
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (input, output) = tokio::io::split(stream);
    let queue = Arc::new(WriteQueue::new(output, LineEncoder, options.max_queued));
    let inlet = StreamInlet {
        queue: queue.clone(),
        input: Some(input),
        reader: LineReader::new(options.max_message),
        close_timeout: options.close_timeout,
        grace: None,
        end: None,
    };
    Link { outlet: queue, inlet: Box::new(inlet) }
}

/// Encodes one message per line.
struct LineEncoder;

impl Encode for LineEncoder {
    /// The newline: a server may act on the last line without one.
    const TRAILER: u64 = 1;
    /// The stream may buffer bytes, as TLS does.
    const FLUSHES: bool = true;

    fn encode(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), CloseReason> {
        message.write(out);
        out.push(b'\n');
        Ok(())
    }
}

struct StreamInlet<S: AsyncWrite> {
    queue: Arc<WriteQueue<WriteHalf<S>, LineEncoder>>,
    /// `None` after the end of the stream.
    input: Option<ReadHalf<S>>,
    reader: LineReader,
    close_timeout: Duration,
    /// Runs while the link is closing, or after writing has failed.
    grace: Option<Pin<Box<Sleep>>>,
    /// Why the link has ended, kept until earlier messages have been delivered.
    end: Option<CloseReason>,
}

impl<S: AsyncRead + AsyncWrite + Send> Inlet for StreamInlet<S> {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        self.drive_writes(cx);
        let already = batch.len();
        let mut noisy_reads = 0;
        while let Some(input) = &mut self.input {
            if noisy_reads == MAX_NOISY_READS {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            match pin!(input.read_buf(self.reader.buffer())).poll(cx) {
                Poll::Ready(Ok(count)) if count > 0 => self.reader.take(batch),
                Poll::Ready(ended) => self.end_of_input(ended.err(), batch),
                Poll::Pending => break,
            }
            self.queue.lock().note_arrived(&batch[already..], self.reader.skipped());
            if batch.len() > already {
                return Poll::Ready(Ok(()));
            }
            noisy_reads += 1;
        }
        if self.end.is_none() {
            ready!(self.poll_grace(cx));
        }
        Poll::Ready(Err(self.report()))
    }
}

impl<S: AsyncRead + AsyncWrite + Send> StreamInlet<S> {
    /// Writes queued bytes. When closing, closes our side of the stream once all are written.
    fn drive_writes(&self, cx: &mut Context<'_>) {
        self.queue.drive(cx);
        let is_done = {
            let state = self.queue.lock();
            state.closing && state.is_drained() || !state.is_open
        };
        if is_done {
            self.queue.hang_up();
        }
    }

    fn end_of_input(&mut self, error: Option<io::Error>, batch: &mut Vec<Inbound>) {
        self.input = None;
        self.reader.finish(batch);
        self.end = Some(match error {
            // A server that closes the connection without a TLS alert.
            Some(error) if error.kind() == io::ErrorKind::UnexpectedEof => CloseReason::Ended,
            Some(error) => CloseReason::failed(&error),
            None => CloseReason::Ended,
        });
    }

    /// Called when nothing has arrived. Ready when the link has to end.
    fn poll_grace(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (closing, is_open) = {
            let state = self.queue.lock();
            (state.closing, state.is_open)
        };
        if !closing && is_open {
            return Poll::Pending;
        }
        let patience = if closing { self.close_timeout } else { READ_GRACE };
        let grace = self.grace.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(grace.as_mut().poll(cx));
        let failure = self.queue.lock().failure.take();
        self.end = Some(failure.unwrap_or(CloseReason::Failed {
            cause: FailureCause::TimedOut,
            reason: "the server did not close its side of the stream".into(),
        }));
        Poll::Ready(())
    }

    fn report(&mut self) -> Box<CloseReport> {
        // After this, no caller is writing, so the number of bytes written is final.
        self.queue.hang_up();
        let diagnostics = self.queue.diagnostics();
        let state = self.queue.lock();
        let reason = match self.end.take() {
            _ if state.closing => CloseReason::Requested,
            Some(reason) => reason,
            None => CloseReason::Ended,
        };
        Box::new(CloseReport { reason, flushed: state.written, diagnostics })
    }
}

impl<S: AsyncWrite> Drop for StreamInlet<S> {
    fn drop(&mut self) {
        self.queue.hang_up();
    }
}
