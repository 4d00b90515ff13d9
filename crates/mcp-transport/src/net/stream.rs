//! The byte stream of a connection over TCP, a Unix socket or TLS.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

pub(crate) struct Stream {
    socket: Socket,
    /// The other end is a proxy that forwards requests.
    to_proxy: bool,
}

enum Socket {
    Tcp(TokioIo<TcpStream>),
    #[cfg(unix)]
    Unix(TokioIo<tokio::net::UnixStream>),
    /// TLS over any of these, including TLS: a proxy reached over TLS may lead to a server that requires TLS too.
    Tls(Box<TokioIo<TlsStream<TokioIo<Stream>>>>),
}

impl Stream {
    pub(super) fn tcp(stream: TokioIo<TcpStream>) -> Self {
        Self { socket: Socket::Tcp(stream), to_proxy: false }
    }

    #[cfg(unix)]
    pub(super) fn unix(stream: tokio::net::UnixStream) -> Self {
        Self { socket: Socket::Unix(TokioIo::new(stream)), to_proxy: false }
    }

    pub(super) fn tls(stream: TlsStream<TokioIo<Stream>>) -> Self {
        Self { socket: Socket::Tls(Box::new(TokioIo::new(stream))), to_proxy: false }
    }

    /// Marks the stream as connected to a proxy.
    pub(super) fn leading_to_proxy(self) -> Self {
        Self { to_proxy: true, ..self }
    }

    /// The underlying stream.
    fn socket(self: Pin<&mut Self>) -> Pin<&mut dyn ReadWrite> {
        match &mut self.get_mut().socket {
            Socket::Tcp(stream) => Pin::new(stream),
            #[cfg(unix)]
            Socket::Unix(stream) => Pin::new(stream),
            Socket::Tls(stream) => Pin::new(&mut **stream),
        }
    }
}

trait ReadWrite: Read + Write + Unpin {}

impl<T: Read + Write + Unpin> ReadWrite for T {}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.to_proxy);
        match &self.socket {
            Socket::Tls(stream) if stream.inner().get_ref().1.alpn_protocol() == Some(b"h2") => {
                connected.negotiated_h2()
            }
            _ => connected,
        }
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.socket().poll_read(cx, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.socket().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.socket {
            Socket::Tcp(stream) => stream.is_write_vectored(),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.is_write_vectored(),
            Socket::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.socket().poll_write_vectored(cx, bytes)
    }
}
