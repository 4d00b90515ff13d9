//! Servers behind a byte stream: one message per line.

mod link;
#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;

use std::{fmt, io, time::Duration};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::FailureCause;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    cause,
    error::ConnectError,
    link::{Connect, Link, Locality},
    setters::setters,
};

/// A server behind a byte stream: a socket, an SSH channel, a pipe of another program.
///
/// Messages are lines, as over standard input and output. The function is called for each connection. Combine two
/// separate halves with `tokio::io::join`.
///
/// ```
/// use mcp_transport::{Connect, Streams};
/// use tokio::net::TcpStream;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let address = listener.local_addr()?;
/// let server = Streams::new(move || async move { TcpStream::connect(address).await });
/// let link = server.connect().await?;
/// # drop(link);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Streams {
    open: Box<Open>,
    options: StreamOptions,
}

/// Opens a stream and creates a link over it.
type Open = dyn Fn(&StreamOptions) -> BoxFuture<'static, io::Result<Link>> + Send + Sync;

/// Options of a link over a byte stream. Every field has a default.
///
/// ```
/// use mcp_transport::StreamOptions;
///
/// let options = StreamOptions::default().with_max_message(1 << 20);
/// assert_eq!(options.close_timeout.as_secs(), 2);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamOptions {
    /// The longest message to accept, in bytes. Default 64 MiB.
    pub max_message: usize,
    /// How many bytes may be queued for a server that does not read. Default 64 MiB.
    pub max_queued: usize,
    /// The time limit for opening a connection. Default 30 s.
    pub connect_timeout: Duration,
    /// How long the server may take to end its side of the stream after ours is closed. Default 2 s.
    pub close_timeout: Duration,
    /// Whether a connection needs a process on this machine or only a socket. Default: a socket.
    pub locality: Locality,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            max_message: 64 << 20,
            max_queued: 64 << 20,
            connect_timeout: Duration::from_secs(30),
            close_timeout: Duration::from_secs(2),
            locality: Locality::Remote,
        }
    }
}

setters! { StreamOptions {
    with_max_message => max_message: usize,
    with_max_queued => max_queued: usize,
    with_connect_timeout => connect_timeout: Duration,
    with_close_timeout => close_timeout: Duration,
    with_locality => locality: Locality,
}}

impl Streams {
    /// A transport to the server that `open` connects to. It is not called yet.
    pub fn new<S, F, Fut>(open: F) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<S>> + Send + 'static,
    {
        Self::with_options(open, StreamOptions::default())
    }

    /// The same with options.
    pub fn with_options<S, F, Fut>(open: F, options: StreamOptions) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<S>> + Send + 'static,
    {
        let open = move |options: &StreamOptions| -> BoxFuture<'static, io::Result<Link>> {
            let (stream, options) = (open(), options.clone());
            Box::pin(async move { Ok(link::link(stream.await?, &options)) })
        };
        Self { open: Box::new(open), options }
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Connect for Streams {
    /// # Panics
    /// When polled outside a tokio runtime with time.
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let limit = self.options.connect_timeout;
            match tokio::time::timeout(limit, (self.open)(&self.options)).await {
                Ok(Ok(link)) => Ok(link),
                Ok(Err(error)) => Err(ConnectError::Unreachable {
                    cause: cause::of(&error),
                    reason: format!("could not open the stream: {error}"),
                }),
                Err(_) => Err(ConnectError::Unreachable {
                    cause: FailureCause::TimedOut,
                    reason: format!("the stream was not open within {limit:?}"),
                }),
            }
        })
    }

    fn locality(&self) -> Locality {
        self.options.locality
    }
}
