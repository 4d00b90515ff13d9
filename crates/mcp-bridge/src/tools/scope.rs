//! The conversation of a call, and the tools that depend on it.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard},
};

use mcp_client::{BoxFuture, Handler, RawJson};
use mcp_config::model::glob_matches;
use mcp_tool::{CallContext, Offer, Origin, Tool, ToolOutcome, ToolSpec};

use crate::{caller::ConversationId, sync::lock, tools::name::name_matches, trust::Plan};

/// A conversation as its calls see it: identity, filter, plan and handler.
pub(crate) struct Caller {
    pub(crate) conversation: ConversationId,
    pub(crate) handler: Option<Arc<dyn Handler>>,
    pub(crate) filter: Filter,
    plan: Mutex<Plan>,
    /// The conversation that this one was derived from.
    parent: Option<Arc<Caller>>,
}

impl Caller {
    pub(crate) fn new(
        conversation: ConversationId,
        handler: Option<Arc<dyn Handler>>,
        filter: Filter,
        plan_mode: bool,
    ) -> Self {
        let plan = Mutex::new(Plan::new(plan_mode));
        Self { conversation, handler, filter, plan, parent: None }
    }

    /// A conversation derived from `parent`. Its filter and plan mode are at least as strict, and it uses the
    /// parent's handler unless it has its own.
    pub(crate) fn within(
        parent: &Arc<Caller>,
        conversation: ConversationId,
        handler: Option<Arc<dyn Handler>>,
        filter: Filter,
        plan_mode: bool,
    ) -> Self {
        let filter = Filter { outer: Some(Box::new(parent.filter.clone())), ..filter };
        let handler = handler.or_else(|| parent.handler.clone());
        let parent = Some(parent.clone());
        Self { parent, ..Self::new(conversation, handler, filter, plan_mode) }
    }

    /// Whether plan mode is on here or in a parent.
    pub(crate) fn is_planning(&self) -> bool {
        self.plan().is_on || self.parent.as_ref().is_some_and(|parent| parent.is_planning())
    }

    pub(crate) fn plan(&self) -> MutexGuard<'_, Plan> {
        lock(&self.plan)
    }
}

/// Globs over names and permissions that select the tools a conversation sees.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Empty: all.
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    /// The filter of the parent conversation, which applies too.
    pub(crate) outer: Option<Box<Filter>>,
}

impl Filter {
    pub(crate) fn new(allow: Vec<String>, deny: Vec<String>) -> Self {
        Self { allow, deny, outer: None }
    }

    pub(crate) fn admits(&self, spec: &ToolSpec) -> bool {
        if self.is_empty() {
            return true;
        }
        let permission = spec.permission();
        // Earlier versions had one permission for all resources of a server.
        let name = match &spec.origin {
            Origin::Offer { offer: Offer::Resource { .. }, .. } => {
                let server = permission.split(':').nth(1).unwrap_or_default();
                Cow::Owned(format!("mcp:{server}:resources"))
            }
            _ => Cow::Borrowed(spec.name.as_str()),
        };
        self.admits_either(&name, &permission)
            && self.outer.as_ref().is_none_or(|outer| outer.admits(spec))
    }

    /// Whether the conversation sees every tool.
    pub(crate) fn is_empty(&self) -> bool {
        self.allow.is_empty()
            && self.deny.is_empty()
            && self.outer.as_ref().is_none_or(|outer| outer.is_empty())
    }

    /// Whether a tool must not be used, not even as a step of a composed tool.
    pub(crate) fn denies(&self, spec: &ToolSpec) -> bool {
        let denies_itself =
            !self.deny.is_empty() && any_matches(&self.deny, &spec.name, &spec.permission());
        denies_itself || self.outer.as_ref().is_some_and(|outer| outer.denies(spec))
    }

    fn admits_either(&self, name: &str, permission: &str) -> bool {
        !any_matches(&self.deny, name, permission)
            && (self.allow.is_empty() || any_matches(&self.allow, name, permission))
    }
}

fn any_matches(globs: &[String], name: &str, permission: &str) -> bool {
    globs.iter().any(|glob| name_matches(glob, name) || glob_matches(glob, permission))
}

/// The conversation of a call, and the role of the call in it.
#[derive(Clone)]
pub(crate) struct Scope {
    /// For a step of a composed tool, the conversation of that tool's call.
    pub(crate) caller: Arc<Caller>,
    pub(crate) part: Part,
}

/// The role of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A call of a turn.
    Turn,
    /// A planned call after its review. Plan mode does not queue it again.
    Reviewed,
    /// A step of a composed tool. Only the result of the composed tool is truncated.
    Step {
        /// The composed tool's call was reviewed.
        reviewed: bool,
    },
}

impl Scope {
    /// The scope of a step of this call.
    pub(crate) fn step(&self) -> Self {
        let reviewed = matches!(self.part, Part::Reviewed | Part::Step { reviewed: true });
        Self { caller: self.caller.clone(), part: Part::Step { reviewed } }
    }
}

/// A tool of the bridge that depends on the conversation of its call.
pub(crate) trait ScopedTool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    fn call(
        &self,
        arguments: RawJson,
        context: CallContext,
        scope: Scope,
    ) -> BoxFuture<'_, ToolOutcome>;
}

/// A tool in the registry. Only tools of the bridge receive the scope.
pub(crate) enum Entry {
    /// A tool of a server or of the host.
    Plain(Arc<dyn Tool>),
    /// A composed tool, or a tool of the bridge.
    Scoped(Arc<dyn ScopedTool>),
}

impl Entry {
    pub(crate) fn spec(&self) -> &ToolSpec {
        match self {
            Entry::Plain(tool) => tool.spec(),
            Entry::Scoped(tool) => tool.spec(),
        }
    }

    pub(crate) fn call(
        &self,
        arguments: RawJson,
        context: CallContext,
        scope: Scope,
    ) -> BoxFuture<'_, ToolOutcome> {
        match self {
            Entry::Plain(tool) => tool.call(arguments, context),
            Entry::Scoped(tool) => tool.call(arguments, context, scope),
        }
    }
}
