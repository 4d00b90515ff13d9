//! Progress reports as a stream: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress>.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use mcp_jsonrpc::Progress;

use crate::options::CallOptions;

/// How many reports are kept for a slow reader. Newer reports replace older ones.
const KEPT: usize = 64;

/// The stream of a call's progress reports. It ends with the call.
///
/// ```no_run
/// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::CallError> {
/// use futures::StreamExt;
/// use mcp_client::{CallOptions, ProgressStream};
///
/// let mut options = CallOptions::default();
/// let mut progress = ProgressStream::of(&mut options);
/// let call = client.call_tool("build", &()).with(options);
/// tokio::spawn(async move {
///     while let Some(report) = progress.next().await {
///         eprintln!("{} of {:?}", report.progress, report.total);
///     }
/// });
/// let result = call.await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ProgressStream(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    reports: VecDeque<Progress>,
    waker: Option<Waker>,
    ended: bool,
}

impl ProgressStream {
    /// Creates the stream of the call made with `options`. Replaces an earlier progress callback.
    pub fn of(options: &mut CallOptions) -> Self {
        let queue = Arc::new(Mutex::new(Queue::default()));
        let feed = Feed(queue.clone());
        options.on_progress = Some(Arc::new(move |report| feed.push(report)));
        Self(queue)
    }
}

impl Stream for ProgressStream {
    type Item = Progress;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Progress>> {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match queue.reports.pop_front() {
            Some(report) => Poll::Ready(Some(report)),
            None if queue.ended => Poll::Ready(None),
            None => {
                queue.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The sending half. The call's options own it, so that the stream ends with the call.
struct Feed(Arc<Mutex<Queue>>);

impl Feed {
    fn push(&self, report: Progress) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.reports.len() == KEPT {
            queue.reports.pop_front();
        }
        queue.reports.push_back(report);
        let waker = queue.waker.take();
        drop(queue);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.ended = true;
        let waker = queue.waker.take();
        drop(queue);
        waker.into_iter().for_each(Waker::wake);
    }
}
