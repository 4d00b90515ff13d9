//! Links with injected faults.

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
    io::wakers::Waiters,
    link::{Connect, Inbound, Link, Locality, Outlet},
};

/// Wraps a transport and injects the faults of a [`Plan`] into its links.
///
/// Delays use tokio's clock, so a test that pauses it does not wait.
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
    /// Injects the faults of `plan` into the links of `connect`. Each link starts at the beginning of the plan.
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

/// The state that both halves of a link share.
struct Shared {
    inner: Arc<dyn Outlet>,
    state: Mutex<State>,
}

struct State {
    out: Channel<Outgoing>,
    into: Channel<Inbound>,
    fate: Fate,
    /// The methods of the host's pending requests, and of the server's.
    asked: Methods,
    asks: Methods,
    /// For each message accepted from the host, the inner link's ticket: `None` if it was not sent, and zero if it
    /// was dropped by a fault, which the host must not notice.
    tickets: Vec<Option<u64>>,
    closing: bool,
    driver: Option<Waker>,
    waiting: Waiters,
}

/// A message and its ticket.
#[derive(Clone)]
struct Outgoing {
    ticket: usize,
    message: Message,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    /// No message moves.
    Stalled,
    /// The server closes the link, as planned.
    Closing,
    /// The report was delivered, or the inlet was dropped.
    Ended,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Converts the report of the inner link to the tickets of this link.
    fn report(&mut self, inner: CloseReport) -> Box<CloseReport> {
        let left = |ticket: &Option<u64>| ticket.is_some_and(|ticket| ticket <= inner.flushed);
        // Of two reordered messages, the earlier one may not have been sent. Reporting it as sent is safer than
        // reporting the later one as not sent.
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

    /// Applies the effect of a message to the whole link.
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

/// The methods of pending requests, to find the method of a response.
#[derive(Default)]
struct Methods(HashMap<RequestId, String>);

impl Methods {
    fn ask(&mut self, message: &Message) {
        if let Message::Request(request) = message {
            self.0.insert(request.id.clone(), request.method.to_string());
        }
    }

    /// Returns the method of `message`, or that of its request if it is a response.
    fn of(&mut self, message: &Message) -> Option<String> {
        match message {
            Message::Response(response) => response.id.as_ref().and_then(|id| self.0.remove(id)),
            other => other.method().map(str::to_owned),
        }
    }
}
