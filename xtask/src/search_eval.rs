//! `cargo xtask search-eval`: measures how well `mcp-search` finds tools, compared with alternatives.
//!
//! `--data DIR` measures every data set below `DIR`; `--emit --catalog C --queries Q --k 10` writes the found ids as
//! JSON lines, for scoring elsewhere.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The alternatives are in a separate workspace that may not be built.
const PEERS: &str = "bench/search/target/release/search-bench";

/// Runs the task.
pub(crate) fn task(args: &[String]) -> Result<(), String> {
    let mut command = cargo();
    command.args(["run", "--release", "--quiet", "--package", "mcp-search"]);
    if let Some(at) = args.iter().position(|arg| arg == "--emit") {
        let rest = args.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, arg)| arg);
        command.args(["--example", "rank", "--"]).args(rest);
        return succeed(&mut command);
    }
    command.args(["--example", "evaluate", "--"]).args(args);
    if build_peers() {
        for (name, peer) in [("tantivy 0.27, en_stem", "tantivy"), ("bm25 2.3.2", "bm25")] {
            command.arg("--also").arg(format!("{name}={PEERS} rank {peer}"));
        }
    } else {
        eprintln!("bench/search could not be built; measuring without the crates bm25 and tantivy");
    }
    succeed(&mut command)
}

fn build_peers() -> bool {
    let mut build = cargo();
    build.args(["build", "--release", "--quiet", "--bin", "search-bench"]);
    build.args([
        "--manifest-path",
        "bench/search/Cargo.toml",
        "--target-dir",
        "bench/search/target",
    ]);
    succeed(&mut build).is_ok()
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
