//! The tools of all servers as the gateway offers them.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_bridge::ConversationOptions;
use mcp_server::ToolServer;
use mcp_tool::{CallContext, RawJson, Tool, ToolOutcome, ToolSpec};
use mcp_types::BoxFuture;

use crate::{callers::ToolCaller, in_flight::CallsInFlight, lane::Lane, runner::Runner, search};

/// The tools of a bridge as tools of a server.
#[derive(Clone, Debug)]
pub(crate) struct GatewayTools {
    runner: Runner,
    /// The definitions that were offered last.
    offered: Arc<Mutex<Vec<RawJson>>>,
}

impl GatewayTools {
    pub(crate) fn new(runner: Runner) -> Self {
        Self { runner, offered: Arc::default() }
    }

    pub(crate) fn calls(&self) -> &CallsInFlight {
        self.runner.calls()
    }

    /// Offers the current tools of the bridge. Clients are notified only if they changed.
    pub(crate) fn offer(&self, server: &ToolServer) {
        // Held throughout, so that the latest of concurrent changes is offered last.
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = self.tools();
        let definitions = tools.iter().map(|tool| tool.spec().definition("inputSchema")).collect();
        if *offered != definitions {
            *offered = definitions;
            server.set_tools(tools);
        }
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let snapshot = self.runner.bridge().snapshot();
        // Tools loaded by a search are run by `tool_call`: a growing list would be sent to every client.
        let always: Option<HashSet<String>> = snapshot.is_lazy().then(|| {
            let fresh =
                self.runner.bridge().start_conversation(ConversationOptions::default()).snapshot();
            fresh.tools().iter().map(|tool| tool.spec().name.clone()).collect()
        });
        let is_shown = |tool: &&Arc<dyn Tool>| {
            self.runner.is_offered(tool.spec())
                && always.as_ref().is_none_or(|always| always.contains(&tool.spec().name))
        };
        let gated = |tool: &Arc<dyn Tool>| {
            Arc::new(GatewayTool::new(tool.clone(), self.runner.clone())) as Arc<dyn Tool>
        };
        let mut tools: Vec<_> = snapshot.tools().iter().filter(is_shown).map(gated).collect();
        if snapshot.is_lazy() {
            let caller =
                |lane| Arc::new(ToolCaller::new(lane, self.runner.clone())) as Arc<dyn Tool>;
            tools.extend([Lane::Any, Lane::Reading].map(caller));
        }
        tools
    }
}

/// A tool of the bridge in the list of the gateway.
struct GatewayTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
    runner: Runner,
}

impl GatewayTool {
    fn new(tool: Arc<dyn Tool>, runner: Runner) -> Self {
        let spec = tool.spec();
        let spec = if search::is_search(spec) { search::spec(spec) } else { spec.clone() };
        Self { spec, tool, runner }
    }
}

impl Tool for GatewayTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, mut context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        // Clients reject results without structured content if the tool has an output schema.
        context.verbatim = self.spec.output_schema.is_some();
        Box::pin(async move {
            let tool = self.runner.current(&self.tool).await;
            search::run(&self.runner, &*tool, arguments, context).await
        })
    }
}
