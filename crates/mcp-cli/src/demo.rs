//! A server that lives in this program: something to try everything on, without configuration or network.

mod shelf;
mod tools;

use std::sync::Arc;

use mcp_bridge::{ServeOptions, ToolServer};
use mcp_config::{Sdk, ServerConfig, Transport};

/// The name it is known by.
pub(crate) const NAME: &str = "demo";

/// The server, ready to be connected to.
pub(crate) fn server() -> ToolServer {
    let mut options = ServeOptions::new("mcp demo", env!("CARGO_PKG_VERSION"));
    options.instructions = Some("Small tools to try an MCP host with.".into());
    options.resources = Some(Arc::new(shelf::Shelf));
    options.prompts = Some(Arc::new(shelf::Shelf));
    let server = ToolServer::new(options);
    server.set_tools(tools::all());
    server
}

/// It as a configuration: of type `sdk`, and not trusted, so that there is something to ask about.
///
/// # Errors
/// Never: its name is one.
pub(crate) fn config() -> Result<ServerConfig, mcp_config::NameError> {
    Ok(ServerConfig::new(NAME.parse()?, Transport::Sdk(Sdk::default())))
}
