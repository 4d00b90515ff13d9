//! `cargo xtask bench`: our client beside its peers, in the workspace under `bench/` that
//! downloads them. What follows the task's name is the runner's own; `--help` lists it. `cli` is another
//! matter, and measured from here: the `mcp` command beside mcporter.

use std::{path::Path, process::Command};

use crate::{
    bench_cli,
    process::{cargo, run},
};

const WORKSPACE: &str = "bench";

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if let Some((first, rest)) = arguments.split_first()
        && first == "cli"
    {
        return bench_cli::task(rest);
    }
    // Built where its own lock file is, so that the peers never enter ours.
    // Its own target directory too: one set for all builds of a machine would hide the runner.
    run(cargo(["build", "--release", "--target-dir", "target"]).current_dir(WORKSPACE))?;
    run(Command::new(Path::new(WORKSPACE).join("target/release/bench-run")).args(arguments))
}
