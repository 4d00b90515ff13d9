//! All tools there are, in an order that never reshuffles.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_search::{Card, Index};

use crate::{
    check::Check,
    name::{NameScheme, Namer},
    publish::Definition,
    server::lock,
    tool::{Origin, Tool},
};

/// A tool and what is known about it besides.
pub(crate) struct Registered {
    pub(crate) tool: Arc<dyn Tool>,
    /// The server's whole description.
    pub(crate) description: String,
    pub(crate) summary: String,
    pub(crate) always_load: bool,
    /// It is made of others and says that it changes nothing: plan mode looks at what it is made of.
    pub(crate) claims_reading: bool,
    /// What a server said, to compare with what was approved.
    pub(crate) raw: Arc<str>,
    pub(crate) check: Check,
}

impl Registered {
    pub(crate) fn host(tool: Arc<dyn Tool>) -> Self {
        let description = tool.spec().description.clone();
        let summary = crate::hygiene::summary(&description, crate::hygiene::SUMMARY);
        Self {
            description,
            summary,
            always_load: true,
            claims_reading: false,
            raw: "".into(),
            check: Check::new(),
            tool,
        }
    }

    pub(crate) fn bridged(tool: Arc<dyn Tool>, definition: Definition) -> Self {
        let Definition { description, summary, always_load, raw, .. } = definition;
        let (check, claims_reading) = (Check::new(), false);
        Self { tool, description, summary, always_load, claims_reading, raw, check }
    }
}

/// The tools of every server, and the host's own.
pub(crate) struct Registry {
    inner: Mutex<Inner>,
    /// Grows whenever another list of tools would be given out.
    version: AtomicU64,
    pub(crate) index: RwLock<Index>,
}

struct Inner {
    namer: Namer,
    host: Vec<Arc<Registered>>,
    servers: Vec<Stand>,
    /// Where a tool stands, from when it was first seen.
    places: HashMap<(Arc<str>, Arc<str>), Place>,
    additions: u64,
    /// Offered as long as some server has resources.
    for_resources: Vec<Arc<Registered>>,
    all: Option<Arc<Vec<Arc<Registered>>>>,
}

/// So many names of tools that are gone are remembered, should they come back.
const REMEMBERED: usize = 20_000;

impl Inner {
    /// A server that thinks of new names with every list must not fill our memory with the old ones.
    fn bound(&mut self, server: &Arc<str>) {
        let current: usize = self.servers.iter().map(|stand| stand.tools.len()).sum();
        if self.places.len() <= current + REMEMBERED {
            return;
        }
        let stand = self.servers.iter().find(|stand| stand.server == *server);
        let tools = stand.into_iter().flat_map(|stand| &stand.tools);
        let keep: HashSet<Arc<str>> = tools
            .filter_map(|(_, tool)| match &tool.tool.spec().origin {
                Origin::Server { tool, .. } => Some(tool.clone()),
                Origin::Host | Origin::Custom => None,
            })
            .collect();
        self.places.retain(|(of, tool), _| of != server || keep.contains(tool));
        self.namer.forget(server, |tool| !keep.contains(tool));
    }
}

/// The first list of each server stands in the order of the configuration; what came later, after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    addition: u64,
    server: usize,
    index: usize,
}

/// One server's tools.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Stand {
    server: Arc<str>,
    tools: Vec<(Place, Arc<Registered>)>,
    listed_before: bool,
    offered: bool,
    login: Option<Arc<Registered>>,
    needs_login: bool,
    has_resources: bool,
}

impl Registry {
    pub(crate) fn new(scheme: NameScheme) -> Self {
        let inner = Inner {
            namer: Namer::new(scheme),
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

    /// Takes a tool of the host away, and frees its name. Returns whether there was one.
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

    /// The tools to offer as long as some server has resources.
    pub(crate) fn for_resources(&self, tools: Vec<Arc<Registered>>) {
        let mut inner = self.lock();
        for tool in &tools {
            inner.namer.reserve(&tool.tool.spec().name);
        }
        inner.for_resources = tools;
        self.changed(&mut inner);
    }

    /// Whether a server has resources.
    pub(crate) fn has_resources(&self, server: &str, has: bool) {
        let mut inner = self.lock();
        let stand = inner.servers.iter_mut().find(|stand| &*stand.server == server);
        if let Some(stand) = stand.filter(|stand| stand.has_resources != has) {
            stand.has_resources = has;
            self.changed(&mut inner);
        }
    }

    /// Makes room for a server, after those that are there.
    pub(crate) fn add_server(&self, server: &Arc<str>) {
        let mut inner = self.lock();
        let stand = Stand {
            server: server.clone(),
            tools: Vec::new(),
            listed_before: false,
            offered: false,
            needs_login: false,
            has_resources: false,
            login: None,
        };
        inner.servers.push(stand);
    }

    /// The tool to offer while the server needs a login.
    pub(crate) fn set_login(&self, server: &str, login: Arc<Registered>) {
        let mut inner = self.lock();
        let stand = inner.servers.iter_mut().find(|stand| &*stand.server == server);
        if let Some(stand) = stand {
            stand.login = Some(login);
            self.changed(&mut inner);
        }
    }

    /// Forgets a server's tools. Their places are kept, should it come back.
    pub(crate) fn remove_server(&self, server: &str) {
        let mut inner = self.lock();
        inner.servers.retain(|stand| &*stand.server != server);
        self.changed(&mut inner);
        drop(inner);
        self.write_index(|index| {
            index.remove_server(server);
        });
    }

    /// Runs `name` with what gives out names.
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
        let Some(at) = inner.servers.iter().position(|stand| &*stand.server == server) else {
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
        let stand = &mut inner.servers[at];
        stand.listed_before = true;
        stand.tools = placed;
        inner.bound(&name);
        self.changed(&mut guard);
        drop(guard);
        self.write_index(|index| index.replace_server(server, cards));
    }

    /// Offers a server's tools, or its login, or neither.
    pub(crate) fn offer(&self, server: &str, offered: bool, needs_login: bool) {
        let mut inner = self.lock();
        let stand = inner.servers.iter_mut().find(|stand| &*stand.server == server);
        let Some(stand) = stand else { return };
        if (stand.offered, stand.needs_login) != (offered, needs_login) {
            (stand.offered, stand.needs_login) = (offered, needs_login);
            self.changed(&mut inner);
        }
    }

    /// Every tool that may be offered now, in order.
    pub(crate) fn all(&self) -> (u64, Arc<Vec<Arc<Registered>>>) {
        let mut inner = self.lock();
        let version = self.version();
        if let Some(all) = &inner.all {
            return (version, all.clone());
        }
        let mut placed: Vec<(Place, &Arc<Registered>)> = Vec::new();
        for stand in inner.servers.iter().filter(|stand| stand.offered) {
            placed.extend(stand.tools.iter().map(|(place, tool)| (*place, tool)));
        }
        placed.sort_by_key(|(place, _)| *place);
        let logins = inner.servers.iter().filter(|stand| stand.needs_login);
        let all = inner.host.iter().chain(placed.into_iter().map(|(_, tool)| tool));
        let resources = inner.servers.iter().any(|stand| stand.has_resources && stand.offered);
        let resources = inner.for_resources.iter().filter(|_| resources);
        let all: Vec<_> = all
            .chain(resources)
            .chain(logins.filter_map(|stand| stand.login.as_ref()))
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
    fn a_server_that_thinks_of_new_names_with_every_list_is_bounded() {
        let registry = Registry::new(NameScheme::default());
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
