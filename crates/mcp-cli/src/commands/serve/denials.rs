//! Reports denied calls on the gateway's stderr, with the reason and how to allow them.

use mcp_bridge::Event;
use mcp_gateway::Gateway;

use crate::host::app::App;

/// Reports every denial until the gateway ends.
pub(super) async fn report(app: &App, gateway: &Gateway) {
    let mut events = gateway.bridge().events();
    while let Some(event) = events.next().await {
        if let Event::Denied { message, .. } = event {
            app.out.remark(message);
        }
    }
}
