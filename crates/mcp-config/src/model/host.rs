//! Settings of the host in configuration files: tool search, retries, trust rules.

use std::time::Duration;

use mcp_sandbox::Level;

/// Settings for the host, from one document or merged from all. `None` and empty lists mean the host's
/// default.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HostSettings {
    /// Whether tools are left out of the prompt and found by search when there are too many.
    /// `tool_search.enabled`; `lazyLoading: false` is the same as `false`.
    pub tool_search: Option<bool>,
    /// The number of tools above which search is used. `tool_search.threshold`; `lazyLoading: true` means
    /// zero.
    pub search_threshold: Option<usize>,
    /// The most tools that one search returns, even if the model requests more. `tool_search.max_matches` or
    /// `maxToolsPerSearch`.
    pub max_matches: Option<usize>,
    /// Characters kept of a description in a summary. `summaryDescriptionLimit`.
    pub summary_limit: Option<usize>,
    /// Tools that stay in the prompt: globs over their names. `alwaysLoadTools`.
    pub always_load: Vec<String>,
    /// The least restrictive sandbox that a local server may have; the strictest of all documents counts.
    /// `sandboxMinimum`.
    pub sandbox_minimum: Option<Level>,
    /// How calls with a temporary failure are retried. `retry`.
    pub retry: RetrySettings,
    /// Trust rules, one list per document, the highest precedence first. `trustRules`.
    pub rules: Vec<Vec<TrustRule>>,
}

impl HostSettings {
    /// The default of [`search_threshold`](Self::search_threshold).
    pub const DEFAULT_THRESHOLD: usize = 20;
    /// The default of [`max_matches`](Self::max_matches).
    pub const DEFAULT_MATCHES: usize = 10;
    /// The default of [`summary_limit`](Self::summary_limit).
    pub const DEFAULT_SUMMARY: usize = 200;
    /// The default of [`RetrySettings::attempts`].
    pub const DEFAULT_ATTEMPTS: usize = 3;
}

/// How calls with a temporary failure are retried: `retry` with `attempts`, `initialDelayMs` and
/// `maxDelayMs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RetrySettings {
    /// Total attempts, including the first; 1 means no retry.
    pub attempts: Option<usize>,
    /// The delay before the second attempt; each further one doubles it.
    pub initial_delay: Option<Duration>,
    /// The longest delay.
    pub max_delay: Option<Duration>,
}

/// One rule about calls: `{ "permission": "mcp:github:*", "pattern": "*", "action": "allow" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrustRule {
    /// Which tools: a glob over `mcp:<server>:<tool>`.
    pub permission: String,
    /// Which arguments: a glob over the strings in them. Defaults to `*`.
    pub pattern: String,
    /// The decision for matching calls.
    pub action: RuleAction,
}

impl TrustRule {
    /// A rule about every call of the tools that `permission` matches.
    pub fn new(permission: impl Into<String>, action: RuleAction) -> Self {
        Self { permission: permission.into(), pattern: "*".to_owned(), action }
    }

    /// Limits the rule to calls with arguments that `pattern` matches.
    #[must_use]
    pub fn with_pattern(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = pattern.into();
        self
    }
}

/// The decision of a [`TrustRule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the decisions are fixed by the file format")]
pub enum RuleAction {
    /// The call goes ahead.
    Allow,
    /// The user is asked.
    Ask,
    /// The call is refused.
    Deny,
}
