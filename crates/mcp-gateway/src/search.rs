//! `tool_search` of the gateway: found tools are run by `tool_call`, not added to the list.

use mcp_tool::{CallContext, RawJson, Tool, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::{lane::Lane, runner::Runner};

/// The name of the bridge's search.
const TOOL_SEARCH: &str = "tool_search";

const DESCRIPTION: &str = "Finds tools by what they do, and returns the id and the inputSchema of each. Run one with the \
     tool that its `callWith` names: tool_read for tools that only read, tool_call for the others. Query with a few \
     words; `+word` must occur; `server:name` narrows; `select:a,b` takes exact ids.";

/// Whether this is the search of the bridge and not a server's tool of that name.
pub(crate) fn is_search(spec: &ToolSpec) -> bool {
    spec.server().is_none() && spec.name == TOOL_SEARCH
}

/// Runs a tool. Adds schemas to the results of a search.
pub(crate) async fn run(
    runner: &Runner,
    tool: &dyn Tool,
    arguments: RawJson,
    context: CallContext,
) -> ToolOutcome {
    let outcome = runner.run(tool, arguments, context).await;
    if is_search(tool.spec()) { with_schemas(runner, outcome) } else { outcome }
}

/// The definition of the search, adapted to a gateway.
pub(crate) fn spec(of_bridge: &ToolSpec) -> ToolSpec {
    let mut spec = of_bridge.clone();
    DESCRIPTION.clone_into(&mut spec.description);
    if let Ok(mut schema) = serde_json::from_str::<Value>(spec.input_schema.as_str()) {
        if let Some(limit) = schema.pointer_mut("/properties/limit") {
            limit["description"] = "The most tools to return".into();
        }
        if let Ok(schema) = RawJson::encode(&schema) {
            spec.input_schema = schema;
        }
    }
    spec
}

/// Adds to each found tool its schema and the tool that runs it, because clients do not see its definition in a
/// list.
fn with_schemas(runner: &Runner, mut outcome: ToolOutcome) -> ToolOutcome {
    let Some(structured) = &outcome.structured else { return outcome };
    let mut found: Value = serde_json::from_str(structured.as_str()).unwrap_or_default();
    for hit in found["matches"].as_array_mut().into_iter().flatten() {
        let id = hit["id"].as_str().unwrap_or_default();
        if let Some(tool) = runner.find(id) {
            let spec = tool.spec();
            let schema = serde_json::from_str(spec.input_schema.as_str());
            let reads = runner.is_known_to_read(spec, &RawJson::empty_object());
            let lane = if reads { Lane::Reading } else { Lane::Any };
            hit["inputSchema"] = schema.unwrap_or_default();
            hit["callWith"] = lane.caller().into();
        }
    }
    if let Ok(all) = RawJson::encode(&found) {
        let text = ToolOutcome::text(all.as_str());
        outcome.content = text.content;
        outcome.structured = Some(all);
    }
    outcome
}
