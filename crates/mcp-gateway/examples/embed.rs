//! Embeds a gateway in a host: an in-process server behind it, a client on stdin and stdout.
//!
//! ```text
//! cargo run -p mcp-gateway --example embed
//! ```

use std::{error::Error, future::pending, sync::Arc};

use mcp_bridge::{BridgeOptions, ServerConfig, connect::DefaultConnector};
use mcp_config::{Sdk, Transport};
use mcp_gateway::{Gateway, GatewayOptions, ToolMode};
use mcp_server::{ServeOptions, ToolServer};
use mcp_tool::{BoxFuture, CallContext, RawJson, Tool, ToolOutcome, ToolSpec};

struct Clock(ToolSpec);

impl Tool for Clock {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async { ToolOutcome::text("noon") })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = ToolServer::new(ServeOptions::new("clock", "1.0.0"));
    clock.add_tool(Arc::new(Clock(ToolSpec::new("clock", "Tells the time."))));
    let connector = DefaultConnector::new().register("clock", Arc::new(clock.in_process()));

    let mut bridge = BridgeOptions::default();
    bridge.connector = Arc::new(connector);
    let mut options = GatewayOptions::new("gateway", "1.0.0");
    options.mode = ToolMode::Search;
    let server = ServerConfig::new("clock".parse()?, Transport::Sdk(Sdk::default()));
    let gateway = Gateway::new(bridge, options, vec![server]);
    gateway.open().await;
    // A host that handles signals passes a future that completes on one: calls in flight are then drained.
    gateway.serve_stdio(pending()).await?;
    gateway.bridge().shutdown().await;
    Ok(())
}
