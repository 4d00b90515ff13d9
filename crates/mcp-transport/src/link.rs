//! The two halves of a link, and what opens one.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::{Failure, Message, RawJson, Reply, RequestId};

use crate::{
    diagnostics::{CloseReport, Diagnostics},
    error::{ConnectError, SendError},
};

/// Opens links to one server. Every transport is one of these, and so is every test double.
pub trait Connect: Send + Sync {
    /// Opens a fresh link.
    ///
    /// # Cancel safety
    /// A dropped attempt leaves no process or socket behind.
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>>;

    /// Whether a connection costs this machine a process or only a socket, which decides how
    /// many are opened at once.
    fn locality(&self) -> Locality;
}

/// A shared way to a server is a way to it.
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
    /// On this machine, started by us.
    Local,
    /// Somewhere else, or at least not ours to start.
    Remote,
}

/// An open way to a server.
#[expect(clippy::exhaustive_structs, reason = "hosts build their own")]
pub struct Link {
    /// Where messages leave.
    pub outlet: Arc<dyn Outlet>,
    /// Where messages arrive. Dropping it ends the link at once, without ceremony.
    pub inlet: Box<dyn Inlet>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// The sending half of a link. Callers share it, and none of its methods waits.
pub trait Outlet: Send + Sync {
    /// Takes a message for sending, and returns its ticket: tickets grow, and a message has left
    /// when [`CloseReport::flushed`] has reached its ticket.
    ///
    /// # Errors
    /// [`SendError::Full`] when too much is waiting already: see [`poll_ready`](Self::poll_ready).
    /// Notifications and answers are taken even then, since nobody could wait for them, up to a
    /// multiple of that limit: a server that asks and asks and never reads must not fill memory.
    fn send(&self, message: Message) -> Result<u64, SendError>;

    /// Ready when there is room for another request.
    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()>;

    /// Nobody waits for the answer to `id` any more. Says how the server learns of it.
    fn cancel(&self, id: &RequestId) -> CancelBy {
        let _ = id;
        CancelBy::Notification
    }

    /// Whether every request has an answer of its own, as over HTTP. Where it has none, as on a pipe,
    /// silence after a question no old server knows means an old server.
    fn answers_each_request(&self) -> bool {
        false
    }

    /// Tells the link of a tool of a modern server: some arguments travel in headers too, where a link
    /// has headers.
    ///
    /// # Errors
    /// What is wrong with the annotations of its schema. Such a tool must not be offered.
    fn learn_tool(&self, name: &str, input_schema: &RawJson) -> Result<(), String> {
        let _ = (name, input_schema);
        Ok(())
    }

    /// Starts an orderly end. The inlet goes on until it reports the end itself.
    fn close(&self);

    /// What is known so far, for people who want to know what is going on.
    fn diagnostics(&self) -> Diagnostics;
}

/// How a server learns that a request is no longer wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the link does it or the caller does")]
pub enum CancelBy {
    /// By a notification, which the caller sends.
    Notification,
    /// By the link itself, which has just done so.
    Link,
}

/// The receiving half of a link. One task owns and polls it, which also drives its writing.
pub trait Inlet: Send {
    /// Appends what has arrived to `batch`, at least one item, or reports how the link ended.
    ///
    /// Messages already on their way are delivered before the report. After the report the
    /// inlet is done and must not be polled again.
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>>;
}

/// Something that came out of a link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Inbound {
    /// A message from the other side.
    Message(Message),
    /// An answer that has only been recognised: whoever called reads it.
    Reply(Reply),
    /// The link lost one request of ours or its answer; everything else goes on.
    Lost {
        /// The request.
        id: RequestId,
        /// What to tell the caller.
        failure: Failure,
    },
}

impl Inbound {
    /// Reads an answer that has only been recognised, for those who deal in messages. One that turns
    /// out to be none stays as it is.
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
