//! mcp-search beside the crates people would use instead.

pub mod baseline;
pub mod data;
pub mod peers;
pub mod speed;
pub mod tokens;
