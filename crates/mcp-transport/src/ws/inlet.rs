//! The receiving half, whose task also writes, asks whether the server is there, and ends the link.

use std::{
    future::Future as _,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use mcp_jsonrpc::{Line, Trouble};
use tokio::{
    io::AsyncReadExt as _,
    time::{Sleep, sleep},
};

use super::{
    WsOptions,
    closing::{self, Goodbye},
    frames::{Broken, FrameReader, Received},
    handshake::Upgraded,
    liveness::{Alarm, Liveness},
    masks::Kind,
    outlet::Shared,
};
use crate::{
    diagnostics::{CloseReason, CloseReport, Frame},
    lines::Skipped,
    link::{Inbound, Inlet, Link, Outlet as _},
};

/// How long a server that no longer takes anything may go on talking.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(super) fn link(upgraded: Upgraded, options: &WsOptions) -> Link {
    let Upgraded { socket, rest } = upgraded;
    let shared = Arc::new(Shared::new(socket, options.max_queued));
    let liveness =
        options.ping_interval.map(|interval| Liveness::new(interval, options.pong_deadline));
    let inlet = WsInlet {
        shared: shared.clone(),
        reader: FrameReader::new(options.max_message, rest),
        limit: options.max_message,
        skipped: Skipped::default(),
        liveness,
        close_timeout: options.close_timeout,
        has_said_goodbye: false,
        grace: None,
        end: None,
    };
    Link { outlet: shared, inlet: Box::new(inlet) }
}

struct WsInlet {
    shared: Arc<Shared>,
    reader: FrameReader,
    limit: usize,
    skipped: Skipped,
    liveness: Option<Liveness>,
    close_timeout: Duration,
    has_said_goodbye: bool,
    /// Runs once we have closed, or once the server no longer takes what we write.
    grace: Option<Pin<Box<Sleep>>>,
    /// Why the link has ended, kept until what came before has been delivered.
    end: Option<CloseReason>,
}

impl Inlet for WsInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let already = batch.len();
        loop {
            self.take_frames(batch);
            self.say_goodbye();
            self.shared.drive(cx);
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

impl WsInlet {
    /// When we are closing, says so to the server, behind everything else.
    fn say_goodbye(&mut self) {
        if !self.has_said_goodbye && self.shared.lock().closing {
            self.has_said_goodbye = true;
            self.shared.send_control(Kind::Close, &closing::NORMAL);
        }
    }

    /// Reads once. Pending when there is nothing to read.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let read = match self.shared.socket().as_mut() {
            Some(socket) => ready!(pin!(socket.read_buf(self.reader.buffer())).poll(cx)),
            None => Ok(0),
        };
        match read {
            Ok(count) if count > 0 => {
                self.reader.has_read(count);
                if let Some(liveness) = &mut self.liveness {
                    liveness.heard();
                }
            }
            Ok(_) => self.end = Some(CloseReason::Ended),
            // Over TLS, a server that just goes away.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.end = Some(CloseReason::Ended);
            }
            Err(error) => self.end = Some(CloseReason::failed(&error)),
        }
        Poll::Ready(())
    }

    /// Appends every message that is whole, and does what the other frames call for.
    fn take_frames(&mut self, batch: &mut Vec<Inbound>) {
        let (already, mut has_messages) = (batch.len(), false);
        while self.end.is_none() {
            match self.reader.next() {
                Ok(Some(Received::Message(line))) => {
                    has_messages = true;
                    self.sort(line, batch);
                }
                Ok(Some(Received::Ping(payload))) => {
                    self.shared.send_control(Kind::Pong, &payload);
                }
                Ok(Some(Received::Pong)) => {}
                Ok(Some(Received::Close(goodbye))) => self.part(&goodbye),
                Ok(None) => break,
                Err(Broken(problem)) => {
                    self.answer_goodbye(&closing::PROTOCOL_ERROR);
                    let reason = format!("the server breaks the WebSocket protocol: {problem}");
                    self.end = Some(CloseReason::Failed { trouble: Trouble::NotMcp, reason });
                }
            }
        }
        if !has_messages {
            return;
        }
        let mut state = self.shared.lock();
        for frame in batch[already..].iter().filter_map(Frame::arrived) {
            state.frames.push(frame);
        }
        std::mem::take(&mut self.skipped).add_to(&mut state.diagnostics);
    }

    fn sort(&mut self, line: Line, batch: &mut Vec<Inbound>) {
        match line {
            Line::Whole(text) => self.skipped.sort(&text, batch),
            Line::TooLong { length, head, tail } => {
                self.skipped.too_large(length, self.limit, &head, &tail, batch);
            }
        }
    }

    /// The server closes.
    fn part(&mut self, goodbye: &Goodbye) {
        self.shared.lock().diagnostics.close_code = goodbye.code;
        let code = goodbye.code.map(u16::to_be_bytes);
        self.answer_goodbye(code.as_ref().map_or(&[], |code| code.as_slice()));
        self.end = Some(goodbye.reason());
    }

    /// Says goodbye, unless messages wait in front of it: those would count as sent, to a server that has
    /// said that it will not read them.
    fn answer_goodbye(&mut self, code: &[u8]) {
        if !self.has_said_goodbye && self.shared.lock().is_drained() {
            self.has_said_goodbye = true;
            self.shared.send_control(Kind::Close, code);
        }
    }

    /// Nothing arrives. Ready when that calls for something.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (closing, is_open) = {
            let state = self.shared.lock();
            (state.closing, state.is_open)
        };
        if closing || !is_open {
            let patience = if closing { self.close_timeout } else { LAST_WORDS };
            let grace = self.grace.get_or_insert_with(|| Box::pin(sleep(patience)));
            ready!(grace.as_mut().poll(cx));
            let failure = self.shared.lock().failure.take();
            self.end = Some(failure.unwrap_or(CloseReason::Failed {
                trouble: Trouble::TimedOut,
                reason: "the server does not answer our goodbye".into(),
            }));
            return Poll::Ready(());
        }
        let Some(liveness) = &mut self.liveness else { return Poll::Pending };
        match ready!(liveness.poll(cx)) {
            Alarm::Ask => self.shared.send_control(Kind::Ping, b""),
            Alarm::Dead => {
                let reason =
                    format!("the server did not answer a ping within {:?}", liveness.deadline());
                self.end = Some(CloseReason::Failed { trouble: Trouble::TimedOut, reason });
            }
        }
        Poll::Ready(())
    }

    fn report(&mut self, reason: CloseReason) -> Box<CloseReport> {
        // Nobody is writing any more then, so what has been written is known.
        self.shared.hang_up();
        let diagnostics = self.shared.diagnostics();
        let state = self.shared.lock();
        let reason = if state.closing { CloseReason::Requested } else { reason };
        Box::new(CloseReport { reason, flushed: state.flushed, diagnostics })
    }
}

impl Drop for WsInlet {
    fn drop(&mut self) {
        self.shared.hang_up();
    }
}
