//! Options of clients and calls, with their defaults.

use std::{fmt, sync::Arc, time::Duration};

use mcp_jsonrpc::{Progress, RawJson};
use mcp_types::{
    ClientCapabilities, Handler, Implementation, LogLevel, OnProgress, events::Decline,
};

use crate::{
    era::{EraChoice, RememberedEra},
    setters::setters,
};

/// Options of a client. Every field has a default.
///
/// ```
/// use mcp_client::{ClientOptions, EraChoice};
///
/// let options = ClientOptions::default().with_era(EraChoice::Legacy);
/// assert_eq!(options.handshake_timeout.as_secs(), 15);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Handles the server's requests and notifications. Default: [`Decline`], which declares no capabilities.
    pub handler: Arc<dyn Handler>,
    /// The client's name and version. Default: this crate's.
    pub client_info: Implementation,
    /// Which era to use. Default: detected.
    pub era: EraChoice,
    /// The era the server used last time; updated by the handshake. Default: unknown.
    pub remembered: RememberedEra,
    /// The timeout of the whole handshake. Default 15 s; use 30 s for package runners.
    pub handshake_timeout: Duration,
    /// The timeout of the probe for a modern server, because some legacy servers do not respond to
    /// it. Default 5 s.
    pub probe_timeout: Duration,
    /// The timeout of one page of a list, and of other quick requests. Default 15 s.
    pub request_timeout: Duration,
    /// The timeout of a tool call, prompt or read without progress. Default 120 s.
    pub call_idle_timeout: Duration,
    /// The total timeout of a tool call, prompt or read. Default 10 minutes.
    pub call_total_timeout: Duration,
    /// How often a server may request input during one call. Default 10.
    pub max_rounds: u32,
    /// The maximum number of pages of a list. Default 1,000.
    pub max_pages: usize,
    /// The maximum number of entries of a list. Default 10,000.
    pub max_items: usize,
    /// How many notifications are queued for a slow handler before further ones are dropped. Default 1,024.
    pub max_events: usize,
    /// Whether a call may become a task, which is then followed to its end. Default: yes.
    pub follow_tasks: bool,
    /// The minimum level of log messages requested from modern servers. Default: no log messages.
    pub log_level: Option<LogLevel>,
    /// The maximum size of a skill's file in bytes. Default 16 MiB, which every host must accept.
    #[cfg(feature = "skills")]
    pub max_skill_file: u64,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            handler: Arc::new(Decline),
            client_info: Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            era: EraChoice::Auto,
            remembered: RememberedEra::default(),
            handshake_timeout: Duration::from_secs(15),
            probe_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(15),
            call_idle_timeout: Duration::from_secs(120),
            call_total_timeout: Duration::from_secs(600),
            max_rounds: 10,
            max_pages: 1_000,
            max_items: 10_000,
            max_events: 1_024,
            follow_tasks: true,
            log_level: None,
            #[cfg(feature = "skills")]
            max_skill_file: 16 << 20,
        }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("client_info", &self.client_info)
            .field("era", &self.era)
            .field("handshake_timeout", &self.handshake_timeout)
            .finish_non_exhaustive()
    }
}

/// Options of one call.
///
/// ```
/// use std::time::Duration;
/// use mcp_client::CallOptions;
///
/// let options = CallOptions::default()
///     .with_total_timeout(Duration::from_secs(30))
///     .with_progress(|report| println!("{}", report.progress));
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// The timeout without progress. Default: the client's.
    pub idle_timeout: Option<Duration>,
    /// The total timeout. Default: the client's.
    pub total_timeout: Option<Duration>,
    /// Called for each progress report. See also [`ProgressStream`](crate::ProgressStream).
    pub on_progress: Option<OnProgress>,
    /// Members to add to the request's `_meta`, such as `traceparent`.
    pub meta: Vec<(String, RawJson)>,
    /// The capabilities declared for this call, a subset of the session's. Only for modern servers:
    /// legacy servers receive them once, during the handshake. Default: the session's.
    pub offers: Option<ClientCapabilities>,
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("idle_timeout", &self.idle_timeout)
            .field("total_timeout", &self.total_timeout)
            .finish_non_exhaustive()
    }
}

setters! { ClientOptions {
    with_handler => handler: Arc<dyn Handler>,
    with_client_info => client_info: Implementation,
    with_era => era: EraChoice,
    with_remembered => remembered: RememberedEra,
    with_handshake_timeout => handshake_timeout: Duration,
    with_probe_timeout => probe_timeout: Duration,
    with_request_timeout => request_timeout: Duration,
    with_call_idle_timeout => call_idle_timeout: Duration,
    with_call_total_timeout => call_total_timeout: Duration,
    with_max_rounds => max_rounds: u32,
    with_max_pages => max_pages: usize,
    with_max_items => max_items: usize,
    with_max_events => max_events: usize,
    with_follow_tasks => follow_tasks: bool,
    with_log_level => log_level: impl Into<Option<LogLevel>>,
    #[cfg(feature = "skills")]
    with_max_skill_file => max_skill_file: u64,
}}

setters! { CallOptions {
    with_idle_timeout => idle_timeout: impl Into<Option<Duration>>,
    with_total_timeout => total_timeout: impl Into<Option<Duration>>,
    with_offers => offers: impl Into<Option<ClientCapabilities>>,
}}

impl CallOptions {
    /// Calls `on_progress` with each progress report.
    #[must_use]
    pub fn with_progress(mut self, on_progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(on_progress));
        self
    }

    /// Adds a member to the request's `_meta`.
    #[must_use]
    pub fn with_meta(mut self, name: impl Into<String>, value: RawJson) -> Self {
        self.meta.push((name.into(), value));
        self
    }
}
