//! Tools of a bridge as tools of [rig](https://docs.rs/rig).
//!
//! An adapter, not a crate of ours: rig asks for a newer Rust than we do. Copy it. `tool_search` of the bridge must be
//! off, because rig asks for its tools once.

use std::sync::Arc;

use mcp_host::{
    CallContext, Content, Delivery, FailureKind, RawJson, Tool, ToolOutcome,
    providers::{Api, Arguments, openai::chat::Chat},
};
use rig::{
    core::tool::{DynamicTool, ToolErrorKind, ToolExecutionError, ToolOutput},
    message::{EmptyToolName, ImageMediaType, MimeType, ToolName, ToolResultContent},
};
use serde_json::Value;

/// The tools of a turn for rig's `AgentBuilder::dynamic_tools`.
pub fn rig_tools(turn: &[Arc<dyn Tool>]) -> Result<Vec<DynamicTool>, EmptyToolName> {
    turn.iter().cloned().map(rig_tool).collect()
}

/// One tool for rig. It stays callable while its server restarts.
pub fn rig_tool(tool: Arc<dyn Tool>) -> Result<DynamicTool, EmptyToolName> {
    let definition = Chat::default().definition(tool.spec());
    let parameters =
        definition.json.get("function").and_then(|function| function.get("parameters"));
    let parameters: Value = parameters.and_then(|schema| schema.decode().ok()).unwrap_or_default();
    let description = tool.spec().description.clone();
    Ok(DynamicTool::new(
        ToolName::new(definition.name)?,
        description,
        parameters,
        move |arguments| {
            let tool = tool.clone();
            Box::pin(async move {
                let arguments =
                    RawJson::encode(&arguments).unwrap_or_else(|_| RawJson::empty_object());
                output(match Arguments::of(arguments).for_tool(tool.spec()) {
                    Arguments::Ready(arguments) => {
                        tool.call(arguments, CallContext::default()).await
                    }
                    Arguments::Refused(outcome) => outcome,
                })
            })
        },
    ))
}

/// An outcome as rig has it: what failed, and whether another try is safe.
fn output(outcome: ToolOutcome) -> Result<ToolOutput, ToolExecutionError> {
    let text = outcome.text_content();
    if outcome.is_error {
        let kind = outcome.failure_kind().map_or(ToolErrorKind::Provider, error_kind);
        let error = ToolExecutionError::new(kind, text);
        let is_safe = outcome.failure.is_some_and(|failure| failure.delivery == Delivery::NotSent);
        return Err(if kind == ToolErrorKind::InvalidArgs {
            error
        } else {
            error.with_retryable(is_safe)
        });
    }
    let image = |block: &Content| match block {
        Content::Image(image) => {
            let kind = ImageMediaType::from_mime_type(&image.mime_type);
            Some(ToolResultContent::image_base64(image.data.clone(), kind, None))
        }
        _ => None,
    };
    let mut blocks: Vec<ToolResultContent> = outcome.content.iter().filter_map(image).collect();
    if blocks.is_empty() {
        return Ok(ToolOutput::text(text));
    }
    blocks.insert(0, ToolResultContent::text(text));
    ToolOutput::content(blocks)
}

fn error_kind(kind: FailureKind) -> ToolErrorKind {
    match kind {
        FailureKind::InvalidArguments => ToolErrorKind::InvalidArgs,
        FailureKind::TimedOut => ToolErrorKind::Timeout,
        FailureKind::Cancelled => ToolErrorKind::Cancelled,
        FailureKind::NotFound => ToolErrorKind::NotFound,
        FailureKind::Auth | FailureKind::Denied | FailureKind::Queued => {
            ToolErrorKind::PermissionDenied
        }
        FailureKind::Unavailable => ToolErrorKind::Network,
        _ => ToolErrorKind::Provider,
    }
}
