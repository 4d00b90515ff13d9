//! Servers behind a WebSocket: one message a text frame, credentials in the upgrade.

mod address;
mod closing;
mod frames;
#[cfg(feature = "__fuzz")]
pub(crate) mod fuzz;
mod handshake;
mod inlet;
mod liveness;
mod masks;
mod outlet;
mod socket;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::{Delivery, ErrorClass, Loss, Trouble};
use rustls::ClientConfig;

use self::{address::Address, handshake::Refusal};
use crate::{
    authorize::{AuthFailure, Authorize, Credentials, Target},
    challenge::Challenge,
    error::ConnectError,
    link::{Connect, Link, Locality},
    tls::TlsOptions,
};

/// How to reach one server over a WebSocket.
///
/// ```
/// use mcp_transport::WsOptions;
/// use std::time::Duration;
///
/// let mut options = WsOptions::new("wss://example.com/mcp?key=s3cret");
/// options.headers.push(("x-team".into(), "compilers".into()));
/// options.ping_interval = Some(Duration::from_secs(10));
/// assert!(!format!("{options:?}").contains("s3cret"));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct WsOptions {
    /// Where it is: `ws://` or `wss://`. `Debug` and errors leave out the query.
    pub url: String,
    /// Headers of the upgrade. `Debug` shows their names only.
    pub headers: Vec<(String, String)>,
    /// Gives the upgrade its credentials, and hears of a refusal. Default none.
    pub authorizer: Option<Arc<dyn Authorize>>,
    /// Whom to trust over `wss://`, and who we are.
    pub tls: TlsOptions,
    /// The largest message to accept. Default 64 MiB. A larger one fails its own call only.
    pub max_message: usize,
    /// How many bytes may wait for a server that does not read. Default 64 MiB.
    pub max_queued: usize,
    /// How long a connection may take, from the name to the upgrade, each time it is tried. The
    /// authorizer's time does not count. Default 30 s.
    pub connect_timeout: Duration,
    /// How long the server may be silent before it is asked whether it is there. Default 30 s; none
    /// never asks.
    pub ping_interval: Option<Duration>,
    /// How long it may take to show a sign of life then. Default 20 s.
    pub pong_deadline: Duration,
    /// How long a server may go on after we have closed. Default 2 s.
    pub close_timeout: Duration,
    /// How much the system may hold for a server that does not read: what it holds counts as sent when
    /// the link ends. Default what the system thinks best.
    pub send_buffer: Option<u32>,
}

impl WsOptions {
    /// The server at this URL, with defaults for everything else.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            authorizer: None,
            tls: TlsOptions::default(),
            max_message: 64 << 20,
            max_queued: 64 << 20,
            connect_timeout: Duration::from_secs(30),
            ping_interval: Some(Duration::from_secs(30)),
            pong_deadline: Duration::from_secs(20),
            close_timeout: Duration::from_secs(2),
            send_buffer: None,
        }
    }
}

impl fmt::Debug for WsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = Address::parse(&self.url).map_or_else(|_| "..".into(), |url| url.to_string());
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("WsOptions")
            .field("url", &url)
            .field("headers", &headers)
            .field("authorizer", &self.authorizer.is_some())
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

/// A server behind a WebSocket.
///
/// MCP has no official binding for it. Ours is that of the first SDKs: the subprotocol `mcp`, which a
/// server may ignore, and one message a text frame. Binary frames that hold messages are taken too.
///
/// ```no_run
/// use mcp_transport::{Connect, StaticHeaders, Ws, WsOptions};
/// use std::sync::Arc;
///
/// # async fn connect() -> Result<(), mcp_transport::ConnectError> {
/// let mut options = WsOptions::new("wss://example.com/mcp");
/// options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
/// let link = Ws::new(options).connect().await?;
/// # drop(link); Ok(()) }
/// ```
pub struct Ws {
    options: WsOptions,
    /// Made for the first connection: it may take reading all of the system's certificates.
    tls: OnceLock<Arc<ClientConfig>>,
}

impl Ws {
    /// The server that `options` describe. Nothing is checked or opened yet.
    pub fn new(options: WsOptions) -> Self {
        Self { options, tls: OnceLock::new() }
    }

    async fn open(&self) -> Result<Link, ConnectError> {
        let options = &self.options;
        let address = Address::parse(&options.url)?;
        let tls = if address.is_secure { Some(self.tls()?) } else { None };
        let mut has_been_challenged = false;
        loop {
            let credentials = self.credentials().await?;
            let upgrade = handshake::upgrade(&address, options, tls.clone(), &credentials);
            let challenge = match tokio::time::timeout(options.connect_timeout, upgrade).await {
                Ok(Ok(upgraded)) => return Ok(inlet::link(upgraded, options)),
                Ok(Err(Refusal::Other(error))) => return Err(error),
                Ok(Err(Refusal::Challenged(challenge))) => challenge,
                Err(_) => {
                    let patience = options.connect_timeout;
                    let reason = format!("{address}: no connection within {patience:?}");
                    return Err(ConnectError::Unreachable { trouble: Trouble::TimedOut, reason });
                }
            };
            match &options.authorizer {
                Some(authorizer) if !has_been_challenged => {
                    has_been_challenged = true;
                    authorizer.challenged(&challenge).await.map_err(no_credentials)?;
                }
                _ => return Err(turned_away(&address, &challenge)),
            }
        }
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, ConnectError> {
        if let Some(config) = self.tls.get() {
            return Ok(config.clone());
        }
        let mut config = self.options.tls.client_config()?;
        // A server of many protocols must not choose HTTP/2, where an upgrade is another thing.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(self.tls.get_or_init(|| Arc::new(config)).clone())
    }

    async fn credentials(&self) -> Result<Credentials, ConnectError> {
        match &self.options.authorizer {
            None => Ok(Credentials::default()),
            Some(authorizer) => {
                let target = Target::new("GET", &self.options.url);
                authorizer.credentials(target).await.map_err(no_credentials)
            }
        }
    }
}

impl fmt::Debug for Ws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ws").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Connect for Ws {
    /// # Panics
    /// When polled outside a tokio runtime with time and I/O.
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(self.open())
    }

    fn locality(&self) -> Locality {
        Locality::Remote
    }
}

fn refused(class: ErrorClass, trouble: Trouble, reason: String) -> ConnectError {
    ConnectError::Refused(Box::new(Loss::new(Delivery::NotSent, class, trouble, reason)))
}

fn no_credentials(failure: AuthFailure) -> ConnectError {
    refused(failure.class, Trouble::Credentials, failure.message)
}

/// Nobody has other credentials to offer.
fn turned_away(address: &Address, challenge: &Challenge) -> ConnectError {
    let (class, what) = match challenge.status {
        401 => (ErrorClass::Auth, "authentication failed: the server wants a login"),
        _ if challenge.param("error") == Some("insufficient_scope") => {
            (ErrorClass::Auth, "authentication failed: the login does not cover this")
        }
        // About the path or about us, whatever we log in with: frameworks send it for paths that they
        // do not know.
        _ => (ErrorClass::Permanent, "the server does not allow this"),
    };
    let trouble = match class {
        ErrorClass::Auth => Trouble::Credentials,
        _ => Trouble::Status(challenge.status),
    };
    refused(class, trouble, format!("{address}: {what} (status {})", challenge.status))
}
