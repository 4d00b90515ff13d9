//! From configuration to connections: the bridge of this command.

use std::sync::Arc;

use mcp_bridge::{Bridge, BridgeOptions, Connector, DefaultConnector, ToolApprovals};
use mcp_client::Implementation;
use mcp_config::{CustomTool, ServerConfig};

use crate::{app::App, exit::chain, places::make_private};

/// Every default of this command.
pub(crate) fn options(app: &App) -> BridgeOptions {
    let mut options = BridgeOptions::default();
    options.connector = connector(app);
    options.client.client_info = Implementation::new("mcp", env!("CARGO_PKG_VERSION"));
    options.lazy_start = true;
    // People are shown everything; only models need to be spared.
    options.tool_search = false;
    options.handler = app.terminal.handler();
    options.approver = app.terminal.approver();
    let places = &app.config.places;
    options.catalogue = places.cache.as_ref().map(|cache| cache.join("catalogue"));
    if let Some(state) = &places.state {
        // If it cannot be made, nothing is remembered; `mcp doctor` says so.
        let _ = make_private(state);
        match ToolApprovals::load(state.join("tools.json")) {
            Ok(approvals) => options.approvals = Arc::new(approvals),
            Err(error) => {
                app.out.remark(format!("{}; nothing counts as approved", chain(&error)));
            }
        }
    }
    options
}

/// Finds the way to every kind of server, with the user's logins.
pub(crate) fn connector(app: &App) -> Arc<dyn Connector> {
    let connector = DefaultConnector::new().in_workspace(&app.config.project);
    Arc::new(connector.identify(Arc::new(app.logins.clone())))
}

/// A bridge of these servers, none of them started.
pub(crate) fn bridge(options: BridgeOptions, servers: Vec<ServerConfig>) -> Bridge {
    let bridge = Bridge::new(options);
    for server in servers {
        bridge.add_server(server);
    }
    bridge
}

/// Offers the tools that the user made of others. One that cannot be is said, and costs itself.
pub(crate) fn add_custom(app: &App, bridge: &Bridge, tools: impl IntoIterator<Item = CustomTool>) {
    for tool in tools {
        if let Err(error) = bridge.add_custom(tool) {
            app.out.remark(format!("a custom tool is left out: {error}"));
        }
    }
}
