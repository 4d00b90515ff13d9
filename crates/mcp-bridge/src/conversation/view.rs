//! The tools that one conversation sees: filtered, and loaded on demand when there are too many.

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_search::cost::{CountTokens, Estimate};
use mcp_tool::{Origin, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::{
    call::{gate::Gate, not_found},
    directory::Directory,
    events::Event,
    nearest,
    sync::lock,
    tools::{
        name::{is_called, name_matches},
        registry::Registered,
        scope::Caller,
    },
    trust::{Decision, PolicyCall},
};

/// The maximum number of tools that a conversation restores.
const MOST_LOADED: usize = 1_000;

/// One conversation's view of the tools of a bridge.
pub(super) struct View {
    pub(super) directory: Arc<Directory>,
    pub(super) caller: Arc<Caller>,
    loaded: Mutex<Loaded>,
}

#[derive(Default)]
struct Loaded {
    /// The names of tools that were found or called, in order.
    active: Vec<String>,
    /// Set once there were too many tools, and never cleared: the prompt must stay stable.
    is_lazy: bool,
}

/// The version of the registry, and the number of tools this conversation has loaded.
type Version = (u64, usize);

impl View {
    pub(super) fn new(directory: Arc<Directory>, caller: Arc<Caller>) -> Self {
        Self { directory, caller, loaded: Mutex::default() }
    }

    pub(super) fn gate(&self, registered: Arc<Registered>) -> Gate {
        Gate { registered, directory: self.directory.clone(), caller: self.caller.clone() }
    }

    /// Every tool this conversation may use, loaded or not.
    pub(super) fn visible(&self) -> Vec<Arc<Registered>> {
        let (_, all) = self.directory.hub.registry.all();
        all.iter().filter(|r| self.admits(r)).cloned().collect()
    }

    /// Finds the visible tool of this name, or a tool of a disconnected server, which fails with the reason when
    /// called.
    pub(super) fn find(&self, name: &str) -> Option<Arc<Registered>> {
        let found = self.visible().into_iter().find(|r| is_called(&r.tool.spec().name, name));
        found.or_else(|| self.withdrawn(name))
    }

    /// Finds the tool of this name, loaded or not. If it is unknown, the server that the name points to is queried
    /// first, provided that this conversation may use such a tool.
    ///
    /// # Errors
    /// Returns the outcome for an unknown tool, with similar names.
    pub(super) async fn look_up(&self, name: &str) -> Result<Arc<Registered>, ToolOutcome> {
        if let Some(found) = self.find(name) {
            return Ok(found);
        }
        if let Some((server, tool)) = self.directory.server_of(name)
            && self.may_use(&server.name, tool)
            && server.look_for(tool).await
            && let Some(found) = self.find(name)
        {
            return Ok(found);
        }
        let index = self.directory.hub.registry.index.read();
        let index = index.unwrap_or_else(PoisonError::into_inner);
        let nearest = nearest::in_index(&index, name, |near| self.find(near).is_some());
        Err(not_found(name, &nearest))
    }

    /// Whether the filter and the rules let this conversation use a tool of a server.
    fn may_use(&self, server: &Arc<str>, tool: &str) -> bool {
        let name = self.directory.hub.registry.naming(|namer| namer.prefix(server));
        let mut spec = ToolSpec::new(name.unwrap_or_default() + tool, "");
        spec.origin = Origin::Server { server: server.clone(), tool: tool.into() };
        self.caller.filter.admits(&spec) && !self.is_denied(&spec)
    }

    fn is_denied(&self, spec: &ToolSpec) -> bool {
        let policy = &self.directory.hub.options.policy;
        matches!(policy.decide(&PolicyCall::new(spec, &Value::Null)), Decision::Deny(_))
    }

    /// Loads a tool that was called by name, unless a rule denies it.
    pub(super) fn load(&self, registered: &Arc<Registered>) {
        if !self.is_denied(registered.tool.spec()) {
            self.activate(std::iter::once(registered));
        }
    }

    /// The names of the tools that this conversation has loaded, in that order.
    pub(super) fn loaded(&self) -> Vec<String> {
        lock(&self.loaded).active.clone()
    }

    /// Loads tools by name, including tools that do not exist yet.
    pub(super) fn restore<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut loaded = lock(&self.loaded);
        for name in names {
            if loaded.active.len() < MOST_LOADED
                && !loaded.active.iter().any(|n| is_called(n, name))
            {
                loaded.active.push(name.to_owned());
            }
        }
    }

    /// Finds a tool of a disconnected server.
    fn withdrawn(&self, name: &str) -> Option<Arc<Registered>> {
        self.directory.hub.registry.withdrawn(name).filter(|r| self.admits(r))
    }

    /// Whether this conversation sees a tool. A login tool that a rule denies is hidden.
    fn admits(&self, registered: &Registered) -> bool {
        let spec = registered.tool.spec();
        let is_login = matches!(spec.origin, Origin::Offer { .. });
        self.caller.filter.admits(spec) && !(is_login && self.is_denied(spec))
    }

    /// Changes whenever [`shown`](Self::shown) would return different tools.
    pub(super) fn version(&self) -> Version {
        (self.directory.hub.registry.version(), lock(&self.loaded).active.len())
    }

    /// Returns the tools for a turn, their version, and whether most tools were omitted. Adds `search_tools` if tools
    /// are omitted or unknown.
    pub(super) fn shown<'a>(
        &self,
        search_tools: impl Fn() -> &'a [Arc<Registered>],
    ) -> (Version, Vec<Arc<Registered>>, bool) {
        let hub = &self.directory.hub;
        let (version, all) = hub.registry.all();
        let all: Vec<_> = all.iter().filter(|r| self.admits(r)).collect();
        let mut loaded = lock(&self.loaded);
        loaded.is_lazy |= self.is_too_much(&all);
        let shown: Vec<Arc<Registered>> = if loaded.is_lazy {
            // A restored name may be from the time when names kept their hyphens.
            let active = loaded.active.iter();
            let active: HashSet<Cow<'_, str>> = active
                .flat_map(|name| [name.as_str().into(), name.replace('-', "_").into()])
                .collect();
            let stays = |r: &&&Arc<Registered>| {
                let spec = r.tool.spec();
                r.always_load || hub.options.always_load.iter().any(|g| name_matches(g, &spec.name))
            };
            let is_active = |r: &&&Arc<Registered>| active.contains(r.tool.spec().name.as_str());
            // Found tools come last, so that the beginning of the prompt stays the same.
            let mut found: Vec<_> =
                all.iter().filter(|r| !stays(r) && is_active(r)).map(|r| (*r).clone()).collect();
            let place = |r: &Arc<Registered>| {
                loaded.active.iter().position(|name| is_called(&r.tool.spec().name, name))
            };
            found.sort_by_key(place);
            let stay = all.iter().filter(stays).map(|r| (*r).clone());
            stay.chain(search_tools().iter().cloned()).chain(found).collect()
        } else {
            let mut shown: Vec<_> = all.into_iter().cloned().collect();
            let has_more = || {
                // Tools of a server that was never started cannot be called by name: searching starts the server.
                shown.iter().any(|r| r.is_cut) || !self.directory.unknown().is_empty()
            };
            if hub.options.tool_search && has_more() {
                shown.extend(search_tools().iter().cloned());
            }
            shown
        };
        ((version, loaded.active.len()), shown, loaded.is_lazy)
    }

    /// Whether all tools together exceed the limits for a prompt.
    fn is_too_much(&self, all: &[&Arc<Registered>]) -> bool {
        let options = &self.directory.hub.options;
        if !options.tool_search {
            return false;
        }
        if all.len() > options.search_threshold {
            return true;
        }
        let Some(budget) = options.token_budget else { return false };
        let tokens = |r: &&Arc<Registered>| {
            Estimate.tokens(r.tool.spec().definition("input_schema").as_str())
        };
        all.iter().map(tokens).sum::<usize>() > budget
    }

    /// Loads tools for the rest of the conversation.
    pub(super) fn activate<'a>(&self, tools: impl Iterator<Item = &'a Arc<Registered>>) {
        let mut loaded = lock(&self.loaded);
        for registered in tools {
            let name = &registered.tool.spec().name;
            if !loaded.active.iter().any(|known| is_called(name, known)) {
                loaded.active.push(name.clone());
                self.directory.hub.bus.tell(Event::ToolLoaded { tool: name.as_str().into() });
            }
        }
    }
}
