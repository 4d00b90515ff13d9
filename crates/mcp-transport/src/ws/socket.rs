//! A connection over TCP, with TLS or without.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use mcp_jsonrpc::{ErrorClass, Trouble};
use rustls::{AlertDescription, ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpSocket, TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{address::Address, refused};
use crate::{error::ConnectError, trouble};

#[derive(Debug)]
pub(super) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Socket {
    /// Connects to `address`, which is secure where there is a `tls` config. Each of its IP addresses
    /// gets its share of `patience`, so that a dead one does not use up all of it.
    pub(super) async fn open(
        address: &Address,
        tls: Option<Arc<ClientConfig>>,
        send_buffer: Option<u32>,
        patience: Duration,
    ) -> Result<Self, ConnectError> {
        let problem = |trouble, why: String| ConnectError::Unreachable {
            trouble,
            reason: format!("{address}: {why}"),
        };
        let unknown = |why| problem(Trouble::UnknownHost, why);
        let found = lookup_host((address.host.as_str(), address.port)).await;
        let found: Vec<SocketAddr> =
            found.map_err(|error| unknown(format!("the host is not known: {error}")))?.collect();
        if found.is_empty() {
            return Err(unknown("the host has no address".to_owned()));
        }
        let share = patience / u32::try_from(found.len()).unwrap_or(u32::MAX);
        let mut stream = Err(io::ErrorKind::TimedOut.into());
        for address in found {
            stream = match timeout(share, connect(address, send_buffer)).await {
                Ok(stream) => stream,
                Err(_) => Err(io::ErrorKind::TimedOut.into()),
            };
            if stream.is_ok() {
                break;
            }
        }
        let stream = stream.map_err(|error| failed(address, &error))?;
        let Some(config) = tls else { return Ok(Self::Plain(stream)) };
        let name = ServerName::try_from(address.host.clone())
            .map_err(|_| problem(Trouble::Tls, "no certificate can name this host".to_owned()))?;
        let stream = TlsConnector::from(config).connect(name, stream).await;
        Ok(Self::Tls(Box::new(stream.map_err(|error| failed(address, &error))?)))
    }
}

/// What to say of a connection that failed before it was one. Where one side does not trust the other,
/// neither will change its mind by itself.
pub(super) fn failed(address: &Address, error: &io::Error) -> ConnectError {
    let trouble = trouble::of(error);
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let what = if cause.is_some() { "TLS failed: " } else { "" };
    let reason = format!("{address}: {what}{error}");
    match cause {
        None | Some(rustls::Error::AlertReceived(AlertDescription::InternalError)) => {
            ConnectError::Unreachable { trouble, reason }
        }
        Some(_) => refused(ErrorClass::Permanent, trouble, reason),
    }
}

async fn connect(address: SocketAddr, send_buffer: Option<u32>) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(size) = send_buffer {
        socket.set_send_buffer_size(size)?;
    }
    // Messages are written whole, so there is nothing to wait for.
    socket.set_nodelay(true)?;
    socket.connect(address).await
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Socket::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
