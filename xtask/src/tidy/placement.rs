//! Checks the location of test files next to sources: `foo/tests.rs` and `foo/model.rs`, declared in `foo.rs`.

use super::{Finding, code::code_only, features::Source};

/// Files that remain to be moved. A row that is no longer needed must be deleted.
const ALLOWED: &[&str] = &[];

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    check_but(sources, ALLOWED)
}

fn check_but(sources: &[Source], allowed: &[&str]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = sources.iter().flat_map(check_one).collect();
    let is_stale = |path: &&&str| !findings.iter().any(|finding| finding.path == **path);
    let stale: Vec<Finding> = allowed
        .iter()
        .filter(is_stale)
        .map(|path| Finding::new(path, "is in place: delete it from the allow list"))
        .collect();
    findings.retain(|finding| !allowed.contains(&finding.path.as_str()));
    findings.extend(stale);
    findings
}

fn check_one(source: &Source) -> Vec<Finding> {
    let Source { path, text } = source;
    let Some((folder, name)) = path.rsplit_once('/').filter(|_| is_source(path)) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for part in ["tests", "model"] {
        if let Some(module) = name.strip_suffix(&format!("_{part}.rs")) {
            findings.push(Finding::new(path, format!("belongs in {folder}/{module}/{part}.rs")));
        }
    }
    for (index, line) in code_only(text).lines().enumerate() {
        if line.trim_start().starts_with("#[path") {
            let what = "`#[path` hides where the module is";
            findings.push(Finding::at(path, index + 1, what));
        }
    }
    findings
}

fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.split('/').nth(2) == Some("src")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)], allowed: &[&str]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        check_but(&sources, allowed).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tests_and_models_are_in_their_modules_folder() {
        let files = [
            ("crates/a/src/x/y_tests.rs", ""),
            ("crates/a/src/z_model.rs", ""),
            ("crates/a/src/z.rs", "// #[path\n#[path = \"z_model.rs\"]\nmod model;"),
            ("crates/a/src/x/tests.rs", ""),
            ("crates/a/src/data_model/part.rs", ""),
            ("crates/a/tests/it/big_tests.rs", "#[path = \"x\"]"),
        ];
        let expected = [
            "crates/a/src/x/y_tests.rs: belongs in crates/a/src/x/y/tests.rs",
            "crates/a/src/z_model.rs: belongs in crates/a/src/z/model.rs",
            "crates/a/src/z.rs:2: `#[path` hides where the module is",
        ];
        assert_eq!(findings(&files, &[]), expected);
        assert_eq!(findings(&files, &["crates/a/src/z_model.rs"]), [expected[0], expected[2]]);
        assert_eq!(
            findings(&files[3..], &["crates/a/src/z.rs"]),
            ["crates/a/src/z.rs: is in place: delete it from the allow list"]
        );
    }
}
