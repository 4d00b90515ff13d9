//! How HTTP is served.

use std::{fmt, time::Duration};

/// Who may come, and how much there may be of everything.
///
/// ```
/// use mcp_bridge::HttpServeOptions;
///
/// let mut options = HttpServeOptions::default();
/// options.bearer = Some("a long random secret".into());
/// options.allowed_hosts.push("tools.example.com".into());
/// assert_eq!(options.path, "/mcp");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpServeOptions {
    /// Where the endpoint is. Default `/mcp`.
    pub path: String,
    /// By which names the server may be called, with any port or with the one that is given; `*` is any.
    /// Default: `localhost`, `127.0.0.1` and `[::1]`. A page in a browser that has its own name point
    /// here is refused by this.
    pub allowed_hosts: Vec<String>,
    /// Which pages may call it, as browsers write their `Origin`, besides those from an allowed host.
    /// Default: none. Programs that send no `Origin` are not concerned.
    pub allowed_origins: Vec<String>,
    /// The token everybody has to show. Default: none.
    pub bearer: Option<String>,
    /// How many sessions of old clients there may be. Default 256.
    pub max_sessions: usize,
    /// How long a session lives without being used. Default 30 minutes.
    pub session_idle: Duration,
    /// How many connections there may be. Default 512; more wait to be accepted.
    pub max_connections: usize,
    /// How many bytes of headers to accept. Default 64 KiB.
    pub max_head: usize,
    /// How long headers, and then a message, may take to arrive. Default 30 s.
    pub read_timeout: Duration,
    /// How long an answer may take before an event stream is opened for it. Default 10 s.
    pub patience: Duration,
    /// How often a silent event stream shows that it is alive. Default 15 s.
    pub keep_alive: Duration,
    /// When clients whose stream has ended early should come back. Default 1 s.
    pub retry: Duration,
    /// How many events of one stream are kept for clients that come back. Default 256.
    pub max_events: usize,
}

impl Default for HttpServeOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".into(),
            allowed_hosts: ["localhost", "127.0.0.1", "[::1]"].map(String::from).to_vec(),
            allowed_origins: Vec::new(),
            bearer: None,
            max_sessions: 256,
            session_idle: Duration::from_secs(30 * 60),
            max_connections: 512,
            max_head: 64 << 10,
            read_timeout: Duration::from_secs(30),
            patience: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            max_events: 256,
        }
    }
}

/// Without the token.
impl fmt::Debug for HttpServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServeOptions")
            .field("path", &self.path)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("has_bearer", &self.bearer.is_some())
            .finish_non_exhaustive()
    }
}
