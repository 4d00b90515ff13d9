//! Reads, prompts and completions before they are made.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::future::BoxFuture;

use crate::{error::CallError, options::CallOptions};

/// A read, a prompt or a completion about to be made: await it, or give it [options](Self::with) first.
///
/// Nothing is sent before it is polled, and dropping it cancels on the wire what has been sent.
///
/// ```no_run
/// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::CallError> {
/// use std::time::Duration;
/// use mcp_client::CallOptions;
///
/// let usual = client.read_resource("file:///notes.md").await?;
///
/// let mut options = CallOptions::default();
/// options.total_timeout = Some(Duration::from_secs(5));
/// let quick = client.read_resource("file:///notes.md").with(options).await?;
/// # Ok(()) }
/// ```
#[must_use = "a call does nothing unless awaited"]
pub struct PlainCall<'a, T>(Stage<'a, T>);

enum Stage<'a, T> {
    Planned {
        options: CallOptions,
        start: Start<'a, T>,
    },
    Running(BoxFuture<'a, Result<T, CallError>>),
    /// Only while it moves from one stage to the next.
    Between,
}

type Start<'a, T> =
    Box<dyn FnOnce(CallOptions) -> BoxFuture<'a, Result<T, CallError>> + Send + Sync + 'a>;

impl<'a, T> PlainCall<'a, T> {
    pub(crate) fn new<F>(start: impl FnOnce(CallOptions) -> F + Send + Sync + 'a) -> Self
    where
        F: Future<Output = Result<T, CallError>> + Send + 'a,
    {
        let start: Start<'a, T> = Box::new(|options| Box::pin(start(options)));
        Self(Stage::Planned { options: CallOptions::default(), start })
    }

    /// Makes the call with these options. One that is under way already goes on as it is.
    pub fn with(mut self, options: CallOptions) -> Self {
        if let Stage::Planned { options: planned, .. } = &mut self.0 {
            *planned = options;
        }
        self
    }
}

impl<T> Future for PlainCall<'_, T> {
    type Output = Result<T, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut running = match std::mem::replace(&mut self.0, Stage::Between) {
            Stage::Planned { options, start } => start(options),
            Stage::Running(running) => running,
            // Only a call that panicked when it was last polled is left like this.
            Stage::Between => return Poll::Ready(Err(CallError::Cancelled)),
        };
        let outcome = running.as_mut().poll(cx);
        self.0 = Stage::Running(running);
        outcome
    }
}

impl<T> fmt::Debug for PlainCall<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_planned = matches!(self.0, Stage::Planned { .. });
        f.debug_struct("PlainCall").field("is_planned", &is_planned).finish_non_exhaustive()
    }
}
