//! `cargo xtask versions`: checks the minimum compiler and dependency versions of the manifests.
//!
//! The rest of CI would not notice when they break, because it has one compiler and one lock file. A toolchain that is
//! missing is named, `NOT CHECKED`; with `--strict` it is an error. `--locked` leaves out what needs another lock file, and
//! with it the network.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    process::{capture, run},
    strict::{self, Unchecked},
    workspace::Workspace,
};

/// The published packages; tests and tools may need newer versions.
const SHIPPED: &[&str] = &[
    "check",
    "--quiet",
    "--workspace",
    "--exclude=mcp-tests",
    "--exclude=xtask",
    "--all-features",
    "--lib",
    "--bins",
];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let is_locked = arguments == ["--locked"];
    let mut unchecked = Unchecked::new(!is_locked && strict::parse(arguments)?);
    let workspace = Workspace::load()?;
    let toolchains = toolchains();
    let oldest = oldest_compiler(&fs::read_to_string("Cargo.toml").map_err(|e| e.to_string())?)?;
    match toolchain(&toolchains, &oldest) {
        Some(name) => {
            let mut check = rustup(name, "cargo", &workspace.target.join("versions"));
            run(check.args(SHIPPED).arg("--locked"))?;
            println!("builds with Rust {oldest}");
        }
        None => unchecked
            .add(&format!("Rust {oldest}; `rustup toolchain install {oldest}` makes it possible")),
    }
    match toolchain(&toolchains, "nightly") {
        _ if is_locked => unchecked.add("the oldest dependencies, because of `--locked`"),
        Some(name) => {
            minimal(&workspace, name)?;
            println!("builds with the oldest dependencies that its manifests allow");
        }
        None => unchecked.add(
            "the oldest dependencies, which only a nightly cargo can select; \
             `rustup toolchain install nightly` makes it possible",
        ),
    }
    unchecked.judge()
}

/// Selects the minimum version of each direct dependency in a copy, so that the lock file does not change.
fn minimal(workspace: &Workspace, nightly: &str) -> Result<(), String> {
    let copy = workspace.target.join("versions-copy");
    let listed = capture(Command::new("git").args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    for file in listed.lines() {
        put(&workspace.root, &copy, file)?;
    }
    let target = workspace.target.join("versions");
    let mut update = rustup(nightly, "cargo", &target);
    run(update.args(["update", "-Zdirect-minimal-versions"]).current_dir(&copy))?;
    let mut check = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    check.env("CARGO_TARGET_DIR", &target).current_dir(&copy);
    run(check.args(SHIPPED).arg("--locked"))
}

/// Copies a file unless the copy is equal, so that unchanged files are not compiled again.
fn put(root: &Path, copy: &Path, file: &str) -> Result<(), String> {
    let told = |error: std::io::Error| format!("could not copy {file}: {error}");
    let (from, to) = (root.join(file), copy.join(file));
    let Ok(text) = fs::read(&from) else { return Ok(()) };
    if fs::read(&to).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(copy)).map_err(told)?;
    fs::write(&to, text).map_err(told)
}

/// The minimum compiler version of the workspace's manifest.
fn oldest_compiler(manifest: &str) -> Result<String, String> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let version = line.map(|line| line.trim().trim_matches('"').to_owned());
    version.ok_or_else(|| "Cargo.toml states no `rust-version`".to_owned())
}

fn toolchains() -> Vec<String> {
    let listed = capture(Command::new("rustup").args(["toolchain", "list"])).unwrap_or_default();
    listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// `1.89` matches `1.89.0-x86_64-unknown-linux-gnu`, and `1.8` does not.
fn toolchain<'a>(all: &'a [String], wanted: &str) -> Option<&'a String> {
    all.iter().find(|name| {
        name.strip_prefix(wanted)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    })
}

fn rustup(toolchain: &str, program: &str, target: &PathBuf) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, program]).env("CARGO_TARGET_DIR", target);
    // Set by the cargo that runs xtask, for its own compiler.
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_compiler_is_the_one_in_the_manifest() {
        let manifest = "[workspace.package]\nedition = \"2024\"\nrust-version = \"1.89\"\n";
        assert_eq!(oldest_compiler(manifest).unwrap(), "1.89");
        assert!(oldest_compiler("[workspace]\n").is_err());
    }

    #[test]
    fn a_toolchain_is_found_by_the_beginning_of_its_name() {
        let all = ["stable-x", "1.89.0-x", "nightly-2026-01-01-x"].map(str::to_owned);
        assert_eq!(toolchain(&all, "1.89").unwrap(), "1.89.0-x");
        assert_eq!(toolchain(&all, "1.8"), None);
        assert_eq!(toolchain(&all, "nightly").unwrap(), "nightly-2026-01-01-x");
    }
}
