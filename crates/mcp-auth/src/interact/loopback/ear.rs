//! The sockets at which the answer of a browser is heard.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    task::{Context, Poll},
};

use tokio::net::{TcpListener, TcpStream};

use super::super::{
    InteractError,
    redirect::{Here, RedirectUri},
};

/// Where answers go if nobody says otherwise.
const PATH: &str = "/callback";
/// How often a free port is looked for that is free at both addresses.
const TRIES: usize = 8;

/// Listens for one login.
pub(super) struct Ear {
    listeners: Vec<TcpListener>,
    /// What the authorization server is told.
    pub(super) uri: String,
    pub(super) origin: String,
    /// The only path that is answered.
    pub(super) path: String,
}

impl Ear {
    /// Listens at `port`, or at any free one if it is 0. What `fixed` says comes first.
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
        let here = fixed.here().ok_or(InteractError::Elsewhere)?;
        // RFC 8252 §7.3: without a port, any one will do.
        let port = fixed.port().unwrap_or(port);
        let listeners = match here {
            Here::Address(address) => vec![bind(address, port).await?],
            Here::Name => both(port).await?,
        };
        let heard = listeners.first().map_or(Ok(port), port_of)?;
        let (uri, origin) = fixed.at_port(heard);
        Ok(Self { listeners, uri, origin, path: fixed.path().to_owned() })
    }

    /// The next connection, at whichever socket.
    pub(super) fn poll_accept(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let mut heard = self.listeners.iter().map(|listener| listener.poll_accept(cx));
        heard.find(Poll::is_ready).unwrap_or(Poll::Pending)
    }
}

/// Both loopback addresses at one port: a browser may take a name for either, and whoever else listened at
/// the other one would hear the answer.
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
            // There is no such address here, so no browser goes there.
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
