//! Replays a recording to a host.

mod key;
mod reel;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::Message;

use self::reel::Reel;
use super::cassette::Cassette;
use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics, FrameLog},
    error::{ConnectError, SendError},
    link::{Connect, Inbound, Inlet, Link, Locality, Outlet},
};

/// A transport that replays a [`Cassette`]: the first link replays the first recorded link, and so on.
///
/// A request matches a recorded one with the same method and params. Ids and progress tokens may differ, and are
/// mapped. Trace context and the client's description (name, version, capabilities, log level) are not compared. The
/// server's messages are released in the recorded order, each as soon as the host has sent every request and every
/// response that came before it in the recording. Notifications from the host are accepted but not waited for. A
/// request that is not in the recording gets a JSON-RPC error that says so.
///
/// ```
/// use mcp_transport::{Connect, record::Replay};
/// use mcp_jsonrpc::{Message, Request};
/// use std::future::poll_fn;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let replay = Replay::new(r#"
///     {"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"ping"}}
///     {"link":1,"in":{"jsonrpc":"2.0","id":1,"result":{}}}
/// "#.parse()?);
/// let mut link = replay.connect().await.unwrap();
/// link.outlet.send(Message::Request(Request::new(77, "ping", None))).unwrap();
/// let mut batch = Vec::new();
/// poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.unwrap();
/// assert_eq!(batch.len(), 1); // the response to 77
/// # Ok::<(), mcp_transport::record::CassetteError>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Replay {
    cassette: Cassette,
    opened: AtomicU64,
}

impl Replay {
    /// Replays `cassette`.
    pub fn new(cassette: Cassette) -> Self {
        Self { cassette, opened: AtomicU64::new(0) }
    }
}

impl Connect for Replay {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
            let links = self.cassette.links();
            if number > links {
                let reason =
                    format!("the cassette holds {links} connections, and this is {number}");
                return Err(ConnectError::Unavailable(reason));
            }
            let state = State { reel: Reel::new(self.cassette.link(number)), ..State::default() };
            let player = Arc::new(Player(Mutex::new(state)));
            Ok(Link { outlet: player.clone(), inlet: Box::new(ReplayInlet(player)) })
        })
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

/// One link that is being replayed.
struct Player(Mutex<State>);

#[derive(Default)]
struct State {
    reel: Reel,
    sent: u64,
    frames: FrameLog,
    closing: bool,
    ended: bool,
    receiver: Option<Waker>,
}

impl Player {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").finish_non_exhaustive()
    }
}

impl Outlet for Player {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let (ticket, receiver) = {
            let mut state = self.lock();
            if state.closing || state.ended {
                return Err(SendError::Closed);
            }
            state.sent += 1;
            state.frames.note(true, &message);
            state.reel.receive(message);
            (state.sent, state.receiver.take())
        };
        receiver.into_iter().for_each(Waker::wake);
        Ok(ticket)
    }

    fn poll_ready(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn close(&self) {
        let receiver = {
            let mut state = self.lock();
            state.closing = true;
            state.receiver.take()
        };
        receiver.into_iter().for_each(Waker::wake);
    }

    fn diagnostics(&self) -> Diagnostics {
        Diagnostics { frames: self.lock().frames.frames(), ..Diagnostics::default() }
    }
}

struct ReplayInlet(Arc<Player>);

impl Inlet for ReplayInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let mut guard = self.0.lock();
        let state = &mut *guard;
        let already = batch.len();
        while let Some(inbound) = state.reel.next() {
            if let Inbound::Message(message) = &inbound {
                state.frames.note(false, message);
            }
            batch.push(inbound);
        }
        if batch.len() > already {
            return Poll::Ready(Ok(()));
        }
        let reason = match state.reel.end() {
            _ if state.closing => CloseReason::Requested,
            Some(reason) => reason,
            None => {
                state.receiver = Some(cx.waker().clone());
                return Poll::Pending;
            }
        };
        state.ended = true;
        let mut report = CloseReport::new(reason, state.sent);
        report.diagnostics.frames = state.frames.frames();
        Poll::Ready(Err(Box::new(report)))
    }
}

impl Drop for ReplayInlet {
    fn drop(&mut self) {
        self.0.lock().ended = true;
    }
}
