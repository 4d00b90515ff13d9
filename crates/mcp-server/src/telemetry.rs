//! Spans of requests, named by OpenTelemetry's conventions for MCP servers.
//!
//! The level is `debug`. While no subscriber is interested, a span costs one check of a flag. Handlers run inside their
//! span. The parent that a client sends is not part of it, because `tracing` has no remote parents: a handler reads it
//! from `Call::trace_parent`.

use mcp_jsonrpc::{RawJson, Request};
use mcp_types::{BoxFuture, ProtocolVersion, method};
use tracing::{Instrument as _, Span, field::Empty};

use crate::error::ServeError;

type Outcome = Result<RawJson, ServeError>;

/// A span for one request, from its start to its response. `target` is the tool, prompt or resource, or empty.
pub(crate) fn request_span(request: &Request, version: ProtocolVersion, target: &str) -> Span {
    let span = tracing::debug_span!(
        "mcp.request",
        "otel.kind" = "server",
        "otel.name" = Empty,
        "mcp.method.name" = &*request.method,
        "mcp.protocol.version" = version.as_str(),
        "jsonrpc.request.id" = Empty,
        "gen_ai.tool.name" = Empty,
        "gen_ai.prompt.name" = Empty,
        "mcp.resource.uri" = Empty,
        "error.type" = Empty,
        "rpc.response.status_code" = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    span.record("jsonrpc.request.id", tracing::field::display(&request.id));
    let method = &*request.method;
    let named = match method {
        method::TOOLS_CALL => Some("gen_ai.tool.name"),
        method::PROMPTS_GET => Some("gen_ai.prompt.name"),
        _ => None,
    };
    match named {
        Some(field) => {
            span.record(field, target);
            span.record("otel.name", tracing::field::display(format_args!("{method} {target}")));
        }
        None => {
            span.record("otel.name", method);
        }
    }
    // The resource is not part of the name, to limit the number of distinct names.
    if method == method::RESOURCES_READ {
        span.record("mcp.resource.uri", target);
    }
    span
}

/// Runs `work` in `span`, and records its error.
pub(crate) fn traced(span: Span, work: BoxFuture<'static, Outcome>) -> BoxFuture<'static, Outcome> {
    if span.is_disabled() {
        return work;
    }
    let within = span.clone();
    let work = async move {
        let outcome = work.await;
        record(&span, &outcome);
        outcome
    };
    Box::pin(work.instrument(within))
}

/// Records the error of a request, or that its tool failed.
pub(crate) fn record(span: &Span, outcome: &Outcome) {
    if span.is_disabled() {
        return;
    }
    match outcome {
        Ok(result) => {
            if result.get("isError").is_some_and(|is_error| is_error.as_str() == "true") {
                span.record("error.type", "tool_error");
            }
        }
        Err(error) => {
            span.record("error.type", error_type(error));
            let code = error.clone().into_object(true).code;
            span.record("rpc.response.status_code", tracing::field::display(code));
        }
    }
}

fn error_type(error: &ServeError) -> &'static str {
    match error {
        ServeError::UnknownResource(_) => "unknown_resource",
        ServeError::InvalidParams(_) => "invalid_params",
        ServeError::MissingCapability(_) => "missing_capability",
        ServeError::NoAnswer(_) => "no_answer",
        ServeError::Denied(_) => "denied",
        ServeError::Internal(_) => "internal",
        ServeError::Rpc(_) => "rejected",
    }
}
