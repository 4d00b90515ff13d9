//! A server with every feature, built on `ToolServer` alone. The official server scenarios and our tests use it.

mod asks;
mod content;
mod fixture;
mod offers;
mod schemas;

use std::sync::Arc;

use mcp_server::{ServeOptions, ToolServer};

/// Builds the server.
pub fn everything() -> ToolServer {
    let mut options = ServeOptions::new("mcp-conformance-server", env!("CARGO_PKG_VERSION"));
    options.instructions = Some("Everything here exists to be tested.".into());
    options.resources = Some(Arc::new(offers::Things));
    options.prompts = Some(Arc::new(offers::Texts));
    options.completions = Some(Arc::new(offers::Words));
    let server = ToolServer::new(options);
    for tool in content::tools().into_iter().chain(schemas::tools()).chain(asks::tools()) {
        server.add_served_tool(Arc::new(tool));
    }
    for tool in fixture::switches(&server) {
        server.add_served_tool(Arc::new(tool));
    }
    server
}
