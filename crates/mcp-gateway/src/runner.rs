//! Finds tools of the bridge and runs them for clients.

use std::{fmt, sync::Arc};

use mcp_bridge::{
    Bridge, ServerStatus,
    tool::Delivery,
    trust::{Decision, Policy, PolicyCall},
};
use mcp_tool::{CallContext, FailureKind, RawJson, Tool, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::{in_flight::CallsInFlight, relay::Relay};

/// The bridge's own tools for resources.
const RESOURCE_TOOLS: [&str; 2] = ["list_mcp_resources", "read_mcp_resource"];

/// Access to the tools behind a gateway. Clones share them.
#[derive(Clone)]
pub(crate) struct Runner {
    bridge: Bridge,
    /// The policy of the bridge.
    policy: Arc<dyn Policy>,
    /// Whether [`RESOURCE_TOOLS`] are offered.
    has_resource_tools: bool,
    calls: Arc<CallsInFlight>,
}

impl Runner {
    pub(crate) fn new(bridge: &Bridge, policy: Arc<dyn Policy>, has_resource_tools: bool) -> Self {
        Self { bridge: bridge.clone(), policy, has_resource_tools, calls: Arc::default() }
    }

    pub(crate) fn bridge(&self) -> &Bridge {
        &self.bridge
    }

    pub(crate) fn calls(&self) -> &CallsInFlight {
        &self.calls
    }

    /// The tool with this id, listed or not.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<dyn Tool>> {
        self.bridge.conversation().tool(id).filter(|tool| self.is_offered(tool.spec()))
    }

    /// Whether a tool is known to be read-only: its annotation says so, and its server is trusted or a rule allows it.
    /// Annotations of other servers are not reliable.
    pub(crate) fn is_known_to_read(&self, spec: &ToolSpec, arguments: &RawJson) -> bool {
        let arguments: Value = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        spec.hints.is_read_only()
            && spec.hints.destructive != Some(true)
            && self.policy.decide(&PolicyCall::new(spec, &arguments)) == Decision::Allow
    }

    pub(crate) fn is_offered(&self, spec: &ToolSpec) -> bool {
        let is_resource_tool =
            spec.server().is_none() && RESOURCE_TOOLS.contains(&spec.name.as_str());
        self.has_resource_tools || !is_resource_tool
    }

    /// The current version of an offered tool. If its server was replaced because its entry changed, waits for the
    /// successor to connect.
    pub(crate) async fn current(&self, offered: &Arc<dyn Tool>) -> Arc<dyn Tool> {
        let spec = offered.spec();
        let now = || self.bridge.snapshot().get(&spec.name).cloned();
        if let Some(tool) = now() {
            return tool;
        }
        if let Some(server) = spec.server() {
            let _ = self.bridge.wake(server);
            self.bridge.wait_for(server, ServerStatus::is_settled).await;
        }
        // A tool with another definition is not the one that was offered; the old one reports that it is gone.
        let now = now().filter(|tool| tool.spec().hash == spec.hash);
        now.unwrap_or_else(|| offered.clone())
    }

    /// Runs a tool, unless the gateway is draining.
    pub(crate) async fn run(
        &self,
        tool: &dyn Tool,
        arguments: RawJson,
        mut context: CallContext,
    ) -> ToolOutcome {
        let Some(_in_flight) = self.calls.begin() else {
            let text = "the gateway is about to end";
            return ToolOutcome::failed(FailureKind::Unavailable, Delivery::NotSent, text);
        };
        context.owner = context.owner.map(Relay::to);
        tool.call(arguments, context).await
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("calls", &self.calls).finish_non_exhaustive()
    }
}
