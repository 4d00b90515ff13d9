//! What every package owes its readers and its users.

use super::Finding;
use crate::workspace::Package;

pub(super) fn check(package: &Package, manifest: &str, has_readme: bool) -> Vec<Finding> {
    let path = format!("{}/Cargo.toml", package.folder);
    let is_blank = |text: &Option<String>| text.as_deref().is_none_or(|t| t.trim().is_empty());
    let mut wrong = Vec::new();
    if is_blank(&package.description) {
        wrong.push("has no `description`");
    }
    if is_blank(&package.license) {
        wrong.push("has no `license`");
    }
    if !inherits_lints(manifest) {
        wrong.push("lacks `[lints] workspace = true`");
    }
    // The other packages are read by people who already have the workspace.
    if package.is_published && !has_readme {
        wrong.push("has no README.md beside it");
    }
    wrong.into_iter().map(|what| Finding::new(&path, what)).collect()
}

/// Cargo's metadata does not tell, so we look for one of the two ways in which it is written.
fn inherits_lints(manifest: &str) -> bool {
    let mut section = "";
    for line in manifest.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('[') {
            section = line;
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = match section {
            "[lints]" => format!("lints.{}", key.trim()),
            _ => key.trim().to_owned(),
        };
        let is_at_home = matches!(section, "" | "[lints]");
        if is_at_home && key == "lints.workspace" && value.trim() == "true" {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> Package {
        Package {
            folder: "crates/mcp-a".into(),
            description: Some("what it is".into()),
            license: Some("MIT".into()),
            is_published: true,
            ..Package::default()
        }
    }

    const LINTED: &str =
        "[package]\nname = \"mcp-a\"\n\n[lints] # as everywhere\nworkspace = true\n";

    #[test]
    fn a_complete_package_passes() {
        assert_eq!(check(&complete(), LINTED, true), []);
    }

    #[test]
    fn everything_absent_is_named() {
        let package = Package { description: Some(" ".into()), license: None, ..complete() };
        let findings: Vec<String> =
            check(&package, "[package]\n", false).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            [
                "crates/mcp-a/Cargo.toml: has no `description`",
                "crates/mcp-a/Cargo.toml: has no `license`",
                "crates/mcp-a/Cargo.toml: lacks `[lints] workspace = true`",
                "crates/mcp-a/Cargo.toml: has no README.md beside it",
            ]
        );
    }

    #[test]
    fn a_package_that_stays_home_needs_no_readme() {
        let package = Package { is_published: false, ..complete() };
        assert_eq!(check(&package, LINTED, false), []);
    }

    #[test]
    fn lints_are_inherited_only_by_the_key_that_does_it() {
        assert!(inherits_lints("lints.workspace = true\n[package]\n"));
        assert!(!inherits_lints("[lints]\nworkspace = false\n"));
        assert!(!inherits_lints("[lints]\n[dependencies]\nworkspace = true\n"));
        assert!(!inherits_lints("[package]\nlints.workspace = true\n"));
        assert!(!inherits_lints("# [lints]\n# workspace = true\n"));
        assert!(!inherits_lints("[lints.rust]\nworkspace = true\n"));
    }
}
