//! `cargo xtask models`: model checks of concurrent code with every thread interleaving, and of the server lifecycle
//! with every order of events.

use crate::{
    no_arguments,
    process::{cargo, run},
};

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    // A separate target directory: the flag applies to every crate and would invalidate ordinary builds.
    let models = [
        "test",
        "--target-dir",
        "target/models",
        "--lib",
        "-p",
        "mcp-client",
        "-p",
        "mcp-transport",
        "--features=mcp-transport/ws",
    ];
    run(cargo(models).arg("model::").env("RUSTFLAGS", "--cfg mcp_loom"))?;
    run(&mut cargo(["test", "-p", "mcp-bridge", "--lib", "lifecycle::model::"]))
}
