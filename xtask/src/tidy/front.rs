//! Checks the front page of each library, the docs at the top of `src/lib.rs`: a diagram of where the crate stands, and
//! a first example.
//!
//! The READMEs are compiled and shown by the registry; docs.rs and editors show the front page.

use super::{Finding, features::Source};
use crate::workspace::Package;

/// Crates whose front pages are still to be written. A row that is no longer needed must be deleted.
const ALLOWED: &[&str] = &[];

/// Makes the README a part of the front page.
const README: &str = "#![doc = include_str!(\"../README.md\")]";

pub(super) fn check(packages: &[Package], sources: &[Source]) -> Vec<Finding> {
    check_but(packages, sources, ALLOWED)
}

fn check_but(packages: &[Package], sources: &[Source], allowed: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages.iter().filter(|one| one.is_published && one.is_library) {
        let path = format!("{}/src/lib.rs", package.folder);
        let Some(source) = sources.iter().find(|source| source.path == path) else { continue };
        let readme = format!("{}/README.md", package.folder);
        let readme = sources.iter().find(|source| source.path == readme);
        let missing = missing(&source.text, readme.map(|readme| &*readme.text));
        match (missing.is_empty(), allowed.contains(&package.name.as_str())) {
            (false, false) => {
                let what = format!("its front page lacks {}", missing.join(" and "));
                findings.push(Finding::new(&path, what));
            }
            (true, true) => findings.push(Finding::new(
                &path,
                "has a front page: delete it from the allow list of xtask/src/tidy/front.rs",
            )),
            _ => {}
        }
    }
    findings
}

/// What the docs of a crate root lack.
fn missing(source: &str, readme: Option<&str>) -> Vec<&'static str> {
    let readme = readme.filter(|_| source.lines().any(|line| line == README));
    let own = source.lines().map_while(|line| line.strip_prefix("//!"));
    let docs: Vec<&str> = own.chain(readme.into_iter().flat_map(str::lines)).collect();
    // Every second fence opens a block.
    let fences = docs.iter().filter_map(|line| line.trim().strip_prefix("```"));
    let blocks: Vec<&str> = fences.step_by(2).collect();
    let is_diagram = |block: &str| block == "text";
    let is_example =
        |block: &str| matches!(block, "" | "rust" | "rust,no_run" | "no_run" | "console");
    let mut missing = Vec::new();
    if !blocks.iter().any(|block| is_diagram(block)) {
        missing.push("a diagram (```text)");
    }
    if !blocks.iter().any(|block| is_example(block)) {
        missing.push("an example");
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(lib: &str, allowed: &[&str]) -> Vec<String> {
        let package = Package {
            name: "mcp-a".into(),
            folder: "crates/mcp-a".into(),
            is_published: true,
            is_library: true,
            ..Package::default()
        };
        let source = Source { path: "crates/mcp-a/src/lib.rs".into(), text: lib.into() };
        check_but(&[package], &[source], allowed).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_front_page_has_a_diagram_and_an_example() {
        let complete = "//! A.\n//!\n//! ```text\n//! a\n//! ```\n//!\n//! ```no_run\n//! a();\n//! ```\n\nmod a;\n";
        assert_eq!(findings(complete, &[]), [""; 0]);
        assert_eq!(
            findings("//! A.\n\n/// ```text\n/// ```\nmod a;\n", &[]),
            ["crates/mcp-a/src/lib.rs: its front page lacks a diagram (```text) and an example"]
        );
        // The end of a diagram is not the beginning of an example.
        assert_eq!(
            findings("//! ```text\n//! a\n//! ```\n", &[]),
            ["crates/mcp-a/src/lib.rs: its front page lacks an example"]
        );
    }

    #[test]
    fn allow_list_must_not_be_stale() {
        assert_eq!(findings("//! A.\n", &["mcp-a"]), [""; 0]);
        let complete = "//! ```text\n//! ```\n//! ```\n//! ```\n";
        assert_eq!(findings(complete, &["mcp-a"]).len(), 1);
    }
}
