//! The `mcp` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_cli::main()
}
