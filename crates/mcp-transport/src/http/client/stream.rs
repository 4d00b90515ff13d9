//! The bytes of a connection, whatever it goes over.

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

pub(super) struct Stream {
    way: Way,
    /// Whoever is at the other end passes requests on.
    to_proxy: bool,
}

enum Way {
    Tcp(TokioIo<TcpStream>),
    #[cfg(unix)]
    Unix(TokioIo<tokio::net::UnixStream>),
    /// Over any of these, itself included: a proxy reached with TLS leads to a server that wants it too.
    Tls(Box<TokioIo<TlsStream<TokioIo<Stream>>>>),
}

impl Stream {
    pub(super) fn tcp(stream: TokioIo<TcpStream>) -> Self {
        Self { way: Way::Tcp(stream), to_proxy: false }
    }

    #[cfg(unix)]
    pub(super) fn unix(stream: tokio::net::UnixStream) -> Self {
        Self { way: Way::Unix(TokioIo::new(stream)), to_proxy: false }
    }

    pub(super) fn tls(stream: TlsStream<TokioIo<Stream>>) -> Self {
        Self { way: Way::Tls(Box::new(TokioIo::new(stream))), to_proxy: false }
    }

    /// The same, known to lead to a proxy.
    pub(super) fn leading_to_proxy(self) -> Self {
        Self { to_proxy: true, ..self }
    }

    /// What it goes over.
    fn way(self: Pin<&mut Self>) -> Pin<&mut dyn ReadWrite> {
        match &mut self.get_mut().way {
            Way::Tcp(stream) => Pin::new(stream),
            #[cfg(unix)]
            Way::Unix(stream) => Pin::new(stream),
            Way::Tls(stream) => Pin::new(&mut **stream),
        }
    }
}

trait ReadWrite: Read + Write + Unpin {}

impl<T: Read + Write + Unpin> ReadWrite for T {}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.to_proxy);
        match &self.way {
            Way::Tls(stream) if stream.inner().get_ref().1.alpn_protocol() == Some(b"h2") => {
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
        self.way().poll_read(cx, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.way().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.way().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.way().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.way {
            Way::Tcp(stream) => stream.is_write_vectored(),
            #[cfg(unix)]
            Way::Unix(stream) => stream.is_write_vectored(),
            Way::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.way().poll_write_vectored(cx, bytes)
    }
}
