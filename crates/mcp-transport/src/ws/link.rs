//! The link over an upgraded connection: its inlet also writes, sends pings, and closes the link.

#[cfg(all(test, mcp_loom))]
mod model;

use std::{
    future::Future as _,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::BytesMut;
use mcp_jsonrpc::FailureCause;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite},
    time::{Sleep, sleep},
};

use super::{
    close::{self, Goodbye},
    frame_reader::{Broken, FrameReader, Received},
    frame_writer::{FrameWriter, Kind},
    keepalive::{Alarm, Keepalive},
    options::WsOptions,
};
use crate::{
    diagnostics::{CloseReason, CloseReport},
    io::{frame_classifier::FrameClassifier, write_queue::WriteQueue},
    link::{Inbound, Inlet, Link, Outlet as _},
};

/// How long reading continues when the server no longer accepts data.
const READ_GRACE: Duration = Duration::from_secs(1);

/// Creates a link over `socket`, on which `rest` has arrived already.
pub(super) fn link<S>(socket: S, rest: BytesMut, options: &WsOptions) -> Link
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let inlet = WsInlet::new(socket, rest, options);
    Link { outlet: inlet.queue.clone(), inlet: Box::new(inlet) }
}

struct WsInlet<S: AsyncWrite + Unpin> {
    queue: Arc<WriteQueue<S, FrameWriter>>,
    reader: FrameReader,
    limit: usize,
    classifier: FrameClassifier,
    keepalive: Option<Keepalive>,
    close_timeout: Duration,
    has_said_goodbye: bool,
    /// Runs after we have closed, or after a write has failed.
    grace: Option<Pin<Box<Sleep>>>,
    /// Why the link has ended, kept until earlier messages have been delivered.
    end: Option<CloseReason>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Inlet for WsInlet<S> {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let already = batch.len();
        loop {
            self.take_frames(batch);
            self.say_goodbye();
            self.queue.drive(cx);
            if batch.len() > already {
                return Poll::Ready(Ok(()));
            }
            if let Some(reason) = self.end.take() {
                return Poll::Ready(Err(self.report(reason)));
            }
            if self.poll_read(cx).is_pending() {
                ready!(self.poll_silence(cx));
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> WsInlet<S> {
    fn new(socket: S, rest: BytesMut, options: &WsOptions) -> Self {
        let keepalive =
            options.ping_interval.map(|interval| Keepalive::new(interval, options.pong_deadline));
        Self {
            queue: Arc::new(WriteQueue::new(socket, FrameWriter::new(), options.max_queued)),
            reader: FrameReader::new(options.max_message, rest),
            limit: options.max_message,
            classifier: FrameClassifier::default(),
            keepalive,
            close_timeout: options.close_timeout,
            has_said_goodbye: false,
            grace: None,
            end: None,
        }
    }

    fn send_control(&self, kind: Kind, payload: &[u8]) {
        self.queue.push_control(|writer, out| writer.write(out, kind, payload));
    }

    /// When closing, queues a close frame after all other frames.
    fn say_goodbye(&mut self) {
        if !self.has_said_goodbye && self.queue.lock().closing {
            self.has_said_goodbye = true;
            self.send_control(Kind::Close, &close::NORMAL);
        }
    }

    /// Reads once. Pending when no data is available.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let read = match self.queue.sink().as_mut() {
            Some(socket) => ready!(pin!(socket.read_buf(self.reader.buffer())).poll(cx)),
            None => Ok(0),
        };
        match read {
            Ok(count) if count > 0 => {
                self.reader.has_read(count);
                if let Some(keepalive) = &mut self.keepalive {
                    keepalive.heard();
                }
            }
            Ok(_) => self.end = Some(CloseReason::Ended),
            // A server that closes the connection without a TLS alert.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.end = Some(CloseReason::Ended);
            }
            Err(error) => self.end = Some(CloseReason::failed(&error)),
        }
        Poll::Ready(())
    }

    /// Appends all complete messages, and handles control frames.
    fn take_frames(&mut self, batch: &mut Vec<Inbound>) {
        let (already, mut has_messages) = (batch.len(), false);
        while self.end.is_none() {
            match self.reader.next() {
                Ok(Some(Received::Message(line))) => {
                    has_messages = true;
                    self.classifier.decode_line(line, self.limit, batch);
                }
                Ok(Some(Received::Ping(payload))) => {
                    self.send_control(Kind::Pong, &payload);
                }
                Ok(Some(Received::Pong)) => {}
                Ok(Some(Received::Close(goodbye))) => self.part(&goodbye),
                Ok(None) => break,
                Err(Broken(problem)) => {
                    self.answer_goodbye(&close::PROTOCOL_ERROR);
                    let reason = format!("the server violated the WebSocket protocol: {problem}");
                    self.end = Some(CloseReason::Failed { cause: FailureCause::NotMcp, reason });
                }
            }
        }
        if !has_messages {
            return;
        }
        self.queue.lock().note_arrived(&batch[already..], &mut self.classifier);
    }

    /// Handles a close frame of the server.
    fn part(&mut self, goodbye: &Goodbye) {
        self.queue.lock().diagnostics.close_code = goodbye.code;
        let code = goodbye.code.map(u16::to_be_bytes);
        self.answer_goodbye(code.as_ref().map_or(&[], |code| code.as_slice()));
        self.end = Some(goodbye.reason());
    }

    /// Sends a close frame, unless messages are queued before it: those would count as sent, although the server has
    /// announced that it will not read them.
    fn answer_goodbye(&mut self, code: &[u8]) {
        if !self.has_said_goodbye && self.queue.lock().is_drained() {
            self.has_said_goodbye = true;
            self.send_control(Kind::Close, code);
        }
    }

    /// Called when nothing has arrived. Ready when an action is required.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (closing, is_open) = {
            let state = self.queue.lock();
            (state.closing, state.is_open)
        };
        if closing || !is_open {
            let patience = if closing { self.close_timeout } else { READ_GRACE };
            let grace = self.grace.get_or_insert_with(|| Box::pin(sleep(patience)));
            ready!(grace.as_mut().poll(cx));
            let failure = self.queue.lock().failure.take();
            self.end = Some(failure.unwrap_or(CloseReason::Failed {
                cause: FailureCause::TimedOut,
                reason: "the server did not complete the closing handshake".into(),
            }));
            return Poll::Ready(());
        }
        let Some(keepalive) = &mut self.keepalive else { return Poll::Pending };
        match ready!(keepalive.poll(cx)) {
            Alarm::Ask => self.send_control(Kind::Ping, b""),
            Alarm::Dead => {
                let reason =
                    format!("the server did not answer a ping within {:?}", keepalive.deadline());
                self.end = Some(CloseReason::Failed { cause: FailureCause::TimedOut, reason });
            }
        }
        Poll::Ready(())
    }

    fn report(&mut self, reason: CloseReason) -> Box<CloseReport> {
        // After this, no caller is writing, so the number of bytes written is final.
        self.queue.hang_up();
        let diagnostics = self.queue.diagnostics();
        let state = self.queue.lock();
        let reason = if state.closing { CloseReason::Requested } else { reason };
        Box::new(CloseReport { reason, flushed: state.written, diagnostics })
    }
}

impl<S: AsyncWrite + Unpin> Drop for WsInlet<S> {
    fn drop(&mut self) {
        self.queue.hang_up();
    }
}
