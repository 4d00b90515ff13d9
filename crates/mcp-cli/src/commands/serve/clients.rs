//! Counts the connections that clients open to a listening gateway.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use mcp_bridge::tool::BoxFuture;
use mcp_server::http::{Connection, Listen, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::journal::{Client, Journal};

/// A listener whose connections are recorded.
pub(super) struct Recorded<L> {
    pub(super) inner: L,
    pub(super) journal: Arc<Journal>,
}

impl<L: Listen> Listen for Recorded<L> {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>> {
        Box::pin(async {
            let Connection { stream, peer, .. } = self.inner.accept().await?;
            let from = peer.map_or_else(|| "the Unix socket".to_owned(), |peer| peer.to_string());
            let client = self.journal.client(&from);
            Ok(Connection::new(RecordedStream { inner: stream, _client: client }, peer))
        })
    }
}

struct RecordedStream {
    inner: Box<dyn Stream>,
    /// Says that the client has left, when the connection is closed.
    _client: Client,
}

impl AsyncRead for RecordedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl AsyncWrite for RecordedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
