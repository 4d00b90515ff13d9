//! Options of a server, with their defaults.

use std::{fmt, sync::Arc, time::Duration};

use mcp_types::{Implementation, lists::CacheScope};

use crate::{
    provide::{Completions, Prompts, Resources},
    setters::setters,
};

/// The identity, offers and limits of a server.
///
/// ```
/// use mcp_server::ServeOptions;
///
/// let options = ServeOptions::new("clock", "1.0.0").with_instructions("Ask for the time.");
/// assert_eq!(options.page_size, 200);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The name and version that the server reports.
    pub server_info: Implementation,
    /// Instructions for the model. Default: none.
    pub instructions: Option<String>,
    /// The resources. Default: none, and the capability is not declared.
    pub resources: Option<Arc<dyn Resources>>,
    /// The prompts. Default: none, and the capability is not declared.
    pub prompts: Option<Arc<dyn Prompts>>,
    /// Completes arguments. Default: none, and the capability is not declared.
    pub completions: Option<Arc<dyn Completions>>,
    /// Whether tools may log to the client. Default yes.
    pub logging: bool,
    /// How many entries a page of a list has. Default 200.
    pub page_size: usize,
    /// How long modern clients may cache lists. Default: not at all; changes are announced.
    pub list_ttl: Duration,
    /// How long modern clients may cache resource contents. Default: not at all.
    pub read_ttl: Duration,
    /// Whether cached lists may be shared between users. Default: private.
    pub cache_scope: CacheScope,
    /// How many calls of one client may run at once. Default 64.
    pub max_calls: usize,
    /// How many calls may wait for a modern client's responses to their questions. Default 256.
    pub max_waiting: usize,
    /// How long the client may take to respond to a request of a tool. Default 10 minutes.
    pub answer_timeout: Duration,
    /// The most resources that one legacy client may subscribe to, and one `subscriptions/listen` may name.
    /// Default 1,024.
    pub max_subscriptions: usize,
    /// The most `subscriptions/listen` requests open at once. Default 256.
    pub max_listens: usize,
    /// The largest message to accept, over stdio and HTTP. Default 4 MiB.
    pub max_message: usize,
    /// How many progress and log notifications may be queued for one client before some are dropped. Default
    /// 1,024.
    pub max_reports: usize,
}

impl ServeOptions {
    /// A server with this name and version that offers only tools.
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

setters! { ServeOptions {
    with_server_info => server_info: Implementation,
    with_resources => resources: impl Into<Option<Arc<dyn Resources>>>,
    with_prompts => prompts: impl Into<Option<Arc<dyn Prompts>>>,
    with_completions => completions: impl Into<Option<Arc<dyn Completions>>>,
    with_logging => logging: bool,
    with_page_size => page_size: usize,
    with_list_ttl => list_ttl: Duration,
    with_read_ttl => read_ttl: Duration,
    with_cache_scope => cache_scope: CacheScope,
    with_max_calls => max_calls: usize,
    with_max_waiting => max_waiting: usize,
    with_answer_timeout => answer_timeout: Duration,
    with_max_subscriptions => max_subscriptions: usize,
    with_max_listens => max_listens: usize,
    with_max_message => max_message: usize,
    with_max_reports => max_reports: usize,
}}

impl ServeOptions {
    /// Sets [`instructions`](Self::instructions).
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }
}
