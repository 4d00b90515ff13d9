//! Checks the lock files of the other workspaces (`examples`, `bench` …): for each of our crates they list the
//! dependencies that its manifest requires.
//!
//! A new edge between our crates makes these files stale, and a build with `--locked` fails then, in a later step of CI
//! or at a user's. Only names are compared. Dependencies that depend on a feature or a target may be absent.

use super::{Finding, features::Source};
use crate::workspace::Package;

const LOCK: &str = "Cargo.lock";

pub(super) fn check(packages: &[Package], sources: &[Source]) -> Vec<Finding> {
    let locks = sources.iter().filter(|source| source.path.ends_with("/Cargo.lock"));
    locks.flat_map(|lock| check_one(packages, lock)).collect()
}

fn check_one(packages: &[Package], lock: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, listed) in local(&lock.text) {
        let Some(package) = packages.iter().find(|package| package.name == name) else { continue };
        for missing in
            package.required_dependencies.iter().filter(|one| !listed.contains(&one.as_str()))
        {
            let folder = lock.path.trim_end_matches(LOCK);
            let what = format!(
                "`{name}` depends on `{missing}`, and here it does not: run `cargo metadata` in {folder}"
            );
            findings.push(Finding::new(&lock.path, what));
        }
    }
    findings
}

/// The packages that come from no registry, with the names of their dependencies.
fn local(lock: &str) -> Vec<(&str, Vec<&str>)> {
    let blocks = lock.split("[[package]]").skip(1).filter(|block| !block.contains("\nsource = "));
    let entry = |block| {
        let name = quoted(block, "name = ").next()?;
        let dependencies = block.split_once("dependencies = [").map_or("", |(_, list)| list);
        // `name`, or `name version` if there are two versions.
        let names = quoted(dependencies, " ").filter_map(|one| one.split(' ').next());
        Some((name, names.collect()))
    };
    blocks.filter_map(entry).collect()
}

/// The first quoted text of each line that begins with `start`.
fn quoted<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter(move |line| line.starts_with(start)).filter_map(|l| l.split('"').nth(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_dependency_that_a_lock_file_lacks_is_named() {
        let package = |name: &str, required: &[&str]| Package {
            name: name.into(),
            required_dependencies: required.iter().map(|&one| one.to_owned()).collect(),
            ..Package::default()
        };
        let packages = [
            package("mcp-config", &["mcp-safe", "mcp-sandbox", "url"]),
            package("mcp-safe", &[]),
            package("url", &["nothing"]),
        ];
        let lock = "version = 4\n\n[[package]]\nname = \"mcp-config\"\nversion = \"0.1.0\"\ndependencies = [\n \
                    \"mcp-safe\",\n \"url 2.5.8\",\n]\n\n[[package]]\nname = \"mcp-safe\"\nversion = \"0.1.0\"\n\n\
                    [[package]]\nname = \"url\"\nversion = \"2.5.8\"\nsource = \"registry\"\n";
        let source = |path: &str| Source { path: path.into(), text: lock.into() };
        let findings = check(&packages, &[source("bench/Cargo.lock"), source("Cargo.lock")]);
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            ["bench/Cargo.lock: `mcp-config` depends on `mcp-sandbox`, and here it does not: \
                 run `cargo metadata` in bench/"]
        );
    }
}
