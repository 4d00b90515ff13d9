//! Both ends in one process: messages change hands, nothing becomes text.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use futures::future::BoxFuture;
use mcp_jsonrpc::Message;

use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics, FrameLog},
    error::{ConnectError, SendError},
    link::{Connect, Inbound, Inlet, Link, Locality, Outlet},
};

/// How many messages may wait in one direction.
const QUEUE: usize = 1024;

/// Two ends of one link. What goes into one comes out of the other.
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
    let (there, back) = (Arc::new(Pipe::default()), Arc::new(Pipe::default()));
    (end(there.clone(), back.clone()), end(back, there))
}

fn end(out: Arc<Pipe>, into: Arc<Pipe>) -> Link {
    Link {
        outlet: Arc::new(PairOutlet { out: out.clone(), into: into.clone() }),
        inlet: Box::new(PairInlet { into, out }),
    }
}

/// A server that lives in this process (`sdk` in configuration files).
///
/// Each connection runs the given function on a task of its own, which ends with the link.
///
/// ```no_run
/// use mcp_transport::InProcess;
///
/// let server = InProcess::new(|link| Box::pin(async move {
///     // Poll `link.inlet`, answer through `link.outlet`.
///     # drop(link);
/// }));
/// ```
pub struct InProcess {
    serve: Box<dyn Fn(Link) -> BoxFuture<'static, ()> + Send + Sync>,
}

impl InProcess {
    /// A server that runs `serve` for every connection.
    pub fn new(serve: impl Fn(Link) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self { serve: Box::new(serve) }
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").finish_non_exhaustive()
    }
}

impl Connect for InProcess {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let (host, server) = pair();
            // The task is the server's; it sees its inlet end when the host's link is dropped.
            tokio::spawn((self.serve)(server));
            Ok(host)
        })
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

/// One direction.
#[derive(Default)]
struct Pipe(Mutex<State>);

#[derive(Default)]
struct State {
    queue: VecDeque<Message>,
    frames: FrameLog,
    sent: u64,
    taken: u64,
    /// The sender is gone or has closed: what is queued is still delivered.
    finished: bool,
    /// The receiver is gone: nothing can be delivered.
    abandoned: bool,
    receiver: Option<Waker>,
    senders: Vec<Waker>,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No more will be sent in this direction.
    fn finish(&self) {
        let wakers = {
            let mut state = self.lock();
            state.finished = true;
            state.all_wakers()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Nothing sent in this direction will be received any more.
    fn abandon(&self) {
        let wakers = {
            let mut state = self.lock();
            state.abandoned = true;
            state.all_wakers()
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn all_wakers(&mut self) -> Vec<Waker> {
        self.senders.drain(..).chain(self.receiver.take()).collect()
    }
}

struct PairOutlet {
    out: Arc<Pipe>,
    into: Arc<Pipe>,
}

impl Outlet for PairOutlet {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let (ticket, receiver) = {
            let mut state = self.out.lock();
            if state.finished || state.abandoned {
                return Err(SendError::Closed);
            }
            if state.queue.len() >= QUEUE && matches!(message, Message::Request(_)) {
                return Err(SendError::Full { limit: QUEUE });
            }
            state.frames.note(true, &message);
            state.queue.push_back(message);
            state.sent += 1;
            (state.sent, state.receiver.take())
        };
        receiver.into_iter().for_each(Waker::wake);
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.out.lock();
        if state.queue.len() < QUEUE || state.finished || state.abandoned {
            return Poll::Ready(());
        }
        state.senders.push(cx.waker().clone());
        Poll::Pending
    }

    fn close(&self) {
        self.out.finish();
        // Our own inlet ends too, once it has delivered what is queued for it.
        self.into.finish();
    }

    fn diagnostics(&self) -> Diagnostics {
        Diagnostics { frames: self.out.lock().frames.frames(), ..Diagnostics::default() }
    }
}

/// The last outlet is gone, so nobody can send any more.
impl Drop for PairOutlet {
    fn drop(&mut self) {
        self.out.finish();
    }
}

struct PairInlet {
    into: Arc<Pipe>,
    out: Arc<Pipe>,
}

impl Inlet for PairInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let senders = {
            let mut state = self.into.lock();
            if state.queue.is_empty() {
                if state.finished {
                    drop(state);
                    return Poll::Ready(Err(self.report()));
                }
                state.receiver = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.taken += state.queue.len() as u64;
            batch.extend(state.queue.drain(..).map(Inbound::Message));
            std::mem::take(&mut state.senders)
        };
        senders.into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(()))
    }
}

impl PairInlet {
    fn report(&self) -> Box<CloseReport> {
        let out = self.out.lock();
        let reason = if out.finished { CloseReason::Requested } else { CloseReason::Ended };
        let mut report = CloseReport::new(reason, out.taken);
        report.diagnostics.frames = out.frames.frames();
        Box::new(report)
    }
}

impl Drop for PairInlet {
    fn drop(&mut self) {
        self.into.abandon();
        // Whoever listens at the other end learns that this end is gone.
        self.out.finish();
    }
}
