//! Options of the HTTP server.

use std::{fmt, time::Duration};

use super::token::AccessToken;
use crate::setters::setters;

/// Access rules and limits of an [`HttpServer`](crate::http::HttpServer).
///
/// ```
/// use mcp_server::http::HttpServeOptions;
///
/// let options = HttpServeOptions::default()
///     .with_bearer("a-long-random-secret".parse::<mcp_server::http::AccessToken>()?)
///     .with_allowed_hosts(vec!["tools.example.com".into()]);
/// assert_eq!(options.path, "/mcp");
/// # Ok::<(), mcp_server::http::TokenError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpServeOptions {
    /// The path of the endpoint. Default `/mcp`.
    pub path: String,
    /// Allowed values of `Host`, with or without a port; `*` allows any. Default: `localhost`, `127.0.0.1` and
    /// `[::1]`. Protects against DNS rebinding, where a web page resolves its own host name to this server.
    pub allowed_hosts: Vec<String>,
    /// Allowed values of `Origin`, in addition to the origins of allowed hosts. Default: none. Requests without
    /// `Origin` are not checked.
    pub allowed_origins: Vec<String>,
    /// The bearer token that every request must carry. Default: none. Without one, every process that can connect
    /// may call every tool; on the loopback interface these are the processes of all users.
    pub bearer: Option<AccessToken>,
    /// How long the response to a wrong token is delayed. Default 1 s.
    pub wrong_token_delay: Duration,
    /// The most sessions of legacy clients. Default 256. Above it, the oldest session whose client never sent
    /// `notifications/initialized` is ended.
    pub max_sessions: usize,
    /// How long a session is kept without being used. Default 30 minutes.
    pub session_idle: Duration,
    /// The most open connections. Default 512. At the limit, an idle connection is closed for a new one: the oldest
    /// that never had a request accepted, else the oldest. While all are in use, new ones wait to be accepted.
    pub max_connections: usize,
    /// The most connections of one address (IPv6: one /64 network). Default 256. At the limit, an idle connection of
    /// that address is closed for a new one; while all are in use, new ones are closed at once.
    pub max_connections_per_peer: usize,
    /// The largest size of the headers in bytes. Default 64 KiB.
    pub max_head: usize,
    /// How long the first headers of a connection may take to arrive. Default 5 s.
    pub head_timeout: Duration,
    /// How long a body, and later headers of a connection, may take to arrive. Default 30 s.
    pub read_timeout: Duration,
    /// How long a response may take before it is sent as an event stream. Default 10 s.
    pub patience: Duration,
    /// How often a comment is sent on a silent event stream. Default 15 s.
    pub keep_alive: Duration,
    /// When a client should reconnect after its stream has ended early. Default 1 s.
    pub retry: Duration,
    /// How many events of one stream are kept for clients that reconnect. Default 256.
    pub max_events: usize,
}

impl Default for HttpServeOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".into(),
            allowed_hosts: ["localhost", "127.0.0.1", "[::1]"].map(String::from).to_vec(),
            allowed_origins: Vec::new(),
            bearer: None,
            wrong_token_delay: Duration::from_secs(1),
            max_sessions: 256,
            session_idle: Duration::from_secs(30 * 60),
            max_connections: 512,
            max_connections_per_peer: 256,
            max_head: 64 << 10,
            head_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(30),
            patience: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            max_events: 256,
        }
    }
}

/// Does not show the token.
impl fmt::Debug for HttpServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServeOptions")
            .field("path", &self.path)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("has_bearer", &self.bearer.is_some())
            .finish_non_exhaustive()
    }
}

setters! { HttpServeOptions {
    with_path => path: impl Into<String>,
    with_allowed_hosts => allowed_hosts: Vec<String>,
    with_allowed_origins => allowed_origins: Vec<String>,
    with_bearer => bearer: impl Into<Option<AccessToken>>,
    with_wrong_token_delay => wrong_token_delay: Duration,
    with_max_sessions => max_sessions: usize,
    with_session_idle => session_idle: Duration,
    with_max_connections => max_connections: usize,
    with_max_connections_per_peer => max_connections_per_peer: usize,
    with_max_head => max_head: usize,
    with_head_timeout => head_timeout: Duration,
    with_read_timeout => read_timeout: Duration,
    with_patience => patience: Duration,
    with_keep_alive => keep_alive: Duration,
    with_retry => retry: Duration,
    with_max_events => max_events: usize,
}}
