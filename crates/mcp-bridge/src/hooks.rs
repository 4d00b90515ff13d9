//! Hooks: host code that runs before and after every call.

use std::{fmt, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_client::RawJson;
use mcp_config::model::glob_matches;
use mcp_tool::{ToolOutcome, ToolSpec};

use crate::{caller::ConversationId, tools::name::name_matches};

/// Observes, changes or blocks calls to all tools: those of servers, of the host and of the bridge.
///
/// ```
/// use mcp_bridge::{hooks::{Hook, HookCall, Verdict}, tool::BoxFuture};
///
/// struct NoForce;
/// impl Hook for NoForce {
///     fn before<'a>(&'a self, call: &'a mut HookCall) -> BoxFuture<'a, Verdict> {
///         Box::pin(async {
///             match call.arguments.get("force") {
///                 Some(force) if force.as_str() == "true" => Verdict::Block("not by force".into()),
///                 _ => Verdict::Continue,
///             }
///         })
///     }
/// }
/// ```
pub trait Hook: Send + Sync {
    /// The tools that this hook applies to: a glob over names or permissions, such as `mcp__github__*`. Default: all.
    #[expect(clippy::unnecessary_literal_bound, reason = "an implementation may return a field")]
    fn matcher(&self) -> &str {
        "*"
    }

    /// Runs before a call. May change its arguments or block it. Rules apply to the changed arguments.
    fn before<'a>(&'a self, call: &'a mut HookCall) -> BoxFuture<'a, Verdict> {
        let _ = call;
        Box::pin(async { Verdict::Continue })
    }

    /// Runs after every call, even if it failed, was cancelled, or was blocked by a hook. May change the outcome. A
    /// cancelled call waits for this too.
    fn after<'a>(&'a self, call: &'a HookCall, outcome: &'a mut ToolOutcome) -> BoxFuture<'a, ()> {
        let _ = (call, outcome);
        Box::pin(async {})
    }
}

/// A hook that runs a closure before every call: [`before`].
pub struct Before<F>(F, String);

/// A hook that runs a closure after every call: [`after`].
pub struct After<F>(F, String);

/// Creates a hook from a closure that runs before every call and may change its arguments or block it.
///
/// ```
/// use mcp_bridge::{BridgeOptions, hooks::{Verdict, before}};
///
/// let options = BridgeOptions::default().with_hook(before(|call| match call.arguments.get("force") {
///     Some(_) => Verdict::Block("not by force".into()),
///     None => Verdict::Continue,
/// }).matching("mcp__git__*"));
/// ```
pub fn before<F: Fn(&mut HookCall) -> Verdict + Send + Sync>(run: F) -> Before<F> {
    Before(run, "*".into())
}

/// Creates a hook from a closure that runs after every call, even a failed one, and may change the outcome.
pub fn after<F: Fn(&HookCall, &mut ToolOutcome) + Send + Sync>(run: F) -> After<F> {
    After(run, "*".into())
}

impl<F> Before<F> {
    /// Restricts the hook to tools with names or permissions that match this glob.
    #[must_use]
    pub fn matching(self, glob: impl Into<String>) -> Self {
        Self(self.0, glob.into())
    }
}

impl<F> After<F> {
    /// Restricts the hook to tools with names or permissions that match this glob.
    #[must_use]
    pub fn matching(self, glob: impl Into<String>) -> Self {
        Self(self.0, glob.into())
    }
}

impl<F: Fn(&mut HookCall) -> Verdict + Send + Sync> Hook for Before<F> {
    fn matcher(&self) -> &str {
        &self.1
    }

    fn before<'a>(&'a self, call: &'a mut HookCall) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready((self.0)(call)))
    }
}

impl<F: Fn(&HookCall, &mut ToolOutcome) + Send + Sync> Hook for After<F> {
    fn matcher(&self) -> &str {
        &self.1
    }

    fn after<'a>(&'a self, call: &'a HookCall, outcome: &'a mut ToolOutcome) -> BoxFuture<'a, ()> {
        (self.0)(call, outcome);
        Box::pin(std::future::ready(()))
    }
}

impl<F> fmt::Debug for Before<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Before").field(&self.1).finish()
    }
}

impl<F> fmt::Debug for After<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("After").field(&self.1).finish()
    }
}

/// Whether a hook applies to this tool.
pub(crate) fn applies(hook: &dyn Hook, spec: &ToolSpec) -> bool {
    let glob = hook.matcher();
    glob == "*" || name_matches(glob, &spec.name) || glob_matches(glob, &spec.permission())
}

/// Runs every `before` hook. Returns the reason if one blocks the call.
pub(crate) async fn run_before(hooks: &[&Arc<dyn Hook>], call: &mut HookCall) -> Option<String> {
    for hook in hooks {
        if let Verdict::Block(reason) = hook.before(call).await {
            return Some(reason);
        }
    }
    None
}

/// A call as hooks see it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookCall {
    /// The number of the call, as in events.
    pub id: u64,
    /// The conversation that makes the call.
    pub conversation: ConversationId,
    /// The tool.
    pub spec: ToolSpec,
    /// The arguments of the call.
    pub arguments: RawJson,
}

impl HookCall {
    pub(crate) fn new(
        id: u64,
        conversation: ConversationId,
        spec: ToolSpec,
        arguments: RawJson,
    ) -> Self {
        Self { id, conversation, spec, arguments }
    }
}

/// The decision of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a hook either continues or blocks")]
pub enum Verdict {
    /// Continue with the call.
    Continue,
    /// Block the call. The reason is given to the model.
    Block(String),
}
