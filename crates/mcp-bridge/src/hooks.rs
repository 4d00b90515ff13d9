//! Code of the host that runs before and after every call.

use futures_core::future::BoxFuture;
use mcp_client::RawJson;

use crate::{lease::Conversation, outcome::ToolOutcome, tool::ToolSpec};

/// Watches, changes or blocks calls of every tool: a server's, the host's, the bridge's own.
///
/// ```
/// use mcp_bridge::{BoxFuture, Hook, HookCall, Verdict};
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
    /// Before a call: may change its arguments, or block it. Rules decide over what comes out.
    fn before<'a>(&'a self, call: &'a mut HookCall) -> BoxFuture<'a, Verdict> {
        let _ = call;
        Box::pin(async { Verdict::Continue })
    }

    /// After a call, whatever came of it: may change the outcome.
    fn after<'a>(&'a self, call: &'a HookCall, outcome: &'a mut ToolOutcome) -> BoxFuture<'a, ()> {
        let _ = (call, outcome);
        Box::pin(async {})
    }
}

/// A call as hooks see it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookCall {
    /// Its number, as events have it.
    pub id: u64,
    /// Whose call it is.
    pub conversation: Conversation,
    /// The tool.
    pub spec: ToolSpec,
    /// What it is called with.
    pub arguments: RawJson,
}

impl HookCall {
    pub(crate) fn new(
        id: u64,
        conversation: Conversation,
        spec: ToolSpec,
        arguments: RawJson,
    ) -> Self {
        Self { id, conversation, spec, arguments }
    }
}

/// What a hook wants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "go on or stop")]
pub enum Verdict {
    /// Go on.
    Continue,
    /// Do not. The model is told why.
    Block(String),
}
