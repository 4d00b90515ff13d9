//! Checks that every pattern of `CODEOWNERS` matches a file: one that matches none protects nothing.

use super::{Finding, features::Source};

const FILE: &str = ".github/CODEOWNERS";

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let Some(owners) = sources.iter().find(|source| source.path == FILE) else {
        return vec![Finding::new(FILE, "is missing")];
    };
    let mut findings = Vec::new();
    for (index, line) in owners.text.lines().enumerate() {
        let Some(pattern) = line.split_whitespace().next().filter(|one| !one.starts_with('#'))
        else {
            continue;
        };
        if !sources.iter().any(|source| matches(pattern, &source.path)) {
            findings.push(Finding::at(FILE, index + 1, format!("`{pattern}` matches no file")));
        }
    }
    findings
}

/// Whether a pattern matches: `*`, `/folder/`, `/file` and `/start*` are all that we use.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_prefix('/') {
        None => pattern == "*",
        Some(rest) => match rest.strip_suffix('*') {
            Some(start) => path.starts_with(start),
            None if rest.ends_with('/') => path.starts_with(rest),
            None => path == rest,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_without_a_file_are_named() {
        let owners = "# owners\n* @a\n/crates/a/ @a\n/crates/a/src/policy* @a\n/gone/ @a\n/crates/a/src @a\n";
        let sources = [(FILE, owners), ("crates/a/src/policy/list.rs", "")];
        let sources: Vec<Source> =
            sources.map(|(path, text)| Source { path: path.into(), text: text.into() }).into();
        let findings: Vec<String> = check(&sources).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            [
                ".github/CODEOWNERS:5: `/gone/` matches no file",
                ".github/CODEOWNERS:6: `/crates/a/src` matches no file",
            ]
        );
    }
}
