//! The tools as the gateway's clients see them.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use mcp_bridge::{
    BoxFuture, Bridge, CallContext, FailureKind, LeaseOptions, RawJson, Tool, ToolOutcome,
    ToolServer, ToolSpec,
};
use mcp_client::Delivery;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{app, out::brief};

/// Turns the tools of a bridge into tools of a server.
#[derive(Clone)]
pub(super) struct Gate {
    bridge: Bridge,
    /// The definitions that were offered last.
    offered: Arc<Mutex<Vec<RawJson>>>,
    /// Calls in flight.
    calls: Arc<watch::Sender<usize>>,
    /// No more calls are taken.
    is_closed: Arc<AtomicBool>,
}

/// A call in flight, for as long as it lives.
struct InFlight<'a>(&'a watch::Sender<usize>);

impl<'a> InFlight<'a> {
    fn begin(calls: &'a watch::Sender<usize>) -> Self {
        calls.send_modify(|calls| *calls += 1);
        Self(calls)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

impl Gate {
    pub(super) fn new(bridge: &Bridge) -> Self {
        Self {
            bridge: bridge.clone(),
            offered: Arc::default(),
            calls: Arc::default(),
            is_closed: Arc::default(),
        }
    }

    /// Takes no more calls, and waits until those in flight are done. Says how many there are.
    pub(super) async fn drain(&self, tell: impl FnOnce(usize)) {
        self.is_closed.store(true, Ordering::Relaxed);
        let mut calls = self.calls.subscribe();
        let left = *calls.borrow_and_update();
        if left > 0 {
            tell(left);
        }
        // The sender is ours: it does not go away.
        let _ = calls.wait_for(|calls| *calls == 0).await;
    }

    /// Offers what the bridge offers now. Clients are told only if that is something else.
    pub(super) fn offer(&self, server: &ToolServer) {
        let tools = self.tools();
        let definitions = tools.iter().map(|tool| tool.spec().definition("inputSchema")).collect();
        {
            let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
            if *offered == definitions {
                return;
            }
            *offered = definitions;
        }
        server.set_tools(tools);
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let snapshot = self.bridge.snapshot();
        // What a search has loaded is run by `tool_call`: a list that grows would be sent to every client.
        let always: Option<HashSet<String>> = snapshot.is_lazy().then(|| {
            let fresh = self.bridge.lease(LeaseOptions::default()).snapshot();
            fresh.tools().iter().map(|tool| tool.spec().name.clone()).collect()
        });
        let is_shown = |tool: &&Arc<dyn Tool>| {
            always.as_ref().is_none_or(|always| always.contains(&tool.spec().name))
        };
        let gated = |tool: &Arc<dyn Tool>| {
            Arc::new(Gated { tool: tool.clone(), gate: self.clone() }) as Arc<dyn Tool>
        };
        let mut tools: Vec<_> = snapshot.tools().iter().filter(is_shown).map(gated).collect();
        if snapshot.is_lazy() {
            tools.push(Arc::new(CallAny::new(self.clone())));
        }
        tools
    }

    /// A tool that was offered, as it is now. Its server may have been replaced since, with an entry that
    /// changed: then its successor is waited for, which is on its way.
    async fn current(&self, offered: &Arc<dyn Tool>) -> Arc<dyn Tool> {
        let spec = offered.spec();
        let now = || self.bridge.snapshot().get(&spec.name).cloned();
        if let Some(tool) = now() {
            return tool;
        }
        if let Some(server) = spec.server() {
            self.bridge.connect(server);
            self.bridge.wait_for(server, app::is_settled).await;
        }
        // A tool of another shape is not what was asked for; the old one says that it is gone.
        let now = now().filter(|tool| tool.spec().hash == spec.hash);
        now.unwrap_or_else(|| offered.clone())
    }

    /// Runs a tool, unless the gateway is about to end.
    async fn run(&self, tool: &dyn Tool, arguments: RawJson, context: CallContext) -> ToolOutcome {
        if self.is_closed.load(Ordering::Relaxed) {
            let text = "the gateway is about to end";
            return ToolOutcome::failed(FailureKind::Unavailable, Delivery::NotSent, text);
        }
        let _in_flight = InFlight::begin(&self.calls);
        let outcome = tool.call(arguments, context).await;
        if tool.spec().name == "tool_search" { self.with_schemas(outcome) } else { outcome }
    }

    /// What was found, with what it takes: nobody is shown its definition before it is called.
    fn with_schemas(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        let Some(structured) = &outcome.structured else { return outcome };
        let mut found: Value = serde_json::from_str(structured.as_str()).unwrap_or_default();
        for hit in found["matches"].as_array_mut().into_iter().flatten() {
            let id = hit["id"].as_str().unwrap_or_default();
            if let Some(tool) = self.bridge.conversation().tool(id) {
                let schema = serde_json::from_str(tool.spec().input_schema.as_str());
                hit["inputSchema"] = schema.unwrap_or_default();
            }
        }
        if let Ok(all) = RawJson::encode(&found) {
            let text = ToolOutcome::text(all.as_str());
            outcome.content = text.content;
            outcome.structured = Some(all);
        }
        outcome
    }
}

struct Gated {
    tool: Arc<dyn Tool>,
    gate: Gate,
}

impl Tool for Gated {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let tool = self.gate.current(&self.tool).await;
            self.gate.run(&*tool, arguments, context).await
        })
    }
}

/// Runs any tool by its name, for clients that are shown only a few.
struct CallAny {
    spec: ToolSpec,
    gate: Gate,
}

impl CallAny {
    fn new(gate: Gate) -> Self {
        let mut spec = ToolSpec::new(
            "tool_call",
            "Calls a tool that tool_search found, by its id, with arguments that fit its schema.",
        );
        let schema = json!({"type": "object", "required": ["id"], "properties": {
            "id": {"type": "string", "description": "The tool's id, as tool_search gave it"},
            "arguments": {"type": "object", "description": "What the tool takes"}}});
        if let Ok(schema) = RawJson::encode(&schema) {
            spec.input_schema = schema;
        }
        Self { spec, gate }
    }
}

impl Tool for CallAny {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let id = arguments.get("id").and_then(|id| id.decode::<String>().ok());
            let Some(id) = id else {
                return ToolOutcome::failed(
                    FailureKind::InvalidArguments,
                    Delivery::NotSent,
                    "`id` is missing: the tool's id, as tool_search gave it",
                );
            };
            let given = arguments.get("arguments").unwrap_or_else(RawJson::empty_object);
            match self.gate.bridge.conversation().tool(&id) {
                Some(tool) => self.gate.run(&*tool, given, context).await,
                None => ToolOutcome::failed(
                    FailureKind::NotFound,
                    Delivery::NotSent,
                    format!(
                        "there is no tool called `{}`; find one with tool_search",
                        brief(&id, 100)
                    ),
                ),
            }
        })
    }
}
