//! Connecting to child processes.

use std::{env, path::PathBuf};

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

/// A published server, or `None` (said on stderr) where `cargo xtask test` has not installed any.
pub(crate) fn published(variable: &str, program: &str) -> Option<StdioOptions> {
    let Some(folder) = env::var_os(variable) else {
        eprintln!("skipped: {variable} is not set; `cargo xtask test` sets it");
        return None;
    };
    let program = PathBuf::from(folder).join(program);
    assert!(program.exists(), "{variable} is set, and {} is not there", program.display());
    Some(StdioOptions::new(program))
}
