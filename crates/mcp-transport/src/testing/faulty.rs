//! Links that go wrong on purpose.

mod channel;
mod inlet;
mod outlet;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::{Message, RequestId};

use self::{
    channel::{Channel, Effect},
    inlet::FaultyInlet,
};
use super::fault::Plan;
use crate::{
    diagnostics::{CloseReason, CloseReport, Diagnostics},
    error::ConnectError,
    link::{Connect, Inbound, Link, Locality, Outlet},
    waiters::Waiters,
};

/// Wraps a transport whose links then go wrong as a [`Plan`] says.
///
/// Delays follow tokio's clock, so a test that pauses it does not wait.
///
/// ```
/// use mcp_transport::{Connect, InProcess, testing::{Fault, Faulty, Plan, When, parity}};
/// use mcp_jsonrpc::{Message, Request};
/// use std::future::poll_fn;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let plan = Plan::new().incoming(When::Nth(1), Fault::Duplicate);
/// let mut link = Faulty::new(InProcess::new(parity::serve), plan).connect().await.unwrap();
/// link.outlet.send(Message::Request(Request::new(1, "parity/echo", None))).unwrap();
/// let mut batch = Vec::new();
/// poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.unwrap();
/// assert_eq!(batch.len(), 2);
/// # });
/// ```
pub struct Faulty {
    connect: Box<dyn Connect>,
    plan: Plan,
}

impl Faulty {
    /// Has the links of `connect` go wrong as `plan` says, each from the plan's start.
    pub fn new(connect: impl Connect + 'static, plan: Plan) -> Self {
        Self { connect: Box::new(connect), plan }
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Connect for Faulty {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let Link { outlet, inlet } = self.connect.connect().await?;
            let Plan { outgoing, incoming, seed } = self.plan.clone();
            let state = State {
                out: Channel::new(outgoing, seed),
                into: Channel::new(incoming, !seed),
                fate: Fate::Open,
                asked: Methods::default(),
                asks: Methods::default(),
                tickets: Vec::new(),
                closing: false,
                driver: None,
                waiting: Waiters::default(),
            };
            let shared = Arc::new(Shared { inner: outlet, state: Mutex::new(state) });
            let inlet = FaultyInlet::new(inlet, shared.clone());
            Ok(Link { outlet: shared, inlet: Box::new(inlet) })
        })
    }

    fn locality(&self) -> Locality {
        self.connect.locality()
    }
}

/// What both halves of a link share.
struct Shared {
    inner: Arc<dyn Outlet>,
    state: Mutex<State>,
}

struct State {
    out: Channel<Outgoing>,
    into: Channel<Inbound>,
    fate: Fate,
    /// The methods of the host's requests, and of the server's.
    asked: Methods,
    asks: Methods,
    /// For each message taken from the host, the inner link's ticket: none if it has not left, and
    /// zero if it has been lost on purpose, which the host is not to notice.
    tickets: Vec<Option<u64>>,
    closing: bool,
    driver: Option<Waker>,
    waiting: Waiters,
}

/// A message with the number we gave it.
#[derive(Clone)]
struct Outgoing {
    ticket: usize,
    message: Message,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    /// Nothing moves.
    Stalled,
    /// The server goes, by the plan.
    Closing,
    /// The report is out, or nobody is left to hear it.
    Ended,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The inner link's news of its end, in terms of our own tickets.
    fn report(&mut self, inner: CloseReport) -> Box<CloseReport> {
        let left = |ticket: &Option<u64>| ticket.is_some_and(|ticket| ticket <= inner.flushed);
        // Of messages that changed places the earlier may not have left. Better to doubt that than
        // to claim of the later that it has not.
        let flushed = self.tickets.iter().rposition(left).map_or(0, |last| last + 1);
        let reason = if self.closing {
            CloseReason::Requested
        } else if self.fate == Fate::Closing {
            CloseReason::Ended
        } else {
            inner.reason.clone()
        };
        self.fate = Fate::Ended;
        let mut report = CloseReport::new(reason, flushed as u64);
        report.diagnostics = self.diagnostics(inner.diagnostics);
        Box::new(report)
    }

    /// Lets the whole link feel what a message did to it.
    fn suffer(&mut self, effect: Effect) {
        match effect {
            Effect::None => {}
            Effect::Close => self.fate = Fate::Closing,
            Effect::Stall => {
                self.fate = Fate::Stalled;
                self.out.stall();
                self.into.stall();
            }
        }
    }

    fn diagnostics(&self, mut inner: Diagnostics) -> Diagnostics {
        inner.skipped_lines += self.out.noise + self.into.noise;
        inner
    }
}

/// Which methods the requests under way are of, so that answers can be told by method too.
#[derive(Default)]
struct Methods(HashMap<RequestId, String>);

impl Methods {
    fn ask(&mut self, message: &Message) {
        if let Message::Request(request) = message {
            self.0.insert(request.id.clone(), request.method.to_string());
        }
    }

    /// The method of `message`, which answers one of these if it is an answer.
    fn of(&mut self, message: &Message) -> Option<String> {
        match message {
            Message::Response(response) => response.id.as_ref().and_then(|id| self.0.remove(id)),
            other => other.method().map(str::to_owned),
        }
    }
}
