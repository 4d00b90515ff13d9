//! A reader that ends on request, so that requests read before are still answered.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use mcp_types::BoxFuture;
use tokio::io::{AsyncRead, ReadBuf};

/// Reads from another reader until `end` becomes true.
pub(crate) struct Until<'a, R> {
    input: R,
    end: Option<BoxFuture<'a, ()>>,
}

impl<'a, R> Until<'a, R> {
    pub(crate) fn new(input: R, end: impl Future<Output = ()> + Send + 'a) -> Self {
        Self { input, end: Some(Box::pin(end)) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Until<'_, R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(end) = &mut self.end else { return Poll::Ready(Ok(())) };
        if end.as_mut().poll(cx).is_ready() {
            self.end = None;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.input).poll_read(cx, buffer)
    }
}
