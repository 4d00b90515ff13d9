//! The tools of one turn.

use std::{collections::HashMap, fmt, sync::Arc};

use mcp_client::RawJson;
use mcp_tool::{CallContext, Hints, Tool, ToolOutcome};

use super::{search_tools, view::View};
use crate::tools::registry::Registered;

/// The tools of one turn. Immutable: later changes appear in the next snapshot.
#[derive(Clone)]
pub struct Snapshot(Arc<Shown>);

struct Shown {
    tools: Vec<Arc<dyn Tool>>,
    by_name: HashMap<String, usize>,
    version: u64,
    lazy: bool,
    /// Finds the tools of disconnected servers.
    view: Arc<View>,
}

impl Snapshot {
    pub(super) fn new(
        view: &Arc<View>,
        tools: Vec<Arc<dyn Tool>>,
        version: u64,
        lazy: bool,
    ) -> Self {
        let by_name =
            tools.iter().enumerate().map(|(at, tool)| (tool.spec().name.clone(), at)).collect();
        Self(Arc::new(Shown { tools, by_name, version, lazy, view: view.clone() }))
    }

    /// The tools, in a stable order.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.0.tools
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.by_name.get(name).map(|at| &self.0.tools[*at])
    }

    /// The hints of a tool that is not loaded.
    pub(super) fn unloaded(&self, name: &str) -> Option<Hints> {
        self.0.view.find(name).map(|known| known.tool.spec().hints)
    }

    /// The tools that a call of `tool_search` found, for APIs to which a host gives definitions of found tools. Empty
    /// for any other outcome.
    pub fn found_by(&self, outcome: &ToolOutcome) -> Vec<Arc<dyn Tool>> {
        let view = &self.0.view;
        let names = search_tools::found(outcome);
        if names.is_empty() {
            return Vec::new();
        }
        let visible = view.visible();
        let tool = |name: &String| visible.iter().find(|r| r.tool.spec().name == *name);
        let gate =
            |found: &Arc<Registered>| -> Arc<dyn Tool> { Arc::new(view.gate(found.clone())) };
        names.iter().filter_map(tool).map(gate).collect()
    }

    /// Increases whenever the tools change. Equal numbers mean equal tools.
    pub fn version(&self) -> u64 {
        self.0.version
    }

    /// Whether most tools are omitted from the prompt and found by search.
    pub fn is_lazy(&self) -> bool {
        self.0.lazy
    }

    /// Calls a tool by name. A known tool that is not loaded is loaded, because models call tools that they have used
    /// before. An unknown tool or a disconnected server gives a failed outcome, not an error.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub async fn call(&self, name: &str, arguments: RawJson, context: CallContext) -> ToolOutcome {
        if let Some(tool) = self.get(name) {
            return tool.call(arguments, context).await;
        }
        let view = &self.0.view;
        match view.look_up(name).await {
            Ok(known) => {
                view.load(&known);
                view.gate(known).call(arguments, context).await
            }
            Err(not_found) => not_found,
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
