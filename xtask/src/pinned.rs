//! Programs from crates.io that tasks need, in tested versions.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::{
    process::{cargo, run},
    workspace::Workspace,
};

/// A program of a fixed version.
pub(crate) struct Pinned {
    /// The name of the crate and of the program it installs.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Pinned {
    /// The program of this version from the `PATH`, or from below `target`, installed there if missing.
    pub(crate) fn ready(&self) -> Result<PathBuf, String> {
        let on_path = PathBuf::from(self.name);
        if self.is_version_of(&on_path) {
            return Ok(on_path);
        }
        let root = Workspace::load()?.target.join("tools").join(self.folder());
        let program = root.join("bin").join(self.name);
        if !self.is_version_of(&program) {
            let began = Instant::now();
            // Without optimization: this compiles in half the time and is fast enough for one workspace.
            let mut install = cargo(["install", "--quiet", "--locked", "--debug", "--root"]);
            run(install.arg(&root).args(["--version", self.version, self.name]))?;
            println!("{} installed in {} s", self.folder(), began.elapsed().as_secs());
        }
        Ok(program)
    }

    fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    fn is_version_of(&self, program: &Path) -> bool {
        // Pass the subcommand as cargo does; some require it.
        let subcommand = self.name.strip_prefix("cargo-");
        let said = Command::new(program).args(subcommand).arg("--version").output();
        said.is_ok_and(|said| says(&String::from_utf8_lossy(&said.stdout), self))
    }
}

/// Whether the output of `--version` matches this program.
fn says(answer: &str, program: &Pinned) -> bool {
    let mut words = answer.split_whitespace();
    words.next() == Some(program.name)
        && words.next().map(|word| word.trim_start_matches('v')) == Some(program.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_version_counts() {
        let deny = Pinned { name: "cargo-deny", version: "0.20.2" };
        assert!(says("cargo-deny 0.20.2\n", &deny));
        assert!(says("mdbook v0.5.4", &Pinned { name: "mdbook", version: "0.5.4" }));
        assert!(!says("cargo-deny 0.20.20\n", &deny) && !says("", &deny));
    }
}
