//! Error codes of MCP. The codes of JSON-RPC are constants of [`ErrorObject`](mcp_jsonrpc::ErrorObject).

/// The HTTP headers of a request contradict its body (from 2026-07-28).
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare (from 2026-07-28).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The server does not support the request's revision (from 2026-07-28).
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// The resource does not exist.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user has to visit a URL before the request can succeed (2025-11-25).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Whether only servers of the modern era send `code`.
pub const fn is_modern(code: i64) -> bool {
    matches!(code, UNSUPPORTED_VERSION..=HEADER_MISMATCH)
}
