//! The options of a server behind a WebSocket.

use std::{fmt, sync::Arc, time::Duration};

use hyper_util::client::proxy::matcher::Matcher;

use super::address::Address;
use crate::{
    authorize::Authorize,
    error::ConnectError,
    net::{
        connector::{Connector, ConnectorOptions},
        tls::TlsOptions,
    },
    setters::setters,
};

/// How to connect to one server over a WebSocket.
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
    /// The URL: `ws://` or `wss://`. `Debug` and errors omit the query.
    pub url: String,
    /// Headers of the upgrade. `Debug` shows their names only.
    pub headers: Vec<(String, String)>,
    /// Supplies the credentials of the upgrade, and handles challenges. Default none.
    pub authorizer: Option<Arc<dyn Authorize>>,
    /// Trusted certificate authorities and the client certificate for `wss://`.
    pub tls: TlsOptions,
    /// The largest message to accept. Default 64 MiB. A larger response fails only its call.
    pub max_message: usize,
    /// How many bytes may be queued for a server that does not read. Default 64 MiB.
    pub max_queued: usize,
    /// The time limit of each connection attempt, from name resolution to the upgrade. The authorizer's time does not
    /// count. Default 30 s.
    pub connect_timeout: Duration,
    /// How long the connection may be idle before a ping is sent. Default 30 s; `None` disables pings.
    pub ping_interval: Option<Duration>,
    /// How long the server may take to send anything after a ping. Default 20 s.
    pub pong_deadline: Duration,
    /// How long a server may take to close after we have closed. Default 2 s.
    pub close_timeout: Duration,
    /// The size of the system's send buffer. Bytes in it count as sent when the link ends, even if the server does
    /// not read them. Default: chosen by the system.
    pub send_buffer: Option<u32>,
    /// Whether to use the proxies for `http:` and `https:` from the environment. Default yes.
    pub proxy_from_environment: bool,
}

impl WsOptions {
    /// Options for this URL, with defaults for all other fields.
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
            proxy_from_environment: true,
        }
    }

    pub(super) fn connector(&self, proxies: Option<Matcher>) -> Result<Connector, ConnectError> {
        Connector::new(ConnectorOptions {
            proxies,
            send_buffer: self.send_buffer,
            // Pings detect an unresponsive server, and a server that only does not read must not be disconnected.
            keep_alive: false,
            ..ConnectorOptions::new(&self.tls, self.connect_timeout)
        })
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

setters! { WsOptions {
    with_headers => headers: Vec<(String, String)>,
    with_authorizer => authorizer: impl Into<Option<Arc<dyn Authorize>>>,
    with_tls => tls: TlsOptions,
    with_max_message => max_message: usize,
    with_max_queued => max_queued: usize,
    with_connect_timeout => connect_timeout: Duration,
    with_ping_interval => ping_interval: impl Into<Option<Duration>>,
    with_pong_deadline => pong_deadline: Duration,
    with_close_timeout => close_timeout: Duration,
    with_send_buffer => send_buffer: impl Into<Option<u32>>,
    with_proxy_from_environment => proxy_from_environment: bool,
}}
