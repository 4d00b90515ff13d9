//! Spans for handshakes, lists and calls.
//!
//! Names and attributes follow OpenTelemetry's semantic conventions for MCP and for generative AI;
//! `tracing-opentelemetry` reads `otel.name` and `otel.kind`. Attributes outside the conventions are
//! `mcp.server.name`, `mcp.outcome` and `mcp.delivery`. Spans never carry arguments, results or foreign text.

use mcp_client::{CallError, CallToolResult, Client, Delivery};
use mcp_tool::{ToolOutcome, ToolSpec};
use tracing::{Span, field::Empty, info_span};

use crate::failure_names::{class_name, delivery_name, failure_name};

/// A span for a call of any tool, including hooks, checks, approval and retries.
pub(crate) fn execute_tool(spec: &ToolSpec) -> Span {
    info_span!(
        "execute_tool",
        "otel.name" = %format_args!("execute_tool {}", spec.name),
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = spec.name,
        "mcp.server.name" = spec.server(),
        "mcp.outcome" = Empty,
        "mcp.delivery" = Empty,
        "error.type" = Empty,
    )
}

/// Records the outcome of a call.
pub(crate) fn finish_tool(span: &Span, outcome: &ToolOutcome) {
    if let Some(failure) = &outcome.failure {
        span.record("mcp.outcome", "failure");
        span.record("mcp.delivery", delivery_name(failure.delivery));
        span.record("error.type", failure_name(failure.kind));
        return;
    }
    span.record("mcp.outcome", if outcome.is_error { "tool-error" } else { "ok" });
    span.record("mcp.delivery", delivery_name(Delivery::Executed));
    if outcome.is_error {
        span.record("error.type", "tool_error");
    }
}

/// A span for one `tools/call` request on a connection.
pub(crate) fn tools_call(server: &str, tool: &str, client: &Client) -> Span {
    info_span!(
        "tools/call",
        "otel.name" = %format_args!("tools/call {tool}"),
        "otel.kind" = "client",
        "mcp.method.name" = "tools/call",
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = tool,
        "mcp.server.name" = server,
        "mcp.protocol.version" = %client.server().version,
        "mcp.delivery" = Empty,
        "error.type" = Empty,
    )
}

/// Records the result of one `tools/call` request.
pub(crate) fn finish_call(span: &Span, result: &Result<CallToolResult, CallError>) {
    match result {
        Ok(result) => {
            span.record("mcp.delivery", delivery_name(Delivery::Executed));
            if result.is_error {
                span.record("error.type", "tool_error");
            }
        }
        Err(error) => {
            span.record("mcp.delivery", delivery_name(error.delivery()));
            span.record("error.type", class_name(error.class()));
        }
    }
}

/// A span for the handshake. Its method is `initialize`, whichever revision is negotiated.
pub(crate) fn handshake(server: &str) -> Span {
    info_span!(
        "initialize",
        "otel.kind" = "client",
        "mcp.method.name" = "initialize",
        "mcp.server.name" = server,
        "mcp.protocol.version" = Empty,
        "error.type" = Empty,
    )
}

/// A span for one list request.
pub(crate) fn list(server: &str, method: &'static str) -> Span {
    info_span!(
        "list",
        "otel.name" = method,
        "otel.kind" = "client",
        "mcp.method.name" = method,
        "mcp.server.name" = server,
        "mcp.list.items" = Empty,
        "error.type" = Empty,
    )
}
