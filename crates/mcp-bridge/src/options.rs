//! The options of a bridge and their defaults.

mod setters;

use std::{env, fmt, path::PathBuf, sync::Arc, time::Duration};

use mcp_audit::Auditor;
use mcp_client::{ClientOptions, Handler, types::events::Decline};
use mcp_config::ServerConfig;

use crate::{
    connect::{Connector, DefaultConnector},
    hooks::Hook,
    lifecycle::Backoff,
    output::OutputLimits,
    sanitize::SUMMARY,
    tools::name::NameScheme,
    trust::{Approver, DenyAll, Policy, ToolApprovals, TrustPolicy},
};

/// Whether an entry comes from a file of the project.
pub type FromProject = Arc<dyn Fn(&ServerConfig) -> bool + Send + Sync>;

/// When a failed call is retried: if it was never sent, or if its tool is idempotent according to a trusted server.
///
/// ```
/// use mcp_bridge::options::Retry;
///
/// assert_eq!(Retry::default().delays.len(), 2); // three tries
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// The delay before each retry. Default 200 ms and 1 s; empty: no retries. A server may request up to twice the
    /// longest of them.
    pub delays: Vec<Duration>,
    /// Whether calls to read-only tools are retried after a timeout. Default yes.
    pub timeouts: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self { delays: vec![Duration::from_millis(200), Duration::from_secs(1)], timeouts: true }
    }
}

impl Retry {
    /// This many attempts in all, each `delay` after the previous one.
    pub fn every(delay: Duration, tries: usize) -> Self {
        Self { delays: vec![delay; tries.saturating_sub(1)], ..Self::default() }
    }
}

/// The behaviour of a bridge. Every field has a default.
///
/// ```
/// use mcp_bridge::{BridgeOptions, lifecycle::Backoff};
///
/// let options = BridgeOptions::default().with_backoff(Backoff::five_attempts()).with_lazy_start(true);
/// assert_eq!(options.search_threshold, 20);
/// ```
#[derive(Clone)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate setting")]
pub struct BridgeOptions {
    /// Resolves how to reach servers. Default: [`DefaultConnector`].
    pub connector: Arc<dyn Connector>,
    /// Handles requests from servers outside conversations with their own handler. Default: declines. Its capabilities
    /// are declared to servers for all conversations.
    pub handler: Arc<dyn Handler>,
    /// The options of clients. Their handler is not used.
    pub client: ClientOptions,
    /// How tools are named. Default `mcp__server__tool`.
    pub names: NameScheme,
    /// Whether names keep their hyphens. Default no: every character outside `[A-Za-z0-9_]` becomes `_`.
    pub keep_hyphens: bool,
    /// The project's folder. Approvals and catalogues of servers that depend on it are kept per project. Default: none.
    pub project: Option<PathBuf>,
    /// Whether an entry comes from a file of the project, so that approvals of its tools apply to this project only.
    /// Default: no entry does.
    pub from_project: Option<FromProject>,
    /// Whether untrusted servers may use sampling. Default no.
    pub untrusted_sampling: bool,
    /// Whether untrusted servers may list the roots. Default no.
    pub untrusted_roots: bool,
    /// The delays between connection attempts. Default 1, 2, 5, 15, 60, 60 … seconds.
    pub backoff: Backoff,
    /// Whether servers are connected only when first needed. Default no. The setting of a server takes precedence.
    pub lazy_start: bool,
    /// How many local servers may start at once. Default 3, or `MCP_LOCAL_BATCH_SIZE`.
    pub local_batch: usize,
    /// How many remote servers may be connected to at once. Default 20, or `MCP_REMOTE_BATCH_SIZE`.
    pub remote_batch: usize,
    /// How many local servers may run at once. Other servers are down until a slot is free. Default: unlimited.
    pub max_processes: Option<usize>,
    /// Stops a server after this long without use; the next call starts it. Default: never.
    pub idle_stop: Option<Duration>,
    /// Pings a server after this long without a message. Default: never. After a call has timed out, the server is
    /// always pinged.
    pub ping_every: Option<Duration>,
    /// The same for servers behind a URL, where a dead server may not close the connection. Default 30 s.
    pub ping_remote_every: Option<Duration>,
    /// List changes within this period are handled as one. Default 200 ms.
    pub list_debounce: Duration,
    /// How long a call waits for a server that it had to start. Default 45 s.
    pub start_limit: Duration,
    /// When failed calls are retried.
    pub retry: Retry,
    /// How long a call waits for a server that is down. Default: not at all.
    pub queue_while_down: Option<Duration>,
    /// Limits on the part of a result that reaches the model.
    pub output: OutputLimits,
    /// Decides on calls. Default: [`TrustPolicy`] without rules.
    pub policy: Arc<dyn Policy>,
    /// Asks the user. Default: [`DenyAll`].
    pub approver: Arc<dyn Approver>,
    /// The user's permanent approvals. Default: in memory. A host with a project loads them with
    /// [`ToolApprovals::load_for`].
    pub approvals: Arc<ToolApprovals>,
    /// Whether the user is asked about a tool with a definition that differs from the first one seen, even if its
    /// server is trusted or a rule allows it. Default no: only an [event](crate::Event::DefinitionChanged) is sent.
    pub ask_on_change: bool,
    /// Globs for the names of tools that write, for plan mode, in addition to the built-in ones.
    pub write_patterns: Vec<String>,
    /// Hooks that run before and after every call, in order.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Receives a record of every call, use of a resource, prompt or login, decision, approval, and of each start and end of
    /// a server. Unlike events, no record is dropped. Default: none.
    pub audit: Option<Arc<dyn Auditor>>,
    /// Whether tools are removed from the prompt when there are too many. Default yes.
    pub tool_search: bool,
    /// The maximum number of tools in the prompt before search is used. Default 20.
    pub search_threshold: usize,
    /// The maximum number of tokens of definitions before search is used. Default: unlimited.
    pub token_budget: Option<usize>,
    /// The maximum number of tools that a search loads. Default 10.
    pub max_matches: usize,
    /// The length of a tool's summary, in characters. Default 100.
    pub summary_limit: usize,
    /// Tools that stay in the prompt: globs over their names.
    pub always_load: Vec<String>,
    /// The directory of the catalogue, which makes the tools of servers known before they are started. Default: none.
    pub catalogue: Option<PathBuf>,
    /// Whether the tools of a server that is down stay in snapshots, which keeps the prompt cache valid. Calling one
    /// fails with the server unavailable. Default no.
    pub keep_stubs: bool,
    /// The number of events that are buffered for a slow receiver. Default 1,024.
    pub event_capacity: usize,
    /// The number of failed calls that are kept. Default 100.
    pub max_failed_calls: usize,
}

