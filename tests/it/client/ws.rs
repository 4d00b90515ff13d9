//! The typed client over a WebSocket, with the same scripted servers behind a WebSocket bridge.

use mcp_client::{Client, ClientOptions, types::Era};
use mcp_transport::{Ws, WsOptions};

use super::support::{scripted, soon};
use crate::transport::ws_bridge;

#[tokio::test]
async fn era_is_detected_over_a_websocket() {
    for (traits, era) in
        [(&[][..], Era::Modern), (&["legacy"], Era::Legacy), (&["dies-of-probe"], Era::Legacy)]
    {
        let ws = Ws::new(WsOptions::new(ws_bridge(scripted(traits)).await));
        let options = ClientOptions::default();
        let client = soon("the handshake", Client::connect(&ws, options)).await;
        let client = client.unwrap_or_else(|error| panic!("{traits:?}: {error}"));
        assert_eq!(client.era(), era, "{traits:?}");
        let result = soon("a call", async { client.call_tool("echo", &()).await }).await.unwrap();
        assert_eq!(result.text(), "hello");
        let tools = soon("a list", async { client.list_tools().await }).await.unwrap();
        assert_eq!(tools.items.len(), 1);
        soon("the end", client.close()).await;
    }
}
