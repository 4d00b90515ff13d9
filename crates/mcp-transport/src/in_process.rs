//! A transport within one process: messages are moved, not serialized.

#[cfg(all(test, mcp_loom))]
mod model;
mod pair;
mod pipe;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::future::BoxFuture;
use tokio::{task::AbortHandle, time::Sleep};

pub use self::pair::pair;
use self::pair::{PairInlet, served_pair};
use crate::{
    diagnostics::CloseReport,
    error::ConnectError,
    link::{Connect, Inbound, Inlet, Link, Locality},
    setters::setters,
};

/// Options for a server within this process.
///
/// ```
/// use mcp_transport::InProcessOptions;
///
/// let mut options = InProcessOptions::default();
/// options.through_text = true; // find out what a real wire would make of these messages
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InProcessOptions {
    /// The largest response to accept. Default 64 MiB.
    pub max_message: usize,
    /// Whether messages are serialized and parsed in transit, for tests. Default no: they are moved.
    pub through_text: bool,
    /// How long a server may run after its input has ended. Default 2 s.
    pub after_close: Duration,
}

impl Default for InProcessOptions {
    fn default() -> Self {
        Self { max_message: 64 << 20, through_text: false, after_close: Duration::from_secs(2) }
    }
}

/// A server within this process (`sdk` in configuration files).
///
/// Each connection runs the given function on a new task, which does not outlive the link: it is aborted when the
/// link is dropped, and when it runs for too long after a close.
///
/// ```no_run
/// use mcp_transport::InProcess;
///
/// let server = InProcess::new(|link| Box::pin(async move {
///     // Poll `link.inlet`, respond through `link.outlet`.
///     # drop(link);
/// }));
/// ```
pub struct InProcess {
    serve: Box<dyn Fn(Link) -> BoxFuture<'static, ()> + Send + Sync>,
    options: InProcessOptions,
}

impl InProcess {
    /// A server that runs `serve` for every connection.
    pub fn new(serve: impl Fn(Link) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self::with_options(serve, InProcessOptions::default())
    }

    /// A server that runs `serve` for every connection, with these options.
    pub fn with_options(
        serve: impl Fn(Link) -> BoxFuture<'static, ()> + Send + Sync + 'static,
        options: InProcessOptions,
    ) -> Self {
        Self { serve: Box::new(serve), options }
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Connect for InProcess {
    /// # Panics
    /// When polled outside a tokio runtime.
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let (outlet, inlet, server) = served_pair(&self.options);
            let task = tokio::spawn((self.serve)(server)).abort_handle();
            let inlet =
                ServedInlet { inlet, task, after_close: self.options.after_close, patience: None };
            Ok(Link { outlet, inlet: Box::new(inlet) })
        })
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

/// The host's end, which owns the server's task.
struct ServedInlet {
    inlet: PairInlet,
    task: AbortHandle,
    after_close: Duration,
    /// Runs after a close by the host, until the server ends.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Inlet for ServedInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        if let Poll::Ready(news) = self.inlet.poll_recv(cx, batch) {
            return Poll::Ready(news);
        }
        if !self.inlet.is_closing() {
            return Poll::Pending;
        }
        let after_close = self.after_close;
        let patience =
            self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(after_close)));
        ready!(patience.as_mut().poll(cx));
        self.task.abort();
        Poll::Ready(Err(self.inlet.report(false)))
    }
}

impl Drop for ServedInlet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

setters! { InProcessOptions {
    with_max_message => max_message: usize,
    with_through_text => through_text: bool,
    with_after_close => after_close: Duration,
}}
