//! The servers of one bridge, by name, and the failed calls kept for inspection.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_client::RawJson;
use mcp_config::{ServerConfig, model::ConnectMode};
use mcp_tool::Failure;

use crate::{
    hub::Hub,
    lifecycle::Fact,
    options::BridgeOptions,
    server::{Server, Starts},
    sync::lock,
};

/// A call that ended without a result, kept for inspection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FailedCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments of the call. `Debug` prints only their length.
    pub arguments: RawJson,
    /// The failure, including whether the call may have run.
    pub failure: Failure,
    /// The text that the model received.
    pub text: String,
}

/// The servers of one bridge. Conversations hold it; servers hold only its [`Hub`], weakly.
pub(crate) struct Directory {
    pub(crate) hub: Arc<Hub>,
    starts: Arc<Starts>,
    servers: Mutex<Vec<Arc<Server>>>,
    /// Removed servers that still have calls in flight.
    retired: Mutex<Vec<Arc<Server>>>,
    failed: Mutex<VecDeque<FailedCall>>,
    conversations: AtomicU64,
}

impl Directory {
    pub(crate) fn new(options: BridgeOptions) -> Self {
        Self {
            starts: Arc::new(Starts::new(&options)),
            hub: Arc::new(Hub::new(options)),
            servers: Mutex::default(),
            retired: Mutex::default(),
            failed: Mutex::default(),
            conversations: AtomicU64::new(0),
        }
    }

    pub(crate) fn add_server(&self, config: ServerConfig) {
        let name: Arc<str> = config.name.as_str().into();
        if let Some(old) = self.server(&name) {
            old.abort();
            lock(&self.servers).retain(|server| server.name != name);
            self.hub.registry.remove_server(&name);
        }
        let server = Server::register(config, &self.hub, self.starts.clone());
        lock(&self.servers).push(server);
    }

    /// Removes a server from all listings. Its connection stays open.
    pub(crate) fn take_server(&self, name: &str) -> Option<Arc<Server>> {
        let server = {
            let mut servers = lock(&self.servers);
            let at = servers.iter().position(|server| &*server.name == name);
            at.map(|at| servers.remove(at))?
        };
        self.hub.registry.remove_server(name);
        Some(server)
    }

    /// Keeps a removed server, so that it is stopped with the bridge.
    pub(crate) fn retire(&self, server: &Arc<Server>) {
        let mut retired = lock(&self.retired);
        retired.retain(|old| old.client().is_some());
        retired.push(server.clone());
    }

    pub(crate) fn retired(&self) -> Vec<Arc<Server>> {
        std::mem::take(&mut *lock(&self.retired))
    }

    /// The id of the next conversation; the bridge's own is 0.
    pub(crate) fn next_conversation(&self) -> u64 {
        self.conversations.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        lock(&self.servers).clone()
    }

    pub(crate) fn server(&self, name: &str) -> Option<Arc<Server>> {
        lock(&self.servers).iter().find(|server| &*server.name == name).cloned()
    }

    pub(crate) fn is_lazy(&self, config: &ServerConfig) -> bool {
        match config.connect {
            Some(ConnectMode::Lazy) => true,
            Some(ConnectMode::Eager) => false,
            _ => self.hub.options.lazy_start,
        }
    }

    /// Servers that were never started and have no cached listing.
    pub(crate) fn unknown(&self) -> Vec<Arc<Server>> {
        let is_unknown = |server: &Arc<Server>| {
            let status = server.status();
            status.state.is_idle()
                && status.generation == 0
                && server.config.enabled
                && self.is_lazy(&server.config)
        };
        self.servers().into_iter().filter(is_unknown).collect()
    }

    /// Starts the servers without a known listing, because a search may be for one of their tools.
    pub(crate) async fn discover(&self) {
        let unknown = self.unknown();
        for server in &unknown {
            server.tell(Fact::Wanted);
        }
        let deadline = tokio::time::Instant::now() + self.hub.options.start_limit;
        for server in unknown {
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            server.settled(left).await;
        }
    }

    /// Finds the server that a tool of this name would belong to, by its prefix or as `server/tool`. Returns it with
    /// the rest of the name.
    pub(crate) fn server_of<'a>(&self, name: &'a str) -> Option<(Arc<Server>, &'a str)> {
        let rest_of = |server: &Server| {
            let prefix = self.hub.registry.naming(|namer| namer.prefix(&server.name));
            let slash = name.strip_prefix(&*server.name).and_then(|rest| rest.strip_prefix('/'));
            slash.or_else(|| name.strip_prefix(&*prefix?))
        };
        let meant = self.servers().into_iter().filter_map(|server| {
            let rest = rest_of(&server)?;
            Some((server, rest))
        });
        // If two prefixes match, the longer one is more specific.
        meant.filter(|(_, rest)| !rest.is_empty()).min_by_key(|(_, rest)| rest.len())
    }

    pub(crate) fn output_limit(&self, server: &str) -> Option<usize> {
        self.server(server)?.config.limits.output
    }

    pub(crate) fn record_failed_call(&self, call: FailedCall) {
        let mut failed = lock(&self.failed);
        failed.push_back(call);
        while failed.len() > self.hub.options.max_failed_calls {
            failed.pop_front();
        }
    }

    pub(crate) fn failed_calls(&self) -> Vec<FailedCall> {
        lock(&self.failed).iter().cloned().collect()
    }
}

/// Supervisors do not hold the bridge, so they must be stopped with it.
impl Drop for Directory {
    fn drop(&mut self) {
        for server in lock(&self.servers).drain(..) {
            server.abort();
        }
    }
}
