//! Every default of a server, as a field.

use std::{fmt, sync::Arc, time::Duration};

use mcp_client::{CacheScope, Implementation};

use crate::serve::providers::{Completions, Prompts, Resources};

/// What a server is, and how much it puts up with.
///
/// ```
/// use mcp_bridge::ServeOptions;
///
/// let mut options = ServeOptions::new("clock", "1.0.0");
/// options.instructions = Some("Ask for the time.".into());
/// assert_eq!(options.page_size, 200);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// Who the server says it is.
    pub server_info: Implementation,
    /// How to use it, for the model. Default: nothing.
    pub instructions: Option<String>,
    /// What there is to read. Default: no such capability.
    pub resources: Option<Arc<dyn Resources>>,
    /// What a user may pick. Default: no such capability.
    pub prompts: Option<Arc<dyn Prompts>>,
    /// How to complete arguments. Default: no such capability.
    pub completions: Option<Arc<dyn Completions>>,
    /// Whether tools may log to the client. Default yes.
    pub logging: bool,
    /// How many entries a page of a list has. Default 200.
    pub page_size: usize,
    /// How long lists may be kept by modern clients. Default: not at all; changes are announced.
    pub list_ttl: Duration,
    /// How long what was read may be kept by modern clients. Default: not at all.
    pub read_ttl: Duration,
    /// Whether lists are the same for everybody. Default: private.
    pub cache_scope: CacheScope,
    /// How many calls of one client may run at once. Default 64.
    pub max_calls: usize,
    /// How many calls may wait for a modern client to come back with answers. Default 256.
    pub max_waiting: usize,
    /// How long the client may take to answer a question. Default 10 minutes.
    pub answer_timeout: Duration,
    /// How many resources one legacy client may subscribe to, and one `subscriptions/listen` may name.
    /// Default 1,024.
    pub max_subscriptions: usize,
    /// How many `subscriptions/listen` may be open at once. Default 256.
    pub max_listens: usize,
    /// The largest message to accept, over stdio and HTTP. Default 4 MiB.
    pub max_message: usize,
    /// How many reports of progress and log lines may wait for one client before some are dropped. Default
    /// 1,024.
    pub max_reports: usize,
}

impl ServeOptions {
    /// A server of this name and version, which so far offers nothing but tools.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            server_info: Implementation::new(name, version),
            instructions: None,
            resources: None,
            prompts: None,
            completions: None,
            logging: true,
            page_size: 200,
            list_ttl: Duration::ZERO,
            read_ttl: Duration::ZERO,
            cache_scope: CacheScope::Private,
            max_calls: 64,
            max_waiting: 256,
            answer_timeout: Duration::from_secs(600),
            max_subscriptions: 1_024,
            max_listens: 256,
            max_message: 4 << 20,
            max_reports: 1_024,
        }
    }
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions")
            .field("server_info", &self.server_info)
            .field("has_resources", &self.resources.is_some())
            .field("has_prompts", &self.prompts.is_some())
            .field("has_completions", &self.completions.is_some())
            .finish_non_exhaustive()
    }
}
