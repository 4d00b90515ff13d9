//! The registry of all tools, in a stable order.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_search::{Card, Index};
use mcp_tool::{Origin, Tool};

use crate::{
    sync::lock,
    tools::check::Check,
    tools::name::{NameScheme, Namer, is_called},
    tools::publish::Definition,
    tools::scope::Entry,
    trust::{Binding, Subject},
};

/// A tool with its registration data.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate property")]
pub(crate) struct Registered {
    pub(crate) tool: Entry,
    /// The full description.
    pub(crate) description: String,
    pub(crate) summary: String,
    pub(crate) always_load: bool,
    /// A composed tool that claims to be read-only. Plan mode checks its steps instead.
    pub(crate) claims_reading: bool,
    /// The tool requests consent itself while it runs, because the question depends on the run.
    pub(crate) asks_itself: bool,
    /// The definition as the server sent it, to compare with the approved one.
    pub(crate) raw: Arc<str>,
    /// The server that approvals of this tool are bound to.
    pub(crate) server: Arc<Binding>,
    /// Whether the description is truncated in the prompt.
    pub(crate) is_cut: bool,
    pub(crate) check: Check,
}

impl Registered {
    /// A tool of the host or of the bridge.
    pub(crate) fn own(tool: Entry) -> Self {
        let description = tool.spec().description.clone();
        let summary = crate::sanitize::summary(&description, crate::sanitize::SUMMARY);
        Self {
            description,
            summary,
            always_load: true,
            claims_reading: false,
            asks_itself: false,
            raw: "".into(),
            server: Arc::default(),
            is_cut: false,
            check: Check::new(),
            tool,
        }
    }

    pub(crate) fn host(tool: Arc<dyn Tool>) -> Self {
        Self::own(Entry::Plain(tool))
    }

    pub(crate) fn bridged(
        tool: Arc<dyn Tool>,
        definition: Definition,
        server: Arc<Binding>,
    ) -> Self {
        let Definition { description, summary, always_load, raw, is_cut, .. } = definition;
        Self {
            tool: Entry::Plain(tool),
            description,
            summary,
            always_load,
            claims_reading: false,
            asks_itself: false,
            raw,
            server,
            is_cut,
            check: Check::new(),
        }
    }

    /// The tool as a subject of consent.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            spec: self.tool.spec(),
            description: &self.description,
            raw: &self.raw,
            server: &self.server,
            claims_reading: self.claims_reading,
        }
    }
}

/// The tools of all servers and of the host.
pub(crate) struct Registry {
    inner: Mutex<Inner>,
    /// Incremented whenever the list of tools changes.
    version: AtomicU64,
    pub(crate) index: RwLock<Index>,
}

struct Inner {
    namer: Namer,
    host: Vec<Arc<Registered>>,
    servers: Vec<ServerSlot>,
    /// The position of each tool, assigned when it was first seen.
    places: HashMap<(Arc<str>, Arc<str>), Place>,
    additions: u64,
    /// The tools for reading resources. Offered while a server has resources.
    for_resources: Vec<Arc<Registered>>,
    all: Option<Arc<Vec<Arc<Registered>>>>,
}

/// The number of removed tools that keep their name and position, in case they return.
const REMEMBERED: usize = 20_000;

impl Inner {
    /// Discards old names of a server that publishes new names with every list, which bounds the memory.
    fn bound(&mut self, server: &Arc<str>) {
        let current: usize = self.servers.iter().map(|slot| slot.tools.len()).sum();
        if self.places.len() <= current + REMEMBERED {
            return;
        }
        let slot = self.servers.iter().find(|slot| slot.server == *server);
        let tools = slot.into_iter().flat_map(|slot| &slot.tools);
        let keep: HashSet<Arc<str>> = tools
            .filter_map(|(_, tool)| match &tool.tool.spec().origin {
                Origin::Server { tool, .. } => Some(tool.clone()),
                _ => None,
            })
            .collect();
        self.places.retain(|(of, tool), _| of != server || keep.contains(tool));
        self.namer.forget(server, |tool| !keep.contains(tool));
    }
}

/// A position in the list. The first list of each server is in configuration order; later additions follow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    addition: u64,
    server: usize,
    index: usize,
}

/// One server's tools.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate property")]
struct ServerSlot {
    server: Arc<str>,
    tools: Vec<(Place, Arc<Registered>)>,
    listed_before: bool,
    offered: bool,
    login: Option<Arc<Registered>>,
    needs_login: bool,
    has_resources: bool,
}

