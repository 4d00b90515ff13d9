//! Listening sockets that accept connections.

use std::{fmt, io, net::IpAddr};

use mcp_types::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};

/// A source of connections for [`HttpServer::serve`](crate::http::HttpServer::serve): a [`TcpListener`], a
/// [`UnixSocket`](crate::http::UnixSocket), or a type of the host, such as a TLS listener.
pub trait Listen: Send {
    /// Waits for the next connection.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) and [`NotConnected`](io::ErrorKind::NotConnected) end the
    /// server. After other errors it continues to accept.
    ///
    /// # Cancel safety
    /// No connection may be lost when the future is dropped.
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>>;
}

/// A bidirectional byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// An accepted connection.
#[non_exhaustive]
pub struct Connection {
    /// The byte stream.
    pub stream: Box<dyn Stream>,
    /// The client's address, for the limit per peer. `None` is exempt from the limit.
    pub peer: Option<IpAddr>,
}

impl Connection {
    /// A connection from this address.
    pub fn new(stream: impl Stream + 'static, peer: Option<IpAddr>) -> Self {
        Self { stream: Box::new(stream), peer }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Listen for TcpListener {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>> {
        Box::pin(async {
            let (stream, address) = Self::accept(self).await?;
            // Send small events without delay.
            let _ = stream.set_nodelay(true);
            Ok(Connection::new(stream, Some(address.ip())))
        })
    }
}
