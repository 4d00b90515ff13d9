//! The two halves of a link, and the trait that opens one.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::{Failure, Message, RawJson, RequestId, wire::Reply};

use crate::{
    diagnostics::{CloseReport, Diagnostics, Frame},
    error::{ConnectError, SendError, ToolHeaderError},
};

/// Opens links to one server. Implemented by every transport and test double.
pub trait Connect: Send + Sync {
    /// Opens a new link.
    ///
    /// # Cancel safety
    /// A dropped attempt leaves no process or socket behind.
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>>;

    /// Whether a connection needs a process on this machine or only a socket. Determines how many are opened at once.
    fn locality(&self) -> Locality;
}

/// A shared transport is a transport.
impl<C: Connect + ?Sized> Connect for Arc<C> {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        (**self).connect()
    }

    fn locality(&self) -> Locality {
        (**self).locality()
    }
}

/// Where a server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "here or elsewhere")]
pub enum Locality {
    /// On this machine, started by this process.
    Local,
    /// Elsewhere, or not started by this process.
    Remote,
}

/// An open connection to a server.
#[expect(clippy::exhaustive_structs, reason = "hosts build their own")]
pub struct Link {
    /// The sending half.
    pub outlet: Arc<dyn Outlet>,
    /// The receiving half. Dropping it ends the link immediately, without an orderly shutdown.
    pub inlet: Box<dyn Inlet>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// The sending half of a link. Callers share it, and none of its methods blocks.
pub trait Outlet: Send + Sync {
    /// Accepts a message for sending and returns its ticket. Tickets increase, and a message has been sent when
    /// [`CloseReport::flushed`] has reached its ticket.
    ///
    /// # Errors
    /// [`SendError::Full`] when too much is queued already: see [`poll_ready`](Self::poll_ready). Notifications and
    /// responses, which are sent without waiting, are accepted up to a multiple of that limit: a server that sends
    /// requests and never reads must not exhaust memory.
    fn send(&self, message: Message) -> Result<u64, SendError>;

    /// Ready when there is capacity for another request.
    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()>;

    /// Cancels the request `id`. Returns how the server is notified.
    fn cancel(&self, id: &RequestId) -> CancelBy {
        let _ = id;
        CancelBy::Notification
    }

    /// Whether each request gets a separate response from the transport, as over HTTP. Otherwise, as on a pipe,
    /// silence after a request that only modern servers support indicates a legacy server.
    fn answers_each_request(&self) -> bool {
        false
    }

    /// Registers a tool of a modern server with the link. Over HTTP, some of its arguments are repeated in headers.
    ///
    /// # Errors
    /// The annotations of its schema are invalid. Such a tool must not be offered.
    fn register_header_params(
        &self,
        name: &str,
        input_schema: &RawJson,
    ) -> Result<(), ToolHeaderError> {
        let _ = (name, input_schema);
        Ok(())
    }

    /// Starts an orderly shutdown. The inlet continues until it reports the end.
    fn close(&self);

    /// Returns the diagnostics so far.
    fn diagnostics(&self) -> Diagnostics;
}

/// How a server is notified that a request is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the link does it or the caller does")]
pub enum CancelBy {
    /// By a notification, which the caller sends.
    Notification,
    /// By the link, which has already done so.
    Link,
}

/// The receiving half of a link. One task owns and polls it, which also drives its writes.
pub trait Inlet: Send {
    /// Appends the items that have arrived to `batch`, at least one, or reports how the link ended.
    ///
    /// Messages already in transit are delivered before the report. After the report, the inlet must not be polled
    /// again.
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>>;
}

/// An item received from a link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Inbound {
    /// A message from the peer.
    Message(Message),
    /// A response that is only recognized. The caller of the request parses it.
    Reply(Reply),
    /// The link lost one request of ours or its response; other requests are not affected.
    Lost {
        /// The request.
        id: RequestId,
        /// The failure for the caller.
        failure: Failure,
    },
}

impl Inbound {
    /// Returns the record of a received message, or `None` for a lost request.
    pub(crate) fn frame(&self) -> Option<Frame> {
        match self {
            Inbound::Message(message) => Some(Frame::of(false, message)),
            Inbound::Reply(reply) => Some(Frame::of_reply(reply)),
            Inbound::Lost { .. } => None,
        }
    }

    /// Parses a response that is only recognized, for code that works with messages. A malformed one is returned
    /// unchanged.
    #[must_use]
    pub fn read(self) -> Self {
        match self {
            Inbound::Reply(reply) => match reply.clone().into_message() {
                Some(message) => Inbound::Message(message),
                None => Inbound::Reply(reply),
            },
            other => other,
        }
    }
}