impl Default for BridgeOptions {
    fn default() -> Self {
        Self {
            connector: Arc::new(DefaultConnector::new()),
            handler: Arc::new(Decline),
            client: ClientOptions::default(),
            names: NameScheme::default(),
            keep_hyphens: false,
            project: None,
            from_project: None,
            untrusted_sampling: false,
            untrusted_roots: false,
            backoff: Backoff::default(),
            lazy_start: false,
            local_batch: from_environment("MCP_LOCAL_BATCH_SIZE").unwrap_or(3),
            remote_batch: from_environment("MCP_REMOTE_BATCH_SIZE").unwrap_or(20),
            max_processes: None,
            idle_stop: None,
            ping_every: None,
            ping_remote_every: Some(Duration::from_secs(30)),
            list_debounce: Duration::from_millis(200),
            start_limit: Duration::from_secs(45),
            retry: Retry::default(),
            queue_while_down: None,
            output: OutputLimits::default(),
            policy: Arc::new(TrustPolicy::default()),
            approver: Arc::new(DenyAll),
            approvals: Arc::default(),
            ask_on_change: false,
            write_patterns: Vec::new(),
            hooks: Vec::new(),
            audit: None,
            tool_search: true,
            search_threshold: 20,
            token_budget: None,
            max_matches: 10,
            summary_limit: SUMMARY,
            always_load: Vec::new(),
            catalogue: None,
            keep_stubs: false,
            event_capacity: 1_024,
            max_failed_calls: 100,
        }
    }
}

/// A positive number from a variable; invalid values are ignored.
fn from_environment(name: &str) -> Option<usize> {
    batch_size(&env::var(name).ok()?)
}

fn batch_size(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|size| (1..=1_000).contains(size))
}

impl fmt::Debug for BridgeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgeOptions")
            .field("names", &self.names)
            .field("lazy_start", &self.lazy_start)
            .field("local_batch", &self.local_batch)
            .field("remote_batch", &self.remote_batch)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn invalid_batch_sizes_are_ignored() {
        let sizes = ["1", " 7 ", "0", "-1", "many", "", "100000"].map(super::batch_size);
        assert_eq!(sizes, [Some(1), Some(7), None, None, None, None, None]);
    }
}
