//! One conversation's view of the tools.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use mcp_client::{Delivery, Handler, RawJson};
use mcp_config::glob_matches;
use mcp_search::{CountTokens, Estimate, Statistics, ToolText};

use crate::{
    bridge::Core,
    context::CallContext,
    events::Event,
    gate::{Gate, Part},
    lazy,
    outcome::{FailureKind, ToolOutcome},
    registry::Registered,
    server::lock,
    tool::{Origin, Tool, ToolSpec},
    trust::{Plan, Planned},
};

/// What a conversation has of its own.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct LeaseOptions {
    /// Only tools whose name or permission matches one of these globs. Empty: all.
    pub allow: Vec<String>,
    /// Never tools whose name or permission matches one of these. What a server has to read goes by
    /// `mcp:<server>:resources`.
    pub deny: Vec<String>,
    /// Answers what servers ask during this conversation's calls. Default: the bridge's. Servers are told
    /// that the host can do what the [bridge's](crate::BridgeOptions::handler) says it can.
    pub handler: Option<Arc<dyn Handler>>,
    /// Whether what would change something waits for review. Default no.
    pub plan_mode: bool,
    /// What users and hooks are told of who asks, such as the name of a sub-agent. Default: nothing.
    pub name: Option<String>,
}

/// Whose call it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversation {
    /// The [`Lease::id`] it is made in; 0 is the bridge's own conversation.
    pub id: u64,
    /// What the lease was named.
    pub name: Option<Arc<str>>,
}

impl fmt::Debug for LeaseOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseOptions")
            .field("allow", &self.allow)
            .field("deny", &self.deny)
            .field("plan_mode", &self.plan_mode)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One conversation's view: its own filter, loaded tools, plan, and somebody to ask. The connections are
/// everybody's. Clones are the same conversation.
#[derive(Clone)]
pub struct Lease {
    core: Arc<LeaseCore>,
    /// The last snapshot. Its tools know the conversation, so the conversation must not know them.
    last: Arc<Mutex<Option<(u64, usize, Snapshot)>>>,
}

pub(crate) struct LeaseCore {
    pub(crate) core: Arc<Core>,
    pub(crate) handler: Option<Arc<dyn Handler>>,
    pub(crate) conversation: Conversation,
    allow: Vec<String>,
    deny: Vec<String>,
    plan: Mutex<Plan>,
    view: Mutex<View>,
    /// `tool_search` and `tool_list`, which belong to this conversation.
    own: OnceLock<Vec<Arc<Registered>>>,
}

#[derive(Default)]
struct View {
    /// Tools that were found or called, in that order.
    active: Vec<String>,
    /// Once there were too many tools, they stay out: a prompt must not flip.
    is_lazy: bool,
}

/// The tools of one turn. Immutable: what changes meanwhile is in the next one.
#[derive(Clone)]
pub struct Snapshot(Arc<Shown>);

struct Shown {
    tools: Vec<Arc<dyn Tool>>,
    by_name: HashMap<String, usize>,
    version: u64,
    lazy: bool,
}

impl Snapshot {
    /// The tools, in an order that never reshuffles.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.0.tools
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.by_name.get(name).map(|at| &self.0.tools[*at])
    }

    /// Grows whenever the tools are others. The same number means the same tools.
    pub fn version(&self) -> u64 {
        self.0.version
    }

    /// Whether most tools are left out, to be searched for.
    pub fn is_lazy(&self) -> bool {
        self.0.lazy
    }

    /// Calls a tool by name. A name nobody has is an outcome like any other.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call up.
    pub async fn call(&self, name: &str, arguments: RawJson, context: CallContext) -> ToolOutcome {
        match self.get(name) {
            Some(tool) => tool.call(arguments, context).await,
            None => not_found(name),
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("tools", &self.0.tools.len())
            .field("version", &self.0.version)
            .finish_non_exhaustive()
    }
}

pub(crate) fn not_found(name: &str) -> ToolOutcome {
    let name = crate::hygiene::clean(name, 100).text;
    let text = format!("there is no tool called {name}");
    ToolOutcome::failed(FailureKind::NotFound, Delivery::NotSent, text)
}

fn any_matches(globs: &[String], name: &str, permission: &str) -> bool {
    globs.iter().any(|glob| glob_matches(glob, name) || glob_matches(glob, permission))
}

impl Lease {
    pub(crate) fn new(core: Arc<Core>, options: LeaseOptions) -> Self {
        let plan = Plan::new(options.plan_mode);
        let id = core.next_lease();
        let core = LeaseCore {
            core,
            conversation: Conversation { id, name: options.name.map(Into::into) },
            handler: options.handler,
            allow: options.allow,
            deny: options.deny,
            plan: Mutex::new(plan),
            view: Mutex::default(),
            own: OnceLock::new(),
        };
        Self { core: Arc::new(core), last: Arc::default() }
    }

