//! The sockets that receive the redirect of a browser.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    task::{Context, Poll},
};

use tokio::net::{TcpListener, TcpStream};

use crate::{
    error::InteractError,
    interact::redirect::{Loopback, RedirectUri},
};

/// The path of the redirect URL unless a fixed one is configured.
const PATH: &str = "/callback";
/// The number of attempts to find a port that is free at both addresses.
const TRIES: usize = 8;

/// The listening sockets of one login.
pub(super) struct LoopbackListener {
    listeners: Vec<TcpListener>,
    /// The redirect URL sent to the authorization server.
    pub(super) uri: String,
    pub(super) origin: String,
    /// The only path that is served.
    pub(super) path: String,
}

impl LoopbackListener {
    /// Listens on `port`, or on any free port if it is 0. A port in `fixed` has precedence.
    pub(super) async fn open(
        fixed: Option<&RedirectUri>,
        port: u16,
    ) -> Result<Self, InteractError> {
        let Some(fixed) = fixed else {
            let listener = bind(Ipv4Addr::LOCALHOST, port).await?;
            let origin = format!("http://127.0.0.1:{}", port_of(&listener)?);
            let (uri, path) = (format!("{origin}{PATH}"), PATH.to_owned());
            return Ok(Self { listeners: vec![listener], uri, origin, path });
        };
        let loopback = fixed.loopback().ok_or(InteractError::Elsewhere)?;
        // Without a port, any port is allowed: https://www.rfc-editor.org/rfc/rfc8252#section-7.3
        let port = fixed.port().unwrap_or(port);
        let listeners = match loopback {
            Loopback::Address(address) => vec![bind(address, port).await?],
            Loopback::Name => both(port).await?,
        };
        let bound = listeners.first().map_or(Ok(port), port_of)?;
        let (uri, origin) = fixed.at_port(bound);
        Ok(Self { listeners, uri, origin, path: fixed.path().to_owned() })
    }

    /// Accepts the next connection at any of the sockets.
    pub(super) fn poll_accept(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let mut accepted = self.listeners.iter().map(|listener| listener.poll_accept(cx));
        accepted.find(Poll::is_ready).unwrap_or(Poll::Pending)
    }
}

/// Binds one port at both loopback addresses: a browser may resolve a host name to either, and another program that
/// listens at the other one would receive the code.
async fn both(port: u16) -> Result<Vec<TcpListener>, InteractError> {
    let mut tries = if port == 0 { TRIES } else { 1 };
    loop {
        let first = bind(Ipv4Addr::LOCALHOST, port).await?;
        tries -= 1;
        match bind(Ipv6Addr::LOCALHOST, port_of(&first)?).await {
            Ok(second) => return Ok(vec![first, second]),
            Err(InteractError::Listen(error)) if error.kind() == io::ErrorKind::AddrInUse => {
                if tries == 0 {
                    return Err(InteractError::Listen(error));
                }
            }
            // This machine has no IPv6 loopback address, so no browser connects there.
            Err(_) => return Ok(vec![first]),
        }
    }
}

async fn bind(address: impl Into<IpAddr>, port: u16) -> Result<TcpListener, InteractError> {
    TcpListener::bind((address.into(), port)).await.map_err(InteractError::Listen)
}

fn port_of(listener: &TcpListener) -> Result<u16, InteractError> {
    Ok(listener.local_addr().map_err(InteractError::Listen)?.port())
}
