//! JSON-RPC 2.0 as MCP speaks it.
