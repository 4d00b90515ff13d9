//! A bridge with real server processes that are started, killed, stopped and counted.

#[cfg(unix)]
mod admission;
#[cfg(unix)]
mod agent;
#[cfg(target_os = "linux")]
mod cycles;
mod effects;
#[cfg(target_os = "linux")]
mod eight;
#[cfg(target_os = "linux")]
mod live;
mod login;
#[cfg(unix)]
mod processes;
#[cfg(target_os = "linux")]
mod remote;
#[cfg(target_os = "linux")]
mod sandbox;
mod sessions;

use std::time::Duration;

use mcp_bridge::{Bridge, BridgeOptions, CallContext, RawJson, ServerConfig, ServerState};
use mcp_config::{Stdio, Transport};

/// The configuration of one of our servers, as a child process.
pub(crate) fn config(name: &str) -> ServerConfig {
    let program = Stdio::new(env!("CARGO_BIN_EXE_tool-server"));
    let mut config = ServerConfig::new(name.parse().unwrap(), Transport::Stdio(program));
    config.trust = true;
    config
}

pub(crate) fn options() -> BridgeOptions {
    let mut options = BridgeOptions::default();
    options.tool_search = false;
    // Reconnect without the default delay of a second.
    options.backoff.delays = vec![Duration::from_millis(20)];
    options
}

pub(crate) async fn call(bridge: &Bridge, tool: &str) -> String {
    let calling = bridge.call(tool, RawJson::empty_object(), CallContext::default());
    mcp_tests::soon(tool, calling).await.text_content()
}

pub(crate) async fn reached(bridge: &Bridge, server: &str, is_it: fn(&ServerState) -> bool) {
    let reached = bridge.wait_for(server, |status| is_it(&status.state));
    mcp_tests::soon("the state", reached).await.unwrap();
}
