//! Checks that `docs/features.md` has every row of the feature list and that the tests it names exist.

use std::collections::BTreeSet;

use super::Finding;

/// The table that is checked.
pub(super) const TABLE: &str = "docs/features.md";

/// The number of rows in each part of the feature list.
const ROWS: &[(char, u32)] = &[('F', 103), ('P', 36), ('U', 30), ('N', 13), ('S', 26), ('H', 10)];

/// The package that `unit` refers to.
const UNIT: &str = "mcp-bridge";

/// The text of a row without a test.
const HONEST: &str = "not run";

/// A source file, by its path from the root.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
}

/// Checks the table.
pub(super) fn check(table: &str, sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rows = BTreeSet::new();
    for (index, line) in table.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, ids, _, shown_by, _] = cells[..] else { continue };
        let ids: Vec<&str> = ids.split(", ").filter(|id| is_row(id)).collect();
        if ids.is_empty() {
            continue;
        }
        rows.extend(ids);
        let tokens: Vec<&str> = shown_by.split('`').skip(1).step_by(2).collect();
        let tests: Vec<&str> = tokens.iter().copied().filter(|word| word.contains("::")).collect();
        let shows = !tests.is_empty() || tokens.iter().any(|word| word.starts_with("cargo "));
        if !shows && !shown_by.contains(HONEST) {
            findings.push(Finding::at(TABLE, index + 1, "names no test and no command"));
        }
        for test in tests.into_iter().filter(|test| !exists(test, sources)) {
            findings.push(Finding::at(TABLE, index + 1, format!("test `{test}` does not exist")));
        }
    }
    for (letter, count) in ROWS {
        let missing = (1..=*count).map(|n| format!("{letter}{n}"));
        for row in missing.filter(|row| !rows.contains(row.as_str())) {
            findings.push(Finding::new(TABLE, format!("the row {row} is missing")));
        }
    }
    findings
}

fn is_row(text: &str) -> bool {
    let number = text.get(1..).and_then(|number| number.parse::<u32>().ok());
    ROWS.iter().any(|(letter, count)| {
        text.starts_with(*letter) && number.is_some_and(|n| (1..=*count).contains(&n))
    })
}

/// Whether a test exists. `name` is `package::module::test` or `unit module::test`; a `*` is any test of the module,
/// and a module alone is all of its tests.
fn exists(name: &str, sources: &[Source]) -> bool {
    let (package, path) = match name.strip_prefix("unit ") {
        Some(path) => (UNIT, path),
        None => match name.split_once("::") {
            Some(split) => split,
            None => return false,
        },
    };
    let segments: Vec<&str> = path.split("::").collect();
    // Find the longest prefix that is a module; the rest is inside it.
    (1..=segments.len()).rev().any(|length| {
        let (module, rest) = segments.split_at(length);
        // The place is compared first: reading the text of each file for each test takes a minute.
        let mut files = sources.iter().filter_map(|file| {
            let place = place(&file.path, package, module)?;
            has_tests(&file.text).then_some((place, file))
        });
        match rest {
            [] | ["*"] => files.next().is_some(),
            [name] | ["*", name] => {
                files.any(|(place, file)| place == Place::Itself && has(file, name))
            }
            _ => false,
        }
    })
}

#[derive(PartialEq)]
enum Place {
    Itself,
    Inside,
}

/// How the file at `path` belongs to this module of the package, if it does.
fn place(path: &str, package: &str, module: &[&str]) -> Option<Place> {
    let module = module.join("/");
    let folders = match package {
        "tests" => vec!["tests/it".to_owned()],
        _ => vec![format!("crates/{package}/tests/it"), format!("crates/{package}/src")],
    };
    folders.iter().find_map(|folder| {
        let rest = path.strip_prefix(folder.as_str())?.strip_prefix('/')?;
        match rest.strip_prefix(module.as_str())? {
            ".rs" | "_tests.rs" | "/mod.rs" => Some(Place::Itself),
            // The tests of a module may be in a subfolder.
            rest if rest.starts_with('/') && rest.ends_with("/tests.rs") => Some(Place::Itself),
            rest if rest.starts_with('/') => Some(Place::Inside),
            _ => None,
        }
    })
}

fn has_tests(text: &str) -> bool {
    ["#[test]", "#[tokio::test", "proptest!", "over_every_transport!"]
        .iter()
        .any(|mark| text.contains(mark))
}

/// A test function of this name, or a name inside a macro that defines tests.
fn has(source: &Source, name: &str) -> bool {
    let mut words = source.text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_function = source.text.contains(&format!("fn {name}("));
    is_function || (source.text.contains("macro_rules!") && words.any(|word| word == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Vec<Source> {
        [
            ("tests/it/bridge/cycles.rs", "#[tokio::test]\nasync fn nothing_grows() {}"),
            (
                "tests/it/transport/parity.rs",
                "macro_rules! over_every_transport { stdio http }\nover_every_transport!(a);",
            ),
            ("crates/mcp-bridge/src/name.rs", "#[test]\nfn schemes() {}"),
            ("crates/mcp-bridge/src/lifecycle_tests.rs", "#[test]\nfn a_day() {}"),
            ("crates/mcp-bridge/tests/it/support.rs", "fn no_test() {}"),
        ]
        .map(|(path, text)| Source { path: path.into(), text: text.into() })
        .into()
    }

    #[test]
    fn tests_are_found_by_their_names_and_by_their_modules() {
        for name in [
            "tests::bridge::cycles::nothing_grows",
            "tests::bridge::cycles::*",
            "tests::bridge::cycles",
            "tests::bridge::*",
            "tests::transport::parity::*::stdio",
            "unit name::schemes",
            "unit lifecycle::a_day",
            "mcp-bridge::lifecycle::*",
        ] {
            assert!(exists(name, &sources()), "{name}");
        }
        for name in [
            "tests::bridge::cycles::something_grows",
            "tests::bridge::nothing_grows",
            "tests::transport::parity::*::pigeon",
            "mcp-bridge::support::no_test",
            "mcp-nowhere::name::schemes",
            "unit name::schem",
        ] {
            assert!(!exists(name, &sources()), "{name}");
        }
    }

    #[test]
    fn rows_without_a_test_wrong_names_and_missing_rows_are_reported() {
        let table = "| row | behaviour | shown by |\n|---|---|---|\n\
                     | F1, U5 | x | `tests::bridge::cycles::*` |\n\
                     | F2 | x | somebody said so |\n\
                     | F3 | x | read, not run |\n\
                     | F4 | x | `unit name::nobody` |\n";
        let findings: Vec<String> =
            check(table, &sources()).iter().map(ToString::to_string).collect();
        assert_eq!(
            findings[..3],
            [
                "docs/features.md:4: names no test and no command",
                "docs/features.md:6: test `unit name::nobody` does not exist",
                "docs/features.md: the row F5 is missing",
            ]
        );
        // The table has rows for five of all, and two findings of its own.
        let all: u32 = ROWS.iter().map(|(_, count)| count).sum();
        assert_eq!(findings.len(), 2 + usize::try_from(all).unwrap() - 5);
    }
}
