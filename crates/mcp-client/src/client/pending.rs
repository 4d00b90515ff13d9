//! Calls that have not been sent yet.

use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use mcp_jsonrpc::Failure;

use crate::{error::CallError, options::CallOptions};

/// A call about to be made: await it, or set its [options](Self::with) first.
///
/// Nothing is sent before the first poll, and dropping it cancels a request already sent. Input
/// requests of the server go to the [`Handler`](crate::Handler), and a tool call that becomes a
/// task is followed to its end.
///
/// ```no_run
/// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::CallError> {
/// use std::time::Duration;
/// use mcp_client::CallOptions;
///
/// let usual = client.read_resource("file:///notes.md").await?;
///
/// let options = CallOptions::default().with_total_timeout(Duration::from_secs(5));
/// let quick = client.read_resource("file:///notes.md").with(options).await?;
/// # Ok(()) }
/// ```
///
/// It is a future, so several calls can run concurrently:
///
/// ```no_run
/// # async fn example(client: mcp_client::Client) {
/// use futures::future::join_all;
///
/// let calls = ["file:///a.md", "file:///b.md"].map(|uri| client.read_resource(uri));
/// for result in join_all(calls).await {
///     println!("{:?}", result.map(|read| read.contents.len()));
/// }
/// # }
/// ```
#[must_use = "a call does nothing unless awaited"]
pub struct PendingCall<'a, T> {
    options: CallOptions,
    call: Pin<Box<dyn Call<T> + Send + 'a>>,
}

impl<'a, T> PendingCall<'a, T> {
    pub(crate) fn new<S, F>(start: S) -> Self
    where
        S: FnOnce(CallOptions) -> F + Send + 'a,
        F: Future<Output = Result<T, CallError>> + Send + 'a,
    {
        let call = Box::pin(Stage::Planned { start: Some(start) });
        Self { options: CallOptions::default(), call }
    }

    /// Sets the options of the call. Has no effect once the call has been polled.
    pub fn with(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }
}

impl<T> Future for PendingCall<'_, T> {
    type Output = Result<T, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.call.as_mut().poll(&mut this.options, cx)
    }
}

impl<T> fmt::Debug for PendingCall<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall").finish_non_exhaustive()
    }
}

/// A future that receives its options on its first poll.
trait Call<T> {
    fn poll(
        self: Pin<&mut Self>,
        options: &mut CallOptions,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, CallError>>;
}

pin_project_lite::pin_project! {
    /// Both stages of a call in one allocation.
    #[project = StageProjection]
    enum Stage<S, F> {
        Planned { start: Option<S> },
        Running { #[pin] future: F },
    }
}

impl<S, F, T> Call<T> for Stage<S, F>
where
    S: FnOnce(CallOptions) -> F,
    F: Future<Output = Result<T, CallError>>,
{
    fn poll(
        mut self: Pin<&mut Self>,
        options: &mut CallOptions,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, CallError>> {
        if let StageProjection::Planned { start } = self.as_mut().project() {
            // `None` only if `start` panicked.
            let Some(start) = start.take() else {
                return Poll::Ready(Err(Failure::Cancelled.into()));
            };
            let future = start(mem::take(options));
            self.set(Self::Running { future });
        }
        match self.project() {
            StageProjection::Running { future } => future.poll(cx),
            StageProjection::Planned { .. } => Poll::Ready(Err(Failure::Cancelled.into())),
        }
    }
}
