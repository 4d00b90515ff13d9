//! Every default, as a field.

use std::{fmt, sync::Arc, time::Duration};

use mcp_jsonrpc::{Progress, RawJson};

use crate::{
    capabilities::ClientCapabilities,
    era::{EraChoice, RememberedEra},
    handler::{Decline, Handler},
    types::{Implementation, LogLevel},
};

/// How a client behaves. Every field has a default.
///
/// ```
/// use mcp_client::{ClientOptions, EraChoice};
///
/// let mut options = ClientOptions::default();
/// options.era = EraChoice::Legacy;
/// assert_eq!(options.handshake_timeout.as_secs(), 15);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Answers what the server asks. Default: [`Decline`], which offers nothing.
    pub handler: Arc<dyn Handler>,
    /// Who we say we are. Default: this crate.
    pub client_info: Implementation,
    /// Which era to speak. Default: whichever the server does.
    pub era: EraChoice,
    /// Which era the server spoke last time; also updated. Default: nothing remembered.
    pub remembered: RememberedEra,
    /// For the whole handshake. Default 15 s; give a package runner 30 s to come up.
    pub handshake_timeout: Duration,
    /// For the answer to the question whether the server is modern: some old ones just keep
    /// silent. Default 5 s.
    pub probe_timeout: Duration,
    /// For one page of a list, and for any request without a limit of its own. Default 15 s.
    pub request_timeout: Duration,
    /// For a tool call, prompt or read, without any progress. Default 120 s.
    pub call_idle_timeout: Duration,
    /// For a tool call, prompt or read in all. Default 10 minutes.
    pub call_total_timeout: Duration,
    /// How often a server may ask for more input before it answers. Default 10.
    pub max_rounds: u32,
    /// How many pages a list may have. Default 1,000.
    pub max_pages: usize,
    /// How many entries a list may have. Default 10,000.
    pub max_items: usize,
    /// How many notifications may wait for a slow handler before some are dropped. Default 1,024.
    pub max_events: usize,
    /// Whether a call may become a task, which is then followed to its end. Default yes.
    pub follow_tasks: bool,
    /// The least bad log messages to ask modern servers for. Default: none at all.
    pub log_level: Option<LogLevel>,
    /// How many bytes a file of a skill may have. Default 16 MiB, which every host must accept.
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

/// Is called with each progress report of a call.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// What one call has of its own.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// Without any progress. Default: the client's.
    pub idle_timeout: Option<Duration>,
    /// In all. Default: the client's.
    pub total_timeout: Option<Duration>,
    /// Hears of progress: see also [`ProgressStream`](crate::ProgressStream).
    pub on_progress: Option<OnProgress>,
    /// Members to add to the request's `_meta`, such as `traceparent`.
    pub meta: Vec<(String, RawJson)>,
    /// What this call offers to its server, if that is less than what the connection does. Modern servers
    /// only: older ones have been told once and for all. Default: what the connection offers.
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
