//! What everything in a bridge shares.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_client::{Listing, RawJson, Tool as Listed};
use mcp_config::{ConnectMode, ServerConfig};

use super::BridgeOptions;
use crate::{
    events::{Bus, Event},
    lifecycle::{Fact, Lifecycle},
    login::LoginTool,
    outcome::Failure,
    publish::{Terms, publish},
    registry::{Registered, Registry},
    server::{Bridged, Server, Starts, lock},
    status::{Detail, ServerState},
};

/// A call that failed on its way, kept for inspection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The tool's name.
    pub tool: String,
    /// What it was called with. Prints as its length only.
    pub arguments: RawJson,
    /// What went wrong, and whether it may have run.
    pub failure: Failure,
    /// What the model was told.
    pub text: String,
}

/// Where a list comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whence {
    /// The server has just said so.
    Server,
    /// It said so last time.
    Remembered,
}

pub(crate) struct Core {
    pub(crate) options: BridgeOptions,
    pub(crate) bus: Bus,
    pub(crate) registry: Registry,
    pub(crate) starts: Arc<Starts>,
    servers: Mutex<Vec<Arc<Server>>>,
    /// Servers nobody can call any more, which have calls in flight.
    retired: Mutex<Vec<Arc<Server>>>,
    dead: Mutex<VecDeque<DeadLetter>>,
    leases: AtomicU64,
    /// Files being written.
    pub(super) writes: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl Core {
    pub(super) fn new(options: BridgeOptions) -> Self {
        let registry = Registry::new(options.names);
        for name in ["tool_search", "tool_list"] {
            registry.naming(|namer| namer.reserve(name));
        }
        Self {
            bus: Bus::new(options.event_capacity),
            registry,
            starts: Arc::new(Starts::new(&options)),
            servers: Mutex::default(),
            retired: Mutex::default(),
            dead: Mutex::default(),
            leases: AtomicU64::new(0),
            writes: Mutex::default(),
            options,
        }
    }

    pub(super) fn add_server(self: &Arc<Self>, config: ServerConfig) {
        let trusted = config.trust;
        let name: Arc<str> = config.name.as_str().into();
        if let Some(old) = self.server(&name) {
            old.abort();
            lock(&self.servers).retain(|server| server.name != name);
            self.registry.remove_server(&name);
        }
        self.registry.add_server(&name);
        let (server, life, facts) = Server::new(config, trusted, self);
        let login = self.registry.naming(|namer| namer.own(&name, "authenticate"));
        let login = Arc::new(Registered::host(Arc::new(LoginTool::new(login, &server))));
        self.registry.set_login(&name, login);
        self.remembered(&server);
        self.recall_offers(&server);
        // Whoever looks next sees what is known of it, whether or not its supervisor has run by then.
        self.show(&server, &life, None);
        lock(&self.servers).push(server.clone());
        server.supervise(life, facts);
    }

    /// Shows the state of a server, and offers or withdraws its tools by it.
    pub(crate) fn show(&self, server: &Server, life: &Lifecycle, before: Option<ServerState>) {
        let (state, detail) = life.shown();
        // A server that is only resting can be called: the call wakes it, and meanwhile its tools stay.
        let offered = state == ServerState::Connected
            || detail == Detail::Idle
            || self.options.keep_stubs && state != ServerState::Disabled;
        let needs_login = state == ServerState::NeedsAuth || life.wants_login();
        if offered || before != Some(state) {
            self.registry.offer(&server.name, offered, needs_login);
        }
        server.show(state, detail, life.class());
    }

    /// Takes a server out of everything that can be seen. Its connection lives on.
    pub(super) fn take_server(&self, name: &str) -> Option<Arc<Server>> {
        let server = {
            let mut servers = lock(&self.servers);
            let at = servers.iter().position(|server| &*server.name == name);
            at.map(|at| servers.remove(at))?
        };
        self.registry.remove_server(name);
        Some(server)
    }

    /// Keeps hold of a server that was taken out, so that it ends with the bridge.
    pub(super) fn retire(&self, server: &Arc<Server>) {
        let mut retired = lock(&self.retired);
        retired.retain(|old| old.client().is_some());
        retired.push(server.clone());
    }

    pub(super) fn retired(&self) -> Vec<Arc<Server>> {
        std::mem::take(&mut *lock(&self.retired))
    }

    /// The number of the next conversation; the bridge's own is 0.
    pub(crate) fn next_lease(&self) -> u64 {
        self.leases.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        lock(&self.servers).clone()
    }

    pub(crate) fn server(&self, name: &str) -> Option<Arc<Server>> {
        lock(&self.servers).iter().find(|server| &*server.name == name).cloned()
    }

    pub(super) fn is_lazy(&self, config: &ServerConfig) -> bool {
        match config.connect {
            Some(ConnectMode::Lazy) => true,
            Some(ConnectMode::Eager) => false,
            _ => self.options.lazy_start,
        }
    }

    /// Servers that nobody has started and nothing is known of.
    pub(crate) fn unknown(&self) -> Vec<Arc<Server>> {
        let is_unknown = |server: &Arc<Server>| {
            let status = server.status();
            status.detail == Detail::Idle
                && status.generation == 0
                && server.config.enabled
                && self.is_lazy(&server.config)
        };
        self.servers().into_iter().filter(is_unknown).collect()
    }

    /// Starts what nothing is known of, since somebody looks for something that may be there.
    pub(crate) async fn discover(&self) {
        let unknown = self.unknown();
        for server in &unknown {
            server.tell(Fact::Wanted);
        }
        let deadline = tokio::time::Instant::now() + self.options.start_limit;
        for server in unknown {
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            server.settled(left, false).await;
        }
    }

    /// Starts the server that `server/tool` names, if nothing is known of it yet. Returns whether it was
    /// there to be started.
    pub(crate) async fn wake_server_of(&self, name: &str) -> bool {
        let is_meant = |server: &Arc<Server>| {
            name.strip_prefix(&*server.name).is_some_and(|rest| rest.starts_with('/'))
        };
        let Some(server) = self.unknown().into_iter().find(is_meant) else { return false };
        server.tell(Fact::Wanted);
        server.settled(self.options.start_limit, false).await;
        true
    }

    pub(crate) fn output_limit(&self, server: &str) -> Option<usize> {
        self.server(server)?.config.limits.output
    }

    /// Makes a server's list known. Returns how many tools it offers.
    pub(crate) fn publish(
        &self,
        server: &Arc<Server>,
        listing: &Listing<Listed>,
        whence: Whence,
    ) -> usize {
        let (generation, before) = {
            let live = server.live();
            (live.generation + 1, live.hashes.clone())
        };
        let terms = Terms {
            server: &server.name,
            config: &server.config,
            trusted: server.trusted,
            generation,
        };
        let publication = self.registry.naming(|namer| publish(listing, &terms, namer));
        let hashes: HashMap<Arc<str>, String> = publication
            .tools
            .iter()
            .filter_map(|tool| match &tool.spec.origin {
                crate::tool::Origin::Server { tool: name, .. } => {
                    Some((name.clone(), tool.spec.hash.clone()))
                }
                crate::tool::Origin::Host | crate::tool::Origin::Custom => None,
            })
            .collect();
        let count = publication.tools.len();
        if whence == Whence::Server {
            // Also if nothing is new: it is as fresh as this.
            self.store(server, listing, &publication.tools);
        }
        let is_first = generation == 1;
        if !is_first && hashes == before {
            // Nothing new, so nobody's prompt changes.
            server.live().quarantined = publication.quarantined;
            return count;
        }
        let added = hashes.keys().filter(|name| !before.contains_key(*name)).count();
        let removed = before.keys().filter(|name| !hashes.contains_key(*name)).count();
        let changed =
            hashes.iter().filter(|(name, hash)| before.get(*name).is_some_and(|b| b != *hash));
        let changed = changed.count();
        {
            let mut live = server.live();
            live.hashes = hashes;
            live.generation = generation;
            live.quarantined = publication.quarantined;
        }
        publication.events.into_iter().for_each(|event| self.bus.tell(event));
        let cards = publication.tools.iter().map(|tool| tool.card.clone()).collect();
        let tools = publication.tools.into_iter().filter_map(|definition| {
            let crate::tool::Origin::Server { tool: name, .. } = &definition.spec.origin else {
                return None;
            };
            let name = name.clone();
            let tool = Bridged::new(definition.spec.clone(), name.clone(), server);
            Some((name, Arc::new(Registered::bridged(Arc::new(tool), definition))))
        });
        self.registry.replace(&server.name, tools.collect(), cards);
        if !is_first {
            let server = server.name.clone();
            self.bus.tell(Event::ListChanged { server, added, removed, changed });
        }
        count
    }

    pub(crate) fn bury(&self, letter: DeadLetter) {
        let mut dead = lock(&self.dead);
        dead.push_back(letter);
        while dead.len() > self.options.max_dead_letters {
            dead.pop_front();
        }
    }

    pub(super) fn dead_letters(&self) -> Vec<DeadLetter> {
        lock(&self.dead).iter().cloned().collect()
    }
}

/// Supervisors do not keep their bridge, so they end with it.
impl Drop for Core {
    fn drop(&mut self) {
        for server in lock(&self.servers).drain(..) {
            server.abort();
        }
    }
}
