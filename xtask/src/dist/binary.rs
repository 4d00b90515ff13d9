//! The binary in the packages.

use std::{path::PathBuf, process::Command};

use super::files;
use crate::{
    process::{capture, cargo, exists, run},
    workspace::Workspace,
};

/// A static binary runs on every Linux of its architecture, with any C library.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// The maximum size of the stripped binary.
const LARGEST: u64 = 14 << 20;

/// One crypto provider: logins sign with `ring` in any case, so TLS uses it too.
const FEATURES: &[&str] = &["--no-default-features", "--features=ring"];

/// One built `mcp`.
pub(super) struct Binary {
    pub(super) path: PathBuf,
}

impl Binary {
    /// The binary of the `dist` profile: static, small, stripped.
    pub(super) fn of_dist(workspace: &Workspace) -> Result<Self, String> {
        let installed = capture(Command::new("rustup").args(["target", "list", "--installed"]))?;
        if !installed.lines().any(|line| line == TARGET) {
            run(Command::new("rustup").args(["target", "add", TARGET]))?;
        }
        let mut build = cargo(["build", "--locked", "--package=mcp-cli", "--bin=mcp"]);
        build.arg("--profile=dist").args(["--target", TARGET]).args(FEATURES);
        // The C code in `ring` does not use headers that differ, so the host's compiler works.
        if !exists("musl-gcc") {
            build.env("CC_x86_64_unknown_linux_musl", "cc");
        }
        run(&mut build)?;
        let path = workspace.target.join(TARGET).join("dist/mcp");
        let binary = Self { path };
        binary.check()?;
        Ok(binary)
    }

    /// The binary of the dev profile, stripped.
    pub(super) fn of_dev(workspace: &Workspace) -> Result<Self, String> {
        run(&mut cargo(["build", "--locked", "--package=mcp-cli", "--bin=mcp"]))?;
        let path = workspace.target.join("dist/mcp");
        files::copy(&workspace.target.join("debug/mcp"), &path)?;
        run(Command::new("strip").arg(&path))?;
        Ok(Self { path })
    }

    /// Checks the size and that there is no dynamic loader.
    fn check(&self) -> Result<(), String> {
        let bytes = files::bytes(&self.path)?;
        println!("the stripped program has {}", files::size(&self.path)?);
        if bytes > LARGEST {
            return Err(format!("the stripped program has {bytes} bytes, {LARGEST} are allowed"));
        }
        let headers = capture(Command::new("readelf").arg("--program-headers").arg(&self.path))?;
        if headers.contains("INTERP") {
            return Err("the program is linked dynamically".into());
        }
        Ok(())
    }

    /// Runs `mcp …` and returns its output.
    pub(super) fn prints(&self, arguments: &[&str]) -> Result<String, String> {
        capture(Command::new(&self.path).args(arguments))
    }
}
