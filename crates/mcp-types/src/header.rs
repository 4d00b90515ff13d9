//! HTTP headers of the Streamable HTTP transport, in lower case.
//!
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers>

/// The session a message belongs to (up to 2025-11-25).
pub const SESSION_ID: &str = "mcp-session-id";
/// The revision of the session, or of the request (from 2026-07-28).
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of the request in the body (from 2026-07-28).
pub const METHOD: &str = "mcp-method";
/// The tool, prompt or resource the request is about (from 2026-07-28).
pub const NAME: &str = "mcp-name";
/// The prefix of the headers that repeat a tool's arguments (from 2026-07-28).
pub const PARAM_PREFIX: &str = "mcp-param-";
