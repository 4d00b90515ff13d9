//! Spans for handshakes and requests, named by OpenTelemetry's conventions for MCP.
//!
//! The level is `debug`. While no subscriber is interested, a span costs one check of a flag.
//! `tracing-opentelemetry` takes the exported name and kind from `otel.name` and `otel.kind`.

use mcp_jsonrpc::{Failure, RequestId};
use mcp_types::{ProtocolVersion, method};
use tracing::{Span, field::Empty};

use crate::error::HandshakeError;

/// A span for a handshake, from opening the link to agreeing on a revision.
pub(crate) fn handshake_span() -> Span {
    tracing::debug_span!(
        "mcp.handshake",
        "otel.kind" = "client",
        "mcp.protocol.version" = Empty,
        "error.type" = Empty,
    )
}

/// Records how a handshake ended.
pub(crate) fn record_handshake(span: &Span, agreed: Result<ProtocolVersion, &HandshakeError>) {
    if span.is_disabled() {
        return;
    }
    match agreed {
        Ok(version) => span.record("mcp.protocol.version", version.as_str()),
        Err(error) => span.record("error.type", handshake_error(error)),
    };
}

/// A span for one request, from sending it to its response. `target` is the tool, prompt or resource.
pub(crate) fn request_span(method: &str, target: Option<&str>) -> Span {
    let span = tracing::debug_span!(
        "mcp.request",
        "otel.kind" = "client",
        "otel.name" = Empty,
        "mcp.method.name" = method,
        "jsonrpc.request.id" = Empty,
        "gen_ai.tool.name" = Empty,
        "gen_ai.prompt.name" = Empty,
        "mcp.resource.uri" = Empty,
        "error.type" = Empty,
        "rpc.response.status_code" = Empty,
        "mcp.delivery" = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    // The resource is not part of the name, to limit the number of distinct names.
    match (method, target) {
        (method::TOOLS_CALL, Some(tool)) => {
            span.record("gen_ai.tool.name", tool);
            span.record("otel.name", tracing::field::display(format_args!("{method} {tool}")));
        }
        (method::PROMPTS_GET, Some(prompt)) => {
            span.record("gen_ai.prompt.name", prompt);
            span.record("otel.name", tracing::field::display(format_args!("{method} {prompt}")));
        }
        (method::RESOURCES_READ, Some(uri)) => {
            span.record("mcp.resource.uri", uri);
            span.record("otel.name", method);
        }
        _ => {
            span.record("otel.name", method);
        }
    }
    span
}

/// Records the id that a request was sent with.
pub(crate) fn record_id(span: &Span, id: impl Into<RequestId>) {
    if !span.is_disabled() {
        span.record("jsonrpc.request.id", tracing::field::display(id.into()));
    }
}

/// Records the failure of a request.
pub(crate) fn record_failure(span: &Span, failure: &Failure) {
    if span.is_disabled() {
        return;
    }
    span.record("error.type", failure_name(failure));
    if let Failure::Rejected(error) = failure {
        span.record("rpc.response.status_code", tracing::field::display(error.code));
    }
    span.record("mcp.delivery", tracing::field::debug(failure.delivery()));
}

fn failure_name(failure: &Failure) -> &'static str {
    match failure {
        Failure::Rejected(_) => "rejected",
        Failure::TimedOut(_) => "timeout",
        Failure::Cancelled => "cancelled",
        Failure::Closed(_) => "closed",
        Failure::Lost(_) => "lost",
        Failure::Malformed(_) => "malformed",
        Failure::TooLarge { .. } => "too_large",
        _ => "_OTHER",
    }
}

fn handshake_error(error: &HandshakeError) -> &'static str {
    match error {
        HandshakeError::Connect(_) => "connect",
        HandshakeError::Closed { .. } => "closed",
        HandshakeError::TimedOut { .. } => "timeout",
        HandshakeError::Unavailable { .. } => "unavailable",
        HandshakeError::Rejected { .. } => "rejected",
        HandshakeError::NoCommonVersion { .. } => "no_common_version",
        HandshakeError::NotModern => "not_modern",
        HandshakeError::Shape { .. } => "malformed",
    }
}
