//! Bridges over one server, for tests of hosts.

use std::sync::Arc;

use mcp_config::{Sdk, ServerConfig, ServerName, Transport};
use mcp_transport::Connect;

use crate::{bridge::Bridge, connect::DefaultConnector, options::BridgeOptions};

/// The name of the server of [`bridge_over`]. Its tools are `mcp__server__…`.
pub const SERVER: &str = "server";

/// Returns a started bridge with one trusted server, reached over `connect`: an in-process server, a recording,
/// or a transport with faults.
///
/// ```
/// use mcp_bridge::{CallContext, RawJson, testing::bridge_over};
/// use mcp_transport::record::Replay;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let cassette = r#"
///     {"link":1,"out":{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}}
///     {"link":1,"in":{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method"}}}
/// "#;
/// let bridge = bridge_over(Replay::new(cassette.parse()?)).await;
/// assert_eq!(bridge.status()[0].name.as_ref(), mcp_bridge::testing::SERVER);
/// # Ok::<(), mcp_transport::record::CassetteError>(()) }).unwrap();
/// ```
pub async fn bridge_over(connect: impl Connect + 'static) -> Bridge {
    bridge_with(BridgeOptions::default(), connect).await
}

/// As [`bridge_over`], with these options. Their connector is replaced.
///
/// # Panics
/// Outside a tokio runtime.
pub async fn bridge_with(options: BridgeOptions, connect: impl Connect + 'static) -> Bridge {
    let connector = DefaultConnector::new().register(SERVER, Arc::new(connect));
    let bridge = Bridge::new(options.with_connector(connector));
    if let Ok(name) = SERVER.parse::<ServerName>() {
        let mut config = ServerConfig::new(name, Transport::Sdk(Sdk::default()));
        config.trust = true;
        bridge.add_server_as_written(config);
    }
    bridge.start().await;
    bridge
}
