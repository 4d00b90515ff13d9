//! `cargo xtask bench`: benchmarks our client and its peers, in the separate workspace `bench/` that downloads them.
//! Further arguments go to the runner; `--help` lists them. `cargo xtask bench cli` compares the `mcp` command with
//! mcporter and runs from here.

use std::{path::Path, process::Command};

use crate::{
    bench_cli,
    process::{cargo, run},
};

const WORKSPACE: &str = "bench";
/// The packages that `counts --check` runs.
const OURS: &[&str] = &["bench-bridge", "bench-ours", "bench-run", "bench-server"];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if let Some((first, rest)) = arguments.split_first()
        && first == "cli"
    {
        return bench_cli::task(rest);
    }
    let mut build = cargo(["build", "--release", "--target-dir", "target"]);
    if arguments.iter().any(|argument| matches!(argument.as_str(), "--check" | "--write")) {
        // The baseline is of ours only: no peer is downloaded or built.
        build.args(OURS.iter().flat_map(|package| ["-p", package]));
    }
    // Built with the lock file of that workspace, so that the peers do not enter ours.
    // It has its own target directory too: a shared `CARGO_TARGET_DIR` would hide the runner.
    run(build.current_dir(WORKSPACE))?;
    run(Command::new(Path::new(WORKSPACE).join("target/release/bench-run")).args(arguments))
}
