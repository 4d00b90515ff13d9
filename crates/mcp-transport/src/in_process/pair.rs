//! The two ends of a link within one process.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use mcp_jsonrpc::{FailureCause, Message};

use super::{
    InProcessOptions,
    pipe::{Ended, Pipe},
};
use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics, Frame, FrameLog},
    error::SendError,
    link::{Inbound, Inlet, Link, Outlet},
};

/// Creates the two ends of a link. Messages sent on one end are received on the other.
///
/// An end that closes does not wait for the other end: its inlet delivers the queued messages and reports the close.
///
/// ```
/// use mcp_jsonrpc::{Message, Notification};
/// use mcp_transport::{Inbound, pair};
/// use std::{future::poll_fn, task::Poll};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (host, mut server) = pair();
/// let hello = Message::Notification(Notification::new("hello", None));
/// host.outlet.send(hello.clone())?;
/// let mut batch = Vec::new();
/// poll_fn(|cx| server.inlet.poll_recv(cx, &mut batch)).await.unwrap();
/// assert_eq!(batch, [Inbound::Message(hello)]);
/// # Ok::<(), mcp_transport::SendError>(()) }).unwrap();
/// ```
pub fn pair() -> (Link, Link) {
    let (there, back) = (Pipe::new(usize::MAX, false), Pipe::new(usize::MAX, false));
    let (there, back) = (Arc::new(there), Arc::new(back));
    let (outlet, inlet) = end(there.clone(), back.clone(), false);
    let (other_outlet, other_inlet) = end(back, there, false);
    let link = |outlet, inlet| Link { outlet, inlet: Box::new(inlet) };
    (link(outlet, inlet), link(other_outlet, other_inlet))
}

/// Returns the host's end in its halves, and the server's end.
pub(super) fn served_pair(options: &InProcessOptions) -> (Arc<dyn Outlet>, PairInlet, Link) {
    let there = Arc::new(Pipe::new(usize::MAX, options.through_text));
    let back = Arc::new(Pipe::new(options.max_message, options.through_text));
    let (outlet, inlet) = end(there.clone(), back.clone(), true);
    let (theirs, server) = end(back, there, false);
    (outlet, inlet, Link { outlet: theirs, inlet: Box::new(server) })
}

fn end(out: Arc<Pipe>, into: Arc<Pipe>, waits: bool) -> (Arc<dyn Outlet>, PairInlet) {
    let account = Arc::new(Account { waits, ..Account::default() });
    let outlet = PairOutlet { out: out.clone(), into: into.clone(), account: account.clone() };
    (Arc::new(outlet), PairInlet { into, out, account })
}

/// The state that both halves of one end share.
#[derive(Debug, Default)]
struct Account {
    frames: Mutex<FrameLog>,
    /// This end has closed, as opposed to the other one.
    closing: AtomicBool,
    /// Whether a close waits for the other end to end.
    waits: bool,
}

impl Account {
    fn note(&self, frame: Frame) {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
    }

    fn diagnostics(&self, into: &Pipe) -> Diagnostics {
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner).frames();
        Diagnostics { frames, ..into.diagnostics() }
    }
}

struct PairOutlet {
    out: Arc<Pipe>,
    into: Arc<Pipe>,
    account: Arc<Account>,
}

impl Outlet for PairOutlet {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let frame = Frame::of(true, &message);
        let ticket = self.out.send(message)?;
        self.account.note(frame);
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.out.poll_ready(cx)
    }

    fn close(&self) {
        self.account.closing.store(true, Ordering::Release);
        self.out.finish();
        if self.account.waits { self.into.nudge() } else { self.into.finish() }
    }

    fn diagnostics(&self) -> Diagnostics {
        self.account.diagnostics(&self.into)
    }
}

/// The last outlet is dropped, so no further message can be sent.
impl Drop for PairOutlet {
    fn drop(&mut self) {
        self.out.finish();
    }
}

/// The receiving half of one end.
pub(super) struct PairInlet {
    into: Arc<Pipe>,
    out: Arc<Pipe>,
    account: Arc<Account>,
}

impl PairInlet {
    pub(super) fn is_closing(&self) -> bool {
        self.account.closing.load(Ordering::Acquire)
    }

    pub(super) fn report(&self, panicked: bool) -> Box<CloseReport> {
        let reason = if self.is_closing() {
            CloseReason::Requested
        } else if panicked {
            CloseReason::Failed {
                cause: FailureCause::Other,
                reason: "the other end panicked".into(),
            }
        } else {
            CloseReason::Ended
        };
        // The host has waited for the server to end, so its queued messages cannot be received any more. A server
        // without further input may still send, so its messages stay queued.
        let flushed = if self.account.waits { self.out.withdraw() } else { self.out.flushed() };
        let mut report = CloseReport::new(reason, flushed);
        report.diagnostics = self.account.diagnostics(&self.into);
        Box::new(report)
    }
}

impl Inlet for PairInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let already = batch.len();
        self.into.poll_take(cx, batch).map(|taken| {
            batch[already..].iter().filter_map(Inbound::frame).for_each(|f| self.account.note(f));
            taken.map_err(|Ended { panicked }| self.report(panicked))
        })
    }
}

impl Drop for PairInlet {
    fn drop(&mut self) {
        self.into.abandon();
        // Ends the receiver at the other end.
        self.out.finish();
    }
}
