//! `cargo xtask load`: many servers, many calls, and trouble. What follows the task's name is the program's own.

use crate::process::{cargo, run};

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let mut command = cargo(["run", "--quiet", "--package", "mcp-tests", "--bin", "mcp-load"]);
    // The quick one is for CI, which has built everything for its tests already.
    if !arguments.iter().any(|argument| argument == "--quick") {
        command.arg("--release");
    }
    run(command.arg("--").args(arguments))
}
