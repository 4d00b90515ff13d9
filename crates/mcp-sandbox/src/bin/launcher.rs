//! The launcher as a program, for hosts that cannot be started a second time.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_sandbox::launcher::run().unwrap_or_else(|| {
        eprintln!(
            "mcp-sandbox-launcher is started by an MCP host and takes no arguments of its user"
        );
        ExitCode::from(2)
    })
}