impl Registry {
    pub(crate) fn new(scheme: NameScheme, keep_hyphens: bool) -> Self {
        let inner = Inner {
            namer: Namer::new(scheme).keep_hyphens(keep_hyphens),
            host: Vec::new(),
            servers: Vec::new(),
            places: HashMap::new(),
            additions: 0,
            for_resources: Vec::new(),
            all: None,
        };
        Self {
            inner: Mutex::new(inner),
            version: AtomicU64::new(1),
            index: RwLock::new(Index::new()),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Adds a tool of the host. Returns whether its name was free.
    pub(crate) fn add_host(&self, tool: Arc<Registered>) -> bool {
        let mut inner = self.lock();
        let is_free = inner.namer.reserve(&tool.tool.spec().name);
        if is_free {
            inner.host.push(tool);
            self.changed(&mut inner);
        }
        is_free
    }

    /// Removes a tool of the host and releases its name. Returns whether it existed.
    pub(crate) fn remove_host(&self, name: &str) -> bool {
        let mut inner = self.lock();
        let Some(at) = inner.host.iter().position(|tool| tool.tool.spec().name == name) else {
            return false;
        };
        inner.host.remove(at);
        inner.namer.release(name);
        self.changed(&mut inner);
        true
    }

    /// Sets the tools to offer while a server has resources.
    pub(crate) fn for_resources(&self, tools: Vec<Arc<Registered>>) {
        let mut inner = self.lock();
        for tool in &tools {
            inner.namer.reserve(&tool.tool.spec().name);
        }
        inner.for_resources = tools;
        self.changed(&mut inner);
    }

    /// Sets whether a server has resources.
    pub(crate) fn has_resources(&self, server: &str, has: bool) {
        let mut inner = self.lock();
        let slot = inner.servers.iter_mut().find(|slot| &*slot.server == server);
        if let Some(slot) = slot.filter(|slot| slot.has_resources != has) {
            slot.has_resources = has;
            self.changed(&mut inner);
        }
    }

    /// Adds a server after the existing ones.
    pub(crate) fn add_server(&self, server: &Arc<str>) {
        let mut inner = self.lock();
        let slot = ServerSlot {
            server: server.clone(),
            tools: Vec::new(),
            listed_before: false,
            offered: false,
            needs_login: false,
            has_resources: false,
            login: None,
        };
        inner.servers.push(slot);
    }

    /// Sets the tool to offer while the server needs a login.
    pub(crate) fn set_login(&self, server: &str, login: Arc<Registered>) {
        let mut inner = self.lock();
        let slot = inner.servers.iter_mut().find(|slot| &*slot.server == server);
        if let Some(slot) = slot {
            slot.login = Some(login);
            self.changed(&mut inner);
        }
    }

    /// Removes a server's tools. Their positions are kept in case the server is added again.
    pub(crate) fn remove_server(&self, server: &str) {
        let mut inner = self.lock();
        inner.servers.retain(|slot| &*slot.server != server);
        self.changed(&mut inner);
        drop(inner);
        self.write_index(|index| {
            index.remove_server(server);
        });
    }

    /// Runs `name` with the namer.
    pub(crate) fn naming<T>(&self, name: impl FnOnce(&mut Namer) -> T) -> T {
        name(&mut self.lock().namer)
    }

    /// Replaces a server's tools.
    pub(crate) fn replace(
        &self,
        server: &str,
        tools: Vec<(Arc<str>, Arc<Registered>)>,
        cards: Vec<Arc<Card>>,
    ) {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let Some(at) = inner.servers.iter().position(|slot| &*slot.server == server) else {
            return;
        };
        let is_first = !inner.servers[at].listed_before;
        let name = inner.servers[at].server.clone();
        let mut placed = Vec::with_capacity(tools.len());
        for (index, (tool, registered)) in tools.into_iter().enumerate() {
            let (known, additions) = (&mut inner.places, &mut inner.additions);
            let place = *known.entry((name.clone(), tool)).or_insert_with(|| {
                *additions += u64::from(!is_first);
                let addition = if is_first { 0 } else { *additions };
                Place { addition, server: at, index }
            });
            placed.push((place, registered));
        }
        placed.sort_by_key(|(place, _)| *place);
        let slot = &mut inner.servers[at];
        slot.listed_before = true;
        slot.tools = placed;
        inner.bound(&name);
        self.changed(&mut guard);
        drop(guard);
        self.write_index(|index| index.replace_server(server, cards));
    }

    /// The tool in the latest list of its server.
    pub(crate) fn current(&self, origin: &Origin) -> Option<Arc<Registered>> {
        let Origin::Server { server, .. } = origin else { return None };
        let inner = self.lock();
        let slot = inner.servers.iter().find(|slot| slot.server == *server)?;
        let mut tools = slot.tools.iter().map(|(_, tool)| tool);
        tools.find(|tool| tool.tool.spec().origin == *origin).cloned()
    }

    /// The tools that a server currently offers, in order.
    pub(crate) fn offered_by(&self, server: &str) -> Vec<Arc<Registered>> {
        let inner = self.lock();
        let slot = inner.servers.iter().find(|slot| &*slot.server == server && slot.offered);
        slot.into_iter().flat_map(|slot| &slot.tools).map(|(_, tool)| tool.clone()).collect()
    }

    /// A tool that is withdrawn because its server is down.
    pub(crate) fn withdrawn(&self, name: &str) -> Option<Arc<Registered>> {
        let inner = self.lock();
        let down = inner.servers.iter().filter(|slot| !slot.offered);
        let mut tools = down.flat_map(|slot| &slot.tools).map(|(_, tool)| tool);
        tools.find(|tool| is_called(&tool.tool.spec().name, name)).cloned()
    }

    /// Sets whether a server's tools and its login tool are offered.
    pub(crate) fn offer(&self, server: &str, offered: bool, needs_login: bool) {
        let mut inner = self.lock();
        let slot = inner.servers.iter_mut().find(|slot| &*slot.server == server);
        let Some(slot) = slot else { return };
        if (slot.offered, slot.needs_login) != (offered, needs_login) {
            (slot.offered, slot.needs_login) = (offered, needs_login);
            self.changed(&mut inner);
        }
    }

    /// All tools that are currently offered, in order, with the version of the list.
    pub(crate) fn all(&self) -> (u64, Arc<Vec<Arc<Registered>>>) {
        let mut inner = self.lock();
        let version = self.version();
        if let Some(all) = &inner.all {
            return (version, all.clone());
        }
        let mut placed: Vec<(Place, &Arc<Registered>)> = Vec::new();
        for slot in inner.servers.iter().filter(|slot| slot.offered) {
            placed.extend(slot.tools.iter().map(|(place, tool)| (*place, tool)));
        }
        placed.sort_by_key(|(place, _)| *place);
        let logins = inner.servers.iter().filter(|slot| slot.needs_login);
        let all = inner.host.iter().chain(placed.into_iter().map(|(_, tool)| tool));
        let resources = inner.servers.iter().any(|slot| slot.has_resources && slot.offered);
        let resources = inner.for_resources.iter().filter(|_| resources);
        let all: Vec<_> = all
            .chain(resources)
            .chain(logins.filter_map(|slot| slot.login.as_ref()))
            .cloned()
            .collect();
        let all = Arc::new(all);
        inner.all = Some(all.clone());
        (version, all)
    }

    fn changed(&self, inner: &mut Inner) {
        inner.all = None;
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    fn write_index(&self, change: impl FnOnce(&mut Index)) {
        change(&mut self.index.write().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use futures_core::future::BoxFuture;
    use mcp_client::RawJson;

    use super::*;
    use crate::{CallContext, ToolOutcome, ToolSpec};

    struct Named(ToolSpec);

    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn call(&self, _: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
            Box::pin(async { ToolOutcome::text("") })
        }
    }

    #[test]
    fn memory_is_bounded_for_a_server_with_new_names_in_every_list() {
        let registry = Registry::new(NameScheme::default(), false);
        let (server, other): (Arc<str>, Arc<str>) = ("srv".into(), "other".into());
        registry.add_server(&other);
        registry.add_server(&server);
        let list = |of: &Arc<str>, names: std::ops::Range<usize>| {
            let tool = |n: usize| {
                let tool: Arc<str> = format!("t{n}").into();
                let mut spec = ToolSpec::new(registry.naming(|namer| namer.name(of, &tool)).0, "");
                spec.origin = Origin::Server { server: of.clone(), tool: tool.clone() };
                (tool, Arc::new(Registered::host(Arc::new(Named(spec)))))
            };
            registry.replace(of, names.map(tool).collect(), Vec::new());
        };
        list(&other, 0..10);
        for round in 0..60 {
            list(&server, round * 1_000..(round + 1) * 1_000);
            assert!(registry.lock().places.len() <= REMEMBERED + 2_010);
        }
        registry.offer(&server, true, false);
        registry.offer(&other, true, false);
        let names: Vec<_> =
            registry.all().1.iter().map(|tool| tool.tool.spec().name.clone()).collect();
        assert_eq!((names.len(), names[0].as_str()), (1_010, "mcp__other__t0"));
        assert_eq!(names[1_009], "mcp__srv__t59999");
    }
}
