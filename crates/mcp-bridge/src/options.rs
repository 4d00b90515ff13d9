//! Every default of a bridge, as a field.

use std::{env, fmt, path::PathBuf, sync::Arc, time::Duration};

use mcp_client::{ClientOptions, Decline, Handler};

use crate::{
    backoff::Backoff,
    connector::{Connector, DefaultConnector},
    envelope::OutputLimits,
    hooks::Hook,
    name::NameScheme,
    trust::{Approver, DenyAll, Policy, ToolApprovals, TrustPolicy},
};

/// How a bridge behaves. Every field has a default.
///
/// ```
/// use mcp_bridge::{BridgeOptions, Backoff};
///
/// let mut options = BridgeOptions::default();
/// options.backoff = Backoff::five_attempts();
/// assert_eq!(options.search_threshold, 20);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct BridgeOptions {
    /// Finds the way to servers. Default: [`DefaultConnector`].
    pub connector: Arc<dyn Connector>,
    /// Answers what servers ask when no conversation does. Default: declines. Its capabilities are what
    /// servers are told, for all conversations.
    pub handler: Arc<dyn Handler>,
    /// How connections behave. Its handler is not used.
    pub client: ClientOptions,
    /// How tools are named. Default `mcp__server__tool`.
    pub names: NameScheme,
    /// When to try again after a failure. Default 1, 2, 5, 15, 60, 60 … seconds.
    pub backoff: Backoff,
    /// Whether servers are connected only when first needed. Default no. A server's own setting wins.
    pub lazy_start: bool,
    /// How many local servers may start at once. Default 3, or `MCP_LOCAL_BATCH_SIZE`.
    pub local_batch: usize,
    /// How many remote servers may be connected to at once. Default 20, or `MCP_REMOTE_BATCH_SIZE`.
    pub remote_batch: usize,
    /// How many local servers may run at once. Others are down meanwhile, and tried again. Default: any
    /// number.
    pub max_processes: Option<usize>,
    /// A server nobody used for so long is stopped; the next call starts it. Default: never.
    pub idle_stop: Option<Duration>,
    /// A server that was silent for so long is asked whether it is alive. Default: never. One that did
    /// not answer a call in time is asked in any case.
    pub ping_every: Option<Duration>,
    /// Changes of a list within so long are one. Default 200 ms.
    pub list_debounce: Duration,
    /// How long a call waits for a server that it had to start. Default 45 s.
    pub start_limit: Duration,
    /// How long a call waits for a server that is being reconnected to. Default: not at all.
    pub queue_while_down: Option<Duration>,
    /// What of a result reaches the model.
    pub output: OutputLimits,
    /// Decides over calls. Default: [`TrustPolicy`] without rules.
    pub policy: Arc<dyn Policy>,
    /// Asks the user. Default: [`DenyAll`].
    pub approver: Arc<dyn Approver>,
    /// What the user has approved for good. Default: in memory.
    pub approvals: Arc<ToolApprovals>,
    /// Names of tools that write, for plan mode, besides those that are known: globs.
    pub write_patterns: Vec<String>,
    /// Run before and after every call, in order.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Whether tools leave the prompt when there are too many. Default yes.
    pub tool_search: bool,
    /// More tools than this in all are too many. Default 20.
    pub search_threshold: usize,
    /// Definitions of more tokens than this are too many. Default: any number.
    pub token_budget: Option<usize>,
    /// The most tools a search loads. Default 10.
    pub max_matches: usize,
    /// Tools that stay in the prompt: globs over their names.
    pub always_load: Vec<String>,
    /// A directory where the tools of servers are remembered, so that they can be found before anything
    /// is started. Default: nowhere.
    pub catalogue: Option<PathBuf>,
    /// Whether the tools of a server that is down stay in snapshots, for hosts that care for their prompt
    /// cache. Calling one says that its server is unavailable. Default no.
    pub keep_stubs: bool,
    /// How many events a slow listener may be behind. Default 1,024.
    pub event_capacity: usize,
    /// How many calls that failed are kept. Default 100.
    pub max_dead_letters: usize,
}

impl Default for BridgeOptions {
    fn default() -> Self {
        Self {
            connector: Arc::new(DefaultConnector::new()),
            handler: Arc::new(Decline),
            client: ClientOptions::default(),
            names: NameScheme::default(),
            backoff: Backoff::default(),
            lazy_start: false,
            local_batch: from_environment("MCP_LOCAL_BATCH_SIZE").unwrap_or(3),
            remote_batch: from_environment("MCP_REMOTE_BATCH_SIZE").unwrap_or(20),
            max_processes: None,
            idle_stop: None,
            ping_every: None,
            list_debounce: Duration::from_millis(200),
            start_limit: Duration::from_secs(45),
            queue_while_down: None,
            output: OutputLimits::default(),
            policy: Arc::new(TrustPolicy::default()),
            approver: Arc::new(DenyAll),
            approvals: Arc::default(),
            write_patterns: Vec::new(),
            hooks: Vec::new(),
            tool_search: true,
            search_threshold: 20,
            token_budget: None,
            max_matches: 10,
            always_load: Vec::new(),
            catalogue: None,
            keep_stubs: false,
            event_capacity: 1_024,
            max_dead_letters: 100,
        }
    }
}

/// A positive number from a variable; anything else is as if it were not set.
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
    fn a_batch_size_that_makes_no_sense_is_none() {
        let sizes = ["1", " 7 ", "0", "-1", "many", "", "100000"].map(super::batch_size);
        assert_eq!(sizes, [Some(1), Some(7), None, None, None, None, None]);
    }
}
