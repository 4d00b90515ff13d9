//! `tool_call` and `tool_read`: tools that run another tool by its id, for clients with a short tool list.

use mcp_bridge::tool::Delivery;
use mcp_safe::text::one_line;
use mcp_tool::{CallContext, FailureKind, RawJson, Tool, ToolOutcome, ToolSpec};
use mcp_types::BoxFuture;
use serde_json::json;

use crate::{lane::Lane, runner::Runner, search};

/// Runs tools of one lane by their ids.
pub(crate) struct ToolCaller {
    spec: ToolSpec,
    lane: Lane,
    runner: Runner,
}

impl ToolCaller {
    pub(crate) fn new(lane: Lane, runner: Runner) -> Self {
        let mut spec = ToolSpec::new(lane.caller(), lane.description());
        spec.hints = lane.hints();
        let schema = json!({"type": "object", "required": ["id"], "properties": {
            "id": {"type": "string", "description": "The tool's id, as tool_search gave it"},
            "arguments": {"type": "object", "description": "The arguments of the tool"}}});
        if let Ok(schema) = RawJson::encode(&schema) {
            spec.input_schema = schema;
        }
        Self { spec, lane, runner }
    }
}

impl Tool for ToolCaller {
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
            let Some(tool) = self.runner.find(&id) else {
                let text = format!(
                    "there is no tool called `{}`; find one with tool_search",
                    one_line(&id, 100)
                );
                return ToolOutcome::failed(FailureKind::NotFound, Delivery::NotSent, text);
            };
            let given = arguments.get("arguments").unwrap_or_else(RawJson::empty_object);
            if self.lane == Lane::Reading && !self.runner.is_known_to_read(tool.spec(), &given) {
                let text = format!(
                    "{} is not known to only read: call it with tool_call",
                    one_line(&tool.spec().name, 100)
                );
                return ToolOutcome::failed(FailureKind::Denied, Delivery::NotSent, text);
            }
            search::run(&self.runner, &*tool, given, context).await
        })
    }
}
