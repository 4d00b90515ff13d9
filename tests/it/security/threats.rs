//! Checks that the tests named in `SECURITY.md` exist.

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
        // The attribute is directly above, or an expectation is in between.
        let before: Vec<&str> = source[..at].lines().rev().take(6).collect();
        let is_test = before.iter().any(|line| line.contains("test]") || line.contains("test("));
        assert!(is_test || source.contains("proptest!"), "{file}: {test} is not a test");
        files.insert(file.as_str());
    }
    // Each row of the tables must name a test.
    for row in text.lines().filter(|line| line.starts_with('|')) {
        let is_head =
            row.contains("---") || row.starts_with("| threat") || row.starts_with("| what");
        assert!(is_head || !references(row).is_empty(), "no test: {row}");
    }
    assert!(files.len() >= 10, "{files:?}");
}

/// The ids of the findings in the trust boundary review.
fn findings() -> Vec<String> {
    let range = |letter: char, last: u32| (1..=last).map(move |number| format!("{letter}{number}"));
    ["C1".to_owned()]
        .into_iter()
        .chain(range('H', 4))
        .chain(range('M', 10))
        .chain(range('L', 14))
        .collect()
}

/// The findings without a row that has their id and names a test.
fn untested(text: &str) -> Vec<String> {
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with('|') && !references(line).is_empty()).collect();
    let has =
        |row: &str, id: &str| row.split(|c: char| !c.is_alphanumeric()).any(|word| word == id);
    findings().into_iter().filter(|id| !rows.iter().any(|row| has(row, id))).collect()
}

#[test]
fn every_finding_of_the_review_has_a_row_with_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    assert_eq!(untested(&text), [""; 0], "no row with a test");
}

#[test]
fn findings_count_by_whole_id_and_only_with_a_test() {
    let text = "| L14 | `a/b.rs` `some_test` |\n| L2 | no test |\nL3 in prose `a.rs` `some_test`\n";
    let left = untested(text);
    assert_eq!(left.len(), 28, "29 findings, one row with a test");
    assert!(left.contains(&"L1".to_owned()) && !left.contains(&"L14".to_owned()));
}
