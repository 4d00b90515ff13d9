//! Records the traffic of any link.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::{Delivery, ErrorClass, FailureCause, Loss, Message, RequestId};

use super::cassette::{Cassette, Entry, Event};
use crate::{
    diagnostics::{CloseReport, Diagnostics},
    error::{ConnectError, SendError},
    link::{CancelBy, Connect, Inbound, Inlet, Link, Locality, Outlet},
};

/// Wraps a transport and records the traffic of its links in a [`Cassette`].
///
/// ```
/// use mcp_transport::{Connect, record::Recorder, testing::parity};
/// use mcp_jsonrpc::{Message, Request};
/// # use {mcp_transport::InProcess, std::future::poll_fn};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let recorder = Recorder::new(InProcess::new(parity::serve));
/// let mut link = recorder.connect().await.unwrap();
/// link.outlet.send(Message::Request(Request::new(1, "parity/echo", None))).unwrap();
/// # let mut batch = Vec::new();
/// # poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.unwrap();
/// // … and after the response:
/// assert_eq!(recorder.cassette().to_string(), concat!(
///     r#"{"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"parity/echo"}}"#, "\n",
///     r#"{"link":1,"in":{"jsonrpc":"2.0","id":1,"result":null}}"#, "\n",
/// ));
/// # });
/// ```
pub struct Recorder {
    connect: Box<dyn Connect>,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Default)]
struct Tape {
    cassette: Cassette,
    links: u64,
}

impl Recorder {
    /// Records the links of `connect`.
    pub fn new(connect: impl Connect + 'static) -> Self {
        Self { connect: Box::new(connect), tape: Arc::default() }
    }

    /// Returns the recording so far.
    pub fn cassette(&self) -> Cassette {
        lock(&self.tape).cassette.clone()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Connect for Recorder {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let Link { outlet, inlet } = self.connect.connect().await?;
            let number = {
                let mut tape = lock(&self.tape);
                tape.links += 1;
                tape.links
            };
            let track = Track { tape: self.tape.clone(), number };
            Ok(Link {
                outlet: Arc::new(RecordedOutlet { outlet, track: track.clone() }),
                inlet: Box::new(RecordedInlet { inlet, track }),
            })
        })
    }

    fn locality(&self) -> Locality {
        self.connect.locality()
    }
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the events of one link to the recording.
#[derive(Clone)]
struct Track {
    tape: Arc<Mutex<Tape>>,
    number: u64,
}

impl Track {
    fn entry(&self, event: Event) -> Entry {
        Entry { link: self.number, event }
    }
}

struct RecordedOutlet {
    outlet: Arc<dyn Outlet>,
    track: Track,
}

impl Outlet for RecordedOutlet {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let entry = self.track.entry(Event::Out(message.clone()));
        // Held during the send, or a fast response could be recorded before its request.
        let mut tape = lock(&self.track.tape);
        let ticket = self.outlet.send(message)?;
        tape.cassette.entries.push(entry);
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.outlet.poll_ready(cx)
    }

    fn cancel(&self, id: &RequestId) -> CancelBy {
        self.outlet.cancel(id)
    }

    fn close(&self) {
        self.outlet.close();
    }

    fn diagnostics(&self) -> Diagnostics {
        self.outlet.diagnostics()
    }
}

/// Converts a received item into an event that can be recorded.
fn heard(inbound: &Inbound) -> Event {
    Event::In(match inbound.clone().read() {
        Inbound::Reply(reply) => {
            let (delivery, class) = (Delivery::Executed, ErrorClass::Permanent);
            let loss = Loss::new(delivery, class, FailureCause::NotMcp, "its answer was malformed");
            Inbound::Lost { id: reply.id().clone(), failure: loss.into() }
        }
        other => other,
    })
}

struct RecordedInlet {
    inlet: Box<dyn Inlet>,
    track: Track,
}

impl Inlet for RecordedInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        let already = batch.len();
        let news = self.inlet.poll_recv(cx, batch);
        if let Poll::Ready(news) = &news {
            let arrived = batch[already..].iter().map(heard);
            let end = news.as_ref().err().map(|report| Event::End(report.reason.clone()));
            let mut tape = lock(&self.track.tape);
            tape.cassette.entries.extend(arrived.chain(end).map(|event| self.track.entry(event)));
        }
        news
    }
}
