//! MCP servers for clients of both eras of the protocol.
//!
//! [`ToolServer`] serves tools, prompts and resources. With the feature `gateway`, `Gateway` puts many servers behind
//! one.

#[cfg(feature = "gateway")]
pub use mcp_gateway::{ClientConsent, Gateway, GatewayOptions, ServerChanges, ToolMode};
pub use mcp_server::*;
