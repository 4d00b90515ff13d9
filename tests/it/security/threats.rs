//! `SECURITY.md` names the test behind each promise. They exist, under those names.

use std::{collections::BTreeSet, fs, path::Path};

/// The references in the text: `` `path/to/file.rs` `a_name_of_a_test` ``, the path once for several names.
fn references(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let mut file = None;
        for quoted in line.split('`').skip(1).step_by(2) {
            let is_test = quoted.contains('_')
                && quoted
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            if Path::new(quoted).extension().is_some_and(|ending| ending == "rs") {
                file = Some(quoted);
            } else if let (Some(file), true) = (file, is_test) {
                found.push((file.to_owned(), quoted.to_owned()));
            }
        }
    }
    found
}

#[test]
fn every_defence_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let found = references(&text);
    assert!(found.len() >= 40, "only {} tests are named", found.len());
    let mut files = BTreeSet::new();
    for (file, test) in &found {
        let source = fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let at = source.find(&format!("fn {test}(")).unwrap_or_else(|| panic!("{file}: no {test}"));
        // The attribute is right above, or an expectation is between.
        let before: Vec<&str> = source[..at].lines().rev().take(6).collect();
        let is_test = before.iter().any(|line| line.contains("test]") || line.contains("test("));
        assert!(is_test || source.contains("proptest!"), "{file}: {test} is no test");
        files.insert(file.as_str());
    }
    // A row of the tables without a test would be a promise and nothing else.
    for row in text.lines().filter(|line| line.starts_with('|')) {
        let is_head =
            row.contains("---") || row.starts_with("| threat") || row.starts_with("| what");
        assert!(is_head || !references(row).is_empty(), "no test: {row}");
    }
    assert!(files.len() >= 10, "{files:?}");
}
