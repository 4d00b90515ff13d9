//! Tools of a bridge as tools of [rig](https://docs.rs/rig).
//!
//! An adapter, not a crate of ours: rig asks for a newer Rust than we do. Copy it. `tool_search` of the bridge must be
//! off, because rig asks for its tools once.

use std::sync::Arc;

use mcp_host::{
    CallContext, Content, Delivery, FailureKind, RawJson, Tool, ToolOutcome,
    providers::{Api, Arguments, openai::chat::Chat, text_of},
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
    // All of it as the API takes it: names, schemas and descriptions have limits.
    let member = |name| definition.json.get("function").and_then(|function| function.get(name));
    let parameters: Value =
        member("parameters").and_then(|schema| schema.decode().ok()).unwrap_or_default();
    let description: String =
        member("description").and_then(|text| text.decode().ok()).unwrap_or_default();
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
    if outcome.is_error {
        let kind = outcome.failure_kind().map_or(ToolErrorKind::Provider, error_kind);
        let error = ToolExecutionError::new(kind, text(&outcome));
        let is_safe = outcome.failure.is_some_and(|failure| failure.delivery == Delivery::NotSent);
        return Err(if kind == ToolErrorKind::InvalidArgs {
            error
        } else {
            error.with_retryable(is_safe)
        });
    }
    let blocks: Vec<ToolResultContent> = outcome.content.iter().map(block).collect();
    if blocks.iter().all(|block| matches!(block, ToolResultContent::Text(_))) {
        return Ok(ToolOutput::text(text(&outcome)));
    }
    ToolOutput::content(blocks)
}

/// One block. rig has images and text, so audio, links and other resources become text that names them.
fn block(content: &Content) -> ToolResultContent {
    let image = |data: &str, mime_type: &str| {
        let kind = ImageMediaType::from_mime_type(mime_type)?;
        Some(ToolResultContent::image_base64(data, Some(kind), None))
    };
    let found = match content {
        Content::Image(one) => image(&one.data, &one.mime_type),
        Content::Resource(embedded) => {
            let resource = &embedded.resource;
            let blob = resource.blob.as_deref().zip(resource.mime_type.as_deref());
            blob.and_then(|(data, mime_type)| image(data, mime_type))
        }
        _ => None,
    };
    found.unwrap_or_else(|| ToolResultContent::text(text_of(content)))
}

fn text(outcome: &ToolOutcome) -> String {
    let blocks: Vec<String> = outcome.content.iter().map(text_of).collect();
    match &outcome.structured {
        Some(structured) if blocks.is_empty() => structured.as_str().to_owned(),
        _ => blocks.join("\n"),
    }
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
