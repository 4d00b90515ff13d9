//! Error codes of MCP. The codes of JSON-RPC are constants of [`ErrorObject`](mcp_jsonrpc::ErrorObject).
//!
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes>

/// The HTTP headers of a request contradict its body (from 2026-07-28):
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>.
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare (from 2026-07-28).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The server does not support the request's revision (from 2026-07-28): <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning>.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// The resource does not exist: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling>.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user has to visit a URL before the request can succeed (2025-11-25): <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Whether only servers of the modern era send `code`.
pub const fn is_modern(code: i64) -> bool {
    // Legacy servers use codes of their own from the range of JSON-RPC, so only these three identify the era.
    matches!(code, UNSUPPORTED_VERSION..=HEADER_MISMATCH)
}
