//! One direction between the two ends of an in-process link.

use std::{
    collections::VecDeque,
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use mcp_jsonrpc::{Failure, Message};

use crate::{
    diagnostics::Diagnostics,
    error::SendError,
    io::line_reader::LineReader,
    io::wakers::{Waiters, Woken},
    link::Inbound,
    sync::{Mutex, MutexGuard},
};

/// How many messages may be queued before requests are refused. Loom explores all interleavings with one.
const QUEUE: usize = if cfg!(all(test, mcp_loom)) { 1 } else { 1024 };
/// How many may be queued before all messages are refused, which bounds memory when a sender ignores `poll_ready`.
const OVERFULL: usize = 16 * QUEUE;

/// A queue of messages. Its sender and its receiver may be dropped at any time.
#[derive(Debug)]
pub(super) struct Pipe {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Inbound>,
    /// Parses the messages again if they are serialized in transit.
    reader: Option<LineReader>,
    diagnostics: Diagnostics,
    sent: u64,
    taken: u64,
    /// The sender is dropped or has closed. Queued messages are still delivered.
    finished: bool,
    /// The sender was dropped during a panic.
    panicked: bool,
    /// The receiver is dropped: no more messages can be delivered.
    abandoned: bool,
    receiver: Option<Waker>,
    senders: Waiters,
}

impl Pipe {
    /// A pipe for responses of at most `limit` bytes, moved or serialized (`through_text`).
    pub(super) fn new(limit: usize, through_text: bool) -> Self {
        let reader = through_text.then(|| LineReader::new(limit));
        Self { limit, state: Mutex::new(State { reader, ..State::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, message: Message) -> Result<u64, SendError> {
        let (ticket, receiver) = {
            let mut state = self.lock();
            if state.finished || state.abandoned {
                return Err(SendError::Closed);
            }
            let room = if matches!(message, Message::Request(_)) { QUEUE } else { OVERFULL };
            if state.queue.len() >= room {
                return Err(SendError::Full { limit: room });
            }
            state.push(message, self.limit);
            state.sent += 1;
            (state.sent, state.receiver.take())
        };
        receiver.into_iter().for_each(Waker::wake);
        Ok(ticket)
    }

    pub(super) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.queue.len() < QUEUE || state.finished || state.abandoned {
            return Poll::Ready(());
        }
        state.senders.add(cx);
        Poll::Pending
    }

    /// Appends all queued messages. Returns `Err` once no more can arrive.
    pub(super) fn poll_take(
        &self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Ended>> {
        let woken = {
            let mut state = self.lock();
            if state.queue.is_empty() {
                if state.finished {
                    return Poll::Ready(Err(Ended { panicked: state.panicked }));
                }
                state.receiver = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.taken = state.sent;
            batch.extend(state.queue.drain(..));
            state.senders.take()
        };
        woken.wake();
        Poll::Ready(Ok(()))
    }

    /// Ends this direction: no more messages will be sent.
    pub(super) fn finish(&self) {
        let woken = {
            let mut state = self.lock();
            state.finished = true;
            // A panic is visible here as a drop during unwinding.
            state.panicked |= std::thread::panicking();
            state.everybody()
        };
        woken.wake();
    }

    /// Ends this direction: no more messages will be received.
    pub(super) fn abandon(&self) {
        let woken = {
            let mut state = self.lock();
            state.abandoned = true;
            state.queue.clear();
            state.everybody()
        };
        woken.wake();
    }

    /// Wakes the receiver.
    pub(super) fn nudge(&self) {
        let receiver = self.lock().receiver.take();
        receiver.into_iter().for_each(Waker::wake);
    }

    /// Returns the last ticket that was received or may still be.
    pub(super) fn flushed(&self) -> u64 {
        let state = self.lock();
        if state.abandoned { state.taken } else { state.sent }
    }

    /// Removes the messages that were not received yet, and returns the last ticket that was received.
    pub(super) fn withdraw(&self) -> u64 {
        let (taken, woken) = {
            let mut state = self.lock();
            state.finished = true;
            state.queue.clear();
            (state.taken, state.everybody())
        };
        woken.wake();
        taken
    }

    pub(super) fn diagnostics(&self) -> Diagnostics {
        self.lock().diagnostics.clone()
    }
}

/// The sender has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) panicked: bool,
}

impl State {
    fn push(&mut self, message: Message, limit: usize) {
        if let Some(reader) = &mut self.reader {
            let mut text = Vec::new();
            message.write(&mut text);
            text.push(b'\n');
            let mut arrived = Vec::new();
            // In chunks, as text arrives from a pipe or a socket.
            for piece in text.chunks(4 << 10) {
                reader.buffer().extend_from_slice(piece);
                reader.take(&mut arrived);
            }
            reader.skipped().report_to(&mut self.diagnostics);
            self.queue.extend(arrived);
            return;
        }
        let size = contents(&message);
        if size <= limit {
            self.queue.push_back(Inbound::Message(message));
            return;
        }
        self.diagnostics.too_large += 1;
        if let Message::Response(response) = message
            && let Some(id) = response.id
        {
            let failure = Failure::TooLarge { size, limit };
            self.queue.push_back(Inbound::Lost { id, failure });
        }
    }

    fn everybody(&mut self) -> Woken {
        self.senders.take().and(self.receiver.take())
    }
}

/// The size of a message's content, without the envelope, which is never serialized here.
fn contents(message: &Message) -> usize {
    let size = |raw: &mcp_jsonrpc::RawJson| raw.as_bytes().len();
    match message {
        Message::Request(request) => request.params.as_ref().map_or(0, size),
        Message::Notification(notification) => notification.params.as_ref().map_or(0, size),
        Message::Response(response) => match &response.outcome {
            Ok(result) => size(result),
            Err(error) => error.message.len() + error.data.as_ref().map_or(0, size),
        },
    }
}
