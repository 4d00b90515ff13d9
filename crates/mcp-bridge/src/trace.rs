//! Spans for handshakes, lists and calls.
//!
//! Names and attributes follow OpenTelemetry's semantic conventions for MCP and for generative AI;
//! `tracing-opentelemetry` reads `otel.name` and `otel.kind`. Attributes outside the conventions are
//! `mcp.server.name`, `mcp.outcome` and `mcp.delivery`. Spans never carry arguments, results or foreign text, and no
//! session id: it is a secret of legacy servers.

use std::sync::Arc;

use mcp_client::{CallError, CallToolResult, Client, Delivery};
use mcp_config::{ServerConfig, Transport};
use mcp_tool::{Failure, ToolOutcome, ToolSpec};
use tracing::{Span, field::Empty, info_span};
use url::Url;

use crate::failure_names::class_name;

/// A server as spans name it: by its name in the configuration, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    name: Arc<str>,
    /// `pipe` or `tcp`; `None` in process.
    transport: Option<&'static str>,
    /// The host of the URL, unless a variable decides it.
    address: Option<Arc<str>>,
    port: Option<u16>,
}

impl Endpoint {
    pub(crate) fn of(config: &ServerConfig) -> Self {
        let url = config.transport.remote().and_then(|remote| {
            let url = remote.url.unexpanded();
            Url::parse(url).ok().filter(|_| !url.contains("${"))
        });
        let transport = match &config.transport {
            Transport::Stdio(_) => Some("pipe"),
            other => other.remote().map(|_| "tcp"),
        };
        Self {
            name: config.name.as_str().into(),
            transport,
            address: url.as_ref().and_then(|url| url.host_str().map(Arc::from)),
            port: url.as_ref().and_then(Url::port_or_known_default),
        }
    }
}

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
        span.record("mcp.delivery", Failure::delivery_name(failure.delivery));
        span.record("error.type", failure.kind.as_str());
        return;
    }
    span.record("mcp.outcome", if outcome.is_error { "tool_error" } else { "ok" });
    span.record("mcp.delivery", Failure::delivery_name(Delivery::Executed));
    if outcome.is_error {
        span.record("error.type", "tool_error");
    }
}

/// A span for one `tools/call` request on a connection.
pub(crate) fn tools_call(server: &Endpoint, tool: &str, client: &Client) -> Span {
    info_span!(
        "tools/call",
        "otel.name" = %format_args!("tools/call {tool}"),
        "otel.kind" = "client",
        "mcp.method.name" = "tools/call",
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = tool,
        "mcp.server.name" = &*server.name,
        "network.transport" = server.transport,
        "server.address" = server.address.as_deref(),
        "server.port" = server.port,
        "mcp.protocol.version" = %client.server().version,
        "mcp.delivery" = Empty,
        "error.type" = Empty,
    )
}

/// Records the result of one `tools/call` request.
pub(crate) fn finish_call(span: &Span, result: &Result<CallToolResult, CallError>) {
    match result {
        Ok(result) => {
            span.record("mcp.delivery", Failure::delivery_name(Delivery::Executed));
            if result.is_error {
                span.record("error.type", "tool_error");
            }
        }
        Err(error) => {
            span.record("mcp.delivery", Failure::delivery_name(error.delivery()));
            span.record("error.type", class_name(error.class()));
        }
    }
}

/// A span for the handshake. Its method is `initialize`, whichever revision is negotiated.
pub(crate) fn handshake(server: &Endpoint) -> Span {
    info_span!(
        "initialize",
        "otel.kind" = "client",
        "mcp.method.name" = "initialize",
        "mcp.server.name" = &*server.name,
        "network.transport" = server.transport,
        "server.address" = server.address.as_deref(),
        "server.port" = server.port,
        "mcp.protocol.version" = Empty,
        "error.type" = Empty,
    )
}

/// A span for one list request.
pub(crate) fn list(server: &Endpoint, method: &'static str) -> Span {
    info_span!(
        "list",
        "otel.name" = method,
        "otel.kind" = "client",
        "mcp.method.name" = method,
        "mcp.server.name" = &*server.name,
        "network.transport" = server.transport,
        "server.address" = server.address.as_deref(),
        "server.port" = server.port,
        "mcp.list.items" = Empty,
        "error.type" = Empty,
    )
}

#[cfg(test)]
mod tests {
    use mcp_config::{Remote, Sdk, Stdio};

    use super::*;

    fn endpoint(transport: Transport) -> (Option<&'static str>, Option<String>, Option<u16>) {
        let of = Endpoint::of(&ServerConfig::new("srv".parse().unwrap(), transport));
        (of.transport, of.address.map(|address| address.to_string()), of.port)
    }

    #[test]
    fn spans_name_the_transport_and_the_host_unless_a_variable_decides_it() {
        let http = |url: &str| endpoint(Transport::Http(Remote::new(url)));
        let host = |host: &str, port| (Some("tcp"), Some(host.to_owned()), Some(port));
        assert_eq!(http("https://example.com/mcp?key=secret"), host("example.com", 443));
        assert_eq!(http("http://127.0.0.1:8080/mcp"), host("127.0.0.1", 8080));
        assert_eq!(http("https://${HOST}/mcp"), (Some("tcp"), None, None));
        assert_eq!(http("https://example.com/${TOKEN}"), (Some("tcp"), None, None));
        assert_eq!(endpoint(Transport::Stdio(Stdio::new("server"))), (Some("pipe"), None, None));
        assert_eq!(endpoint(Transport::Sdk(Sdk::default())), (None, None, None));
    }
}
