//! mcp-search and alternative crates.

pub mod baseline;
pub mod data;
pub mod peers;
pub mod speed;
pub mod tokens;
