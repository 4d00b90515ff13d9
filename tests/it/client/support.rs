//! Connecting to child processes.

use mcp_client::{Client, ClientOptions};
pub(crate) use mcp_tests::{Diary, Host, call, soon};
use mcp_transport::{Stdio, StdioOptions};

/// The scripted server with these traits.
pub(crate) fn scripted(traits: &[&str]) -> StdioOptions {
    let mut options = StdioOptions::new(env!("CARGO_BIN_EXE_scripted-server"));
    options.args = traits.iter().map(Into::into).collect();
    options
}

pub(crate) async fn connect(server: StdioOptions, options: ClientOptions) -> Client {
    let stdio = Stdio::new(server);
    let connected = soon("the handshake", Client::connect(&stdio, options)).await;
    connected.unwrap_or_else(|error| panic!("{error}"))
}

/// A published server, or `None` (a recorded skip) if `cargo xtask test` has not installed it.
pub(crate) fn published(variable: &str, program: &str) -> Option<StdioOptions> {
    let program = mcp_skip::kit(variable)?.join(program);
    assert!(program.exists(), "{variable} is set, and {} is not there", program.display());
    Some(StdioOptions::new(program))
}
