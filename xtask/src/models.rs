//! `cargo xtask models`: the places where threads meet, in every order they can take turns, and the life of a server
//! in every order of events.

use crate::{
    no_arguments,
    process::{cargo, run},
};

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    // A directory of its own: the flag is for every crate, and must not cost the next ordinary build anything.
    let models = [
        "test",
        "--target-dir",
        "target/models",
        "--lib",
        "-p",
        "mcp-client",
        "-p",
        "mcp-transport",
    ];
    run(cargo(models).arg("model::").env("RUSTFLAGS", "--cfg mcp_loom"))?;
    run(&mut cargo(["test", "-p", "mcp-bridge", "--lib", "lifecycle::model::"]))
}
