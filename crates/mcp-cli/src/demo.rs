//! The built-in demo server, which needs no configuration and no network.

mod demo_resources;
mod tools;

use std::sync::Arc;

use mcp_config::{Sdk, ServerConfig, Transport};
use mcp_server::{ServeOptions, ToolServer};

/// The name of the demo server.
pub(crate) const NAME: &str = "demo";

/// Builds the demo server.
pub(crate) fn server() -> ToolServer {
    let mut options = ServeOptions::new("mcp demo", env!("CARGO_PKG_VERSION"));
    options.instructions = Some("Small tools to try an MCP host with.".into());
    options.resources = Some(Arc::new(demo_resources::DemoResources));
    options.prompts = Some(Arc::new(demo_resources::DemoResources));
    let server = ToolServer::new(options);
    server.set_tools(tools::all());
    server
}

/// Returns the configuration of the demo server: of type `sdk`, and not trusted, so that the tour can show a question.
///
/// # Errors
/// Never: the name is valid.
pub(crate) fn config() -> Result<ServerConfig, mcp_config::model::NameError> {
    Ok(ServerConfig::new(NAME.parse()?, Transport::Sdk(Sdk::default())))
}