    pub(crate) fn weak(&self) -> std::sync::Weak<LeaseCore> {
        Arc::downgrade(&self.core)
    }

    /// Its number, as those who are asked about its calls are told.
    pub fn id(&self) -> u64 {
        self.core.conversation.id
    }

    /// The tools for the turn that begins now. Cheap when nothing changed.
    pub fn snapshot(&self) -> Snapshot {
        let mut last = lock(&self.last);
        let version = (self.core.core.registry.version(), lock(&self.core.view).active.len());
        if let Some((of, active, snapshot)) = &*last
            && (*of, *active) == version
        {
            return snapshot.clone();
        }
        let (active, snapshot) = self.core.snapshot();
        *last = Some((snapshot.version(), active, snapshot.clone()));
        snapshot
    }

    /// The tool of this name, whether or not it is in the prompt. Asking for one loads it.
    pub fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if let Some(tool) = self.snapshot().get(name) {
            return Some(tool.clone());
        }
        let registered = self.core.visible().into_iter().find(|r| r.tool.spec().name == name)?;
        self.core.activate(std::iter::once(&registered));
        Some(self.core.gate(registered))
    }

    /// Calls a tool by name, loading it if it was only to be searched for.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call up.
    pub async fn call(&self, name: &str, arguments: RawJson, context: CallContext) -> ToolOutcome {
        match self.tool(name) {
            Some(tool) => tool.call(arguments, context).await,
            None => not_found(name),
        }
    }

    /// One line for each tool that is left out: its name and what it is for.
    pub fn summaries(&self) -> Vec<(String, String)> {
        let snapshot = self.snapshot();
        let all = self.core.visible();
        let hidden = all.iter().filter(|r| snapshot.get(&r.tool.spec().name).is_none());
        hidden.map(|r| (r.tool.spec().name.clone(), r.summary.clone())).collect()
    }

    /// What tools cost in tokens: as they are shown now, if all were loaded, if none were.
    pub fn statistics(&self) -> Statistics {
        let snapshot = self.snapshot();
        let all = self.core.visible();
        let definitions: Vec<RawJson> =
            all.iter().map(|r| r.tool.spec().definition("input_schema")).collect();
        let texts = all.iter().zip(&definitions).map(|(registered, definition)| {
            let spec = registered.tool.spec();
            let server = spec.server().unwrap_or_default();
            let mut text =
                ToolText::new(server, &spec.name, &registered.summary, definition.as_str());
            text.loaded = snapshot.get(&spec.name).is_some();
            text
        });
        Statistics::of(texts, &Estimate)
    }

    /// Whether what would change something waits for review.
    pub fn set_plan_mode(&self, on: bool) {
        self.core.plan().is_on = on;
    }

    /// The calls that wait for review, in order.
    pub fn planned(&self) -> Vec<Planned> {
        self.core.plan().waiting()
    }

    /// Takes a call out of the plan without running it.
    pub fn discard_planned(&self, id: u64) -> bool {
        self.core.plan().take(id).is_some()
    }

    /// Runs a call of the plan, reviewed and so approved. What a rule denies stays denied, and a tool that
    /// has changed since it was planned says so.
    pub async fn run_planned(&self, id: u64, mut context: CallContext) -> ToolOutcome {
        let Some(planned) = self.core.plan().take(id) else {
            return not_found(&format!("#{id}"));
        };
        let registered =
            self.core.visible().into_iter().find(|r| r.tool.spec().name == planned.tool);
        let Some(registered) = registered else { return not_found(&planned.tool) };
        if registered.tool.spec().hash != planned.hash {
            let text = format!(
                "definition changed: {} is no longer what it was when this call was planned",
                planned.tool
            );
            let kind = FailureKind::DefinitionChanged;
            return ToolOutcome::failed(kind, Delivery::NotSent, text);
        }
        context.approved = true;
        context.reviewed = true;
        let gate = Gate { registered, lease: self.core.clone() };
        gate.run(planned.arguments, context, Part::Reviewed).await
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("allow", &self.core.allow)
            .field("deny", &self.core.deny)
            .finish_non_exhaustive()
    }
}

impl LeaseCore {
    /// A view of everything, for what is done on behalf of others.
    pub(crate) fn plain(core: Arc<Core>) -> Arc<Self> {
        Lease::new(core, LeaseOptions::default()).core
    }

