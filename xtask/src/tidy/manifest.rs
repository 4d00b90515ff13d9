//! Checks manifests, READMEs and licence files of packages.

use super::Finding;
use crate::workspace::Package;

/// The licence files that each published package contains.
pub(super) const LICENCES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];

/// The attribute for feature labels on docs.rs.
const LABELS: &str = "#![cfg_attr(docsrs, feature(doc_cfg))]";

/// The checked files of a package.
#[derive(Default)]
pub(super) struct Files {
    pub(super) manifest: String,
    /// `src/lib.rs`, of a library.
    pub(super) library: Option<String>,
    pub(super) has_readme: bool,
    /// Those of [`LICENCES`] that exist and equal the root's.
    pub(super) licences: Vec<&'static str>,
}

pub(super) fn check(package: &Package, files: &Files) -> Vec<Finding> {
    let path = format!("{}/Cargo.toml", package.folder);
    let mut wrong = Vec::new();
    let mut text = |key: &str, text: &Option<String>| {
        if text.as_deref().is_none_or(|text| text.trim().is_empty()) {
            wrong.push(format!("missing `{key}`"));
        }
    };
    text("description", &package.description);
    text("license", &package.license);
    if package.is_published {
        text("repository", &package.repository);
        text("homepage", &package.homepage);
        text("documentation", &package.documentation);
    }
    if !inherits_lints(&files.manifest) {
        wrong.push("lacks `[lints] workspace = true`".to_owned());
    }
    // Unpublished packages are only used within the workspace.
    if package.is_published {
        wrong.extend(check_published(package, files));
    }
    wrong.into_iter().map(|what| Finding::new(&path, what)).collect()
}

fn check_published(package: &Package, files: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    if !files.has_readme {
        wrong.push("missing README.md".to_owned());
    }
    // The registry allows at most five of either.
    for (what, words) in [("keywords", &package.keywords), ("categories", &package.categories)] {
        if !(1..=5).contains(&words.len()) {
            wrong.push(format!("has {} `{what}`, and one to five are allowed", words.len()));
        }
    }
    for name in LICENCES.iter().filter(|name| !files.licences.contains(name)) {
        wrong.push(format!("{name} is missing or differs from the one of the root"));
    }
    if !package.documents_all_features {
        wrong.push("lacks `[package.metadata.docs.rs] all-features = true`".to_owned());
    }
    if files.library.as_ref().is_some_and(|source| !source.lines().any(|line| line == LABELS)) {
        wrong.push(format!("its src/lib.rs lacks `{LABELS}`"));
    }
    wrong
}

/// Cargo's metadata does not include this, so look for one of the two notations.
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
        let url = || Some("https://example.org".to_owned());
        Package {
            folder: "crates/mcp-a".into(),
            description: Some("what it is".into()),
            license: Some("MIT".into()),
            repository: url(),
            homepage: url(),
            documentation: url(),
            keywords: vec!["mcp".into()],
            categories: vec!["encoding".into()],
            documents_all_features: true,
            is_published: true,
            ..Package::default()
        }
    }

    fn files() -> Files {
        Files {
            manifest: LINTED.to_owned(),
            library: Some(format!("//! A.\n\n{LABELS}\n")),
            has_readme: true,
            licences: LICENCES.to_vec(),
        }
    }

    const LINTED: &str =
        "[package]\nname = \"mcp-a\"\n\n[lints] # as everywhere\nworkspace = true\n";

    #[test]
    fn a_complete_package_passes() {
        assert_eq!(check(&complete(), &files()), []);
    }

    #[test]
    fn everything_absent_is_named() {
        let package = Package {
            folder: "crates/mcp-a".into(),
            description: Some(" ".into()),
            is_published: true,
            ..Package::default()
        };
        let files = Files { library: Some("//! A.\n".into()), ..Files::default() };
        let findings: Vec<String> =
            check(&package, &files).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            [
                "crates/mcp-a/Cargo.toml: missing `description`",
                "crates/mcp-a/Cargo.toml: missing `license`",
                "crates/mcp-a/Cargo.toml: missing `repository`",
                "crates/mcp-a/Cargo.toml: missing `homepage`",
                "crates/mcp-a/Cargo.toml: missing `documentation`",
                "crates/mcp-a/Cargo.toml: lacks `[lints] workspace = true`",
                "crates/mcp-a/Cargo.toml: missing README.md",
                "crates/mcp-a/Cargo.toml: has 0 `keywords`, and one to five are allowed",
                "crates/mcp-a/Cargo.toml: has 0 `categories`, and one to five are allowed",
                "crates/mcp-a/Cargo.toml: LICENSE-APACHE is missing or differs from the one of the root",
                "crates/mcp-a/Cargo.toml: LICENSE-MIT is missing or differs from the one of the root",
                "crates/mcp-a/Cargo.toml: lacks `[package.metadata.docs.rs] all-features = true`",
                "crates/mcp-a/Cargo.toml: its src/lib.rs lacks `#![cfg_attr(docsrs, feature(doc_cfg))]`",
            ]
        );
    }

    #[test]
    fn unpublished_package_needs_only_a_description_and_lints() {
        let package = Package {
            description: Some("what it is".into()),
            license: Some("MIT".into()),
            ..Package::default()
        };
        assert_eq!(check(&package, &Files { manifest: LINTED.into(), ..Files::default() }), []);
    }

    #[test]
    fn lints_are_inherited_by_the_manifest_key_only() {
        assert!(inherits_lints("lints.workspace = true\n[package]\n"));
        assert!(!inherits_lints("[lints]\nworkspace = false\n"));
        assert!(!inherits_lints("[lints]\n[dependencies]\nworkspace = true\n"));
        assert!(!inherits_lints("[package]\nlints.workspace = true\n"));
        assert!(!inherits_lints("# [lints]\n# workspace = true\n"));
        assert!(!inherits_lints("[lints.rust]\nworkspace = true\n"));
    }
}
