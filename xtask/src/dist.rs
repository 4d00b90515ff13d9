//! `cargo xtask dist`: packages of the command, and crates renamed for publication.
//!
//! Without `--prefix`: a static binary with completions and manual pages, as an archive, a Debian package, a Python
//! wheel and an npm package. Each is installed into a clean folder and runs `mcp demo`. Checksums and a bill of
//! materials are written next to them. `--quick` packs the binary of the dev profile, which CI has already built.

mod binary;
mod cratefiles;
mod files;
mod manifest;
mod packages;
mod sbom;
mod trial;

use std::{
    fs,
    path::{Path, PathBuf},
};

use self::{binary::Binary, packages::Release};
use crate::{
    process::capture,
    workspace::{Workspace, version},
};

const HELP: &str = "cargo xtask dist [--quick] [--prefix PREFIX]";

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    quick: bool,
    prefix: Option<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            match flag.as_str() {
                "--quick" => options.quick = true,
                "--prefix" => {
                    let prefix = rest.next().ok_or("`--prefix` needs a prefix, such as mcph")?;
                    if prefix.is_empty() || !prefix.chars().all(|c| c.is_ascii_lowercase()) {
                        return Err(format!("a prefix is lowercase letters, not `{prefix}`"));
                    }
                    options.prefix = Some(prefix.clone());
                }
                _ => return Err(format!("`{flag}` is not one of `{HELP}`")),
            }
        }
        Ok(options)
    }
}

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{HELP}");
        return Ok(());
    }
    let options = Options::parse(arguments)?;
    let workspace = Workspace::load()?;
    let folder = workspace.target.join("dist");
    match (&options.prefix, options.quick) {
        (Some(prefix), quick) => cratefiles::make(&workspace, &folder.join(prefix), prefix, quick),
        (None, false) => programs(&workspace, &folder.join("release"), false),
        // One CI step covers both parts.
        (None, true) => {
            programs(&workspace, &folder.join("quick"), true)?;
            cratefiles::make(&workspace, &folder.join("mcph"), "mcph", true)
        }
    }
}

/// Builds, packs and tries the packages, and prints a summary.
fn programs(workspace: &Workspace, folder: &Path, quick: bool) -> Result<(), String> {
    files::empty(folder)?;
    let binary = if quick { Binary::of_dev(workspace)? } else { Binary::of_dist(workspace)? };
    let release = Release {
        version: version(workspace, "mcp-cli")?,
        tree: folder.join("tree"),
        out: folder.to_owned(),
        static_linked: !quick,
    };
    release.stage(&binary, &workspace.root)?;
    let made =
        [release.archive()?, release.debian()?, release.wheel()?, release.npm()?, release.sbom()?];
    fs::write(folder.join("SHA256SUMS"), checksums(&made)?)
        .map_err(|error| format!("cannot write the checksums: {error}"))?;
    trial::run(&made, &folder.join("trial"))?;
    for file in &made {
        println!("{}: {}", shown(file, &workspace.root), files::size(file)?);
    }
    Ok(())
}

/// Lines in the format of `sha256sum --check`.
fn checksums(made: &[PathBuf]) -> Result<String, String> {
    let line = |file: &PathBuf| -> Result<String, String> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!("{}  {name}\n", files::sha256(file)?))
    };
    made.iter().map(line).collect()
}

fn shown(file: &Path, root: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

/// The time of the last commit in seconds, which all files in packages get.
fn commit_time() -> Result<u64, String> {
    let mut git = std::process::Command::new("git");
    let seconds = capture(git.args(["log", "-1", "--format=%ct"]))?;
    seconds.trim().parse().map_err(|_| format!("unexpected time of the last commit: `{seconds}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_unknown_ones_are_named() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = Options::parse(&words("--quick --prefix mcph")).unwrap();
        assert_eq!(options, Options { quick: true, prefix: Some("mcph".into()) });
        assert!(Options::parse(&words("--prefix M-")).unwrap_err().contains("`M-`"));
        assert!(Options::parse(&words("--prefix")).is_err());
        assert!(Options::parse(&words("--quik")).unwrap_err().starts_with("`--quik`"));
    }
}