    pub(crate) fn plan(&self) -> MutexGuard<'_, Plan> {
        lock(&self.plan)
    }

    fn gate(self: &Arc<Self>, registered: Arc<Registered>) -> Arc<dyn Tool> {
        Arc::new(Gate { registered, lease: self.clone() })
    }

    fn admits(&self, spec: &ToolSpec) -> bool {
        !self.is_filtered() || self.admits_either(&spec.name, &spec.permission())
    }

    /// Whether there are tools this conversation may not see.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.allow.is_empty() || !self.deny.is_empty()
    }

    /// Whether this conversation may read what a server has, which rules call `mcp:<server>:resources`.
    pub(crate) fn admits_resources_of(&self, server: &str) -> bool {
        let permission = format!("mcp:{server}:resources");
        self.admits_either(&permission, &permission)
    }

    fn admits_either(&self, name: &str, permission: &str) -> bool {
        !any_matches(&self.deny, name, permission)
            && (self.allow.is_empty() || any_matches(&self.allow, name, permission))
    }

    /// Whether this conversation must never use a tool, not even as a part of another.
    fn denies(&self, spec: &ToolSpec) -> bool {
        !self.deny.is_empty() && any_matches(&self.deny, &spec.name, &spec.permission())
    }

    /// Calls a tool as a step of another one. What is made of others cannot be made of itself.
    pub(crate) async fn step(
        self: &Arc<Self>,
        name: &str,
        arguments: RawJson,
        context: CallContext,
    ) -> ToolOutcome {
        let mut registered = self.meant(name);
        if registered.is_none() && self.core.wake_server_of(name).await {
            registered = self.meant(name);
        }
        // Whoever may use a tool need not see what it is made of, but what is denied to them stays denied.
        let asks = context.lease.clone();
        let is_denied = |r: &Arc<Registered>| asks.is_some_and(|lease| lease.denies(r.tool.spec()));
        let Some(registered) = registered.filter(|r| !is_denied(r)) else {
            return not_found(name);
        };
        let gate = Gate { registered, lease: self.clone() };
        Box::pin(gate.run(arguments, context, Part::Step)).await
    }

    /// A server's tool as a step names it: as models do, or as `server/tool`.
    fn meant(&self, name: &str) -> Option<Arc<Registered>> {
        self.visible().into_iter().find(|registered| match &registered.tool.spec().origin {
            Origin::Server { server, tool } => {
                let rest = name.strip_prefix(&**server).and_then(|rest| rest.strip_prefix('/'));
                registered.tool.spec().name == name || rest == Some(&**tool)
            }
            Origin::Host | Origin::Custom => false,
        })
    }

    /// Every tool this conversation may use, loaded or not.
    pub(crate) fn visible(&self) -> Vec<Arc<Registered>> {
        let (_, all) = self.core.registry.all();
        all.iter().filter(|r| self.admits(r.tool.spec())).cloned().collect()
    }

    /// The tools for a turn, and how many were loaded on the way to it.
    fn snapshot(self: &Arc<Self>) -> (usize, Snapshot) {
        let (version, all) = self.core.registry.all();
        let all: Vec<_> = all.iter().filter(|r| self.admits(r.tool.spec())).collect();
        let mut view = lock(&self.view);
        view.is_lazy |= self.is_too_much(&all);
        let shown: Vec<Arc<Registered>> = if view.is_lazy {
            let active: HashSet<&str> = view.active.iter().map(String::as_str).collect();
            let stays = |r: &&&Arc<Registered>| {
                let spec = r.tool.spec();
                spec.server().is_none()
                    || r.always_load
                    || self.core.options.always_load.iter().any(|g| glob_matches(g, &spec.name))
            };
            let is_active = |r: &&&Arc<Registered>| active.contains(r.tool.spec().name.as_str());
            // What was found later comes last, so that what a prompt begins with stays the same.
            let mut found: Vec<_> =
                all.iter().filter(|r| !stays(r) && is_active(r)).map(|r| (*r).clone()).collect();
            found.sort_by_key(|r| view.active.iter().position(|n| *n == r.tool.spec().name));
            let own = self.own.get_or_init(|| lazy::tools(self));
            let stay = all.iter().filter(stays).map(|r| (*r).clone());
            stay.chain(own.iter().cloned()).chain(found).collect()
        } else {
            let mut shown: Vec<_> = all.into_iter().cloned().collect();
            if self.core.options.tool_search && !self.core.unknown().is_empty() {
                // Nobody can call what nobody knows of: looking for it starts it.
                shown.extend(self.own.get_or_init(|| lazy::tools(self)).iter().cloned());
            }
            shown
        };
        let tools: Vec<_> = shown.into_iter().map(|registered| self.gate(registered)).collect();
        let by_name =
            tools.iter().enumerate().map(|(at, tool)| (tool.spec().name.clone(), at)).collect();
        let lazy = view.is_lazy;
        let active = view.active.len();
        (active, Snapshot(Arc::new(Shown { tools, by_name, version, lazy })))
    }

    /// Whether all tools together are more than a prompt should hold.
    fn is_too_much(&self, all: &[&Arc<Registered>]) -> bool {
        let options = &self.core.options;
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
    pub(crate) fn activate<'a>(&self, tools: impl Iterator<Item = &'a Arc<Registered>>) {
        let mut view = lock(&self.view);
        for registered in tools {
            let name = &registered.tool.spec().name;
            if !view.active.contains(name) {
                view.active.push(name.clone());
                self.core.bus.tell(Event::ToolLoaded { tool: name.as_str().into() });
            }
        }
    }
}
