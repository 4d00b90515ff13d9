//! The `mcp` command under a second name that no other package installs.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_cli::main()
}
