//! `cargo xtask tidy --lines`: counts lines of source per crate, without tests, models and fuzzing.

use std::collections::BTreeMap;

use super::{features::Source, source::unit_tests_begin};

/// One line per crate and one for the total.
pub(super) fn report(sources: &[Source]) -> String {
    let mut crates: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources {
        if let Some(name) = crate_of(&source.path) {
            *crates.entry(name).or_default() += unit_tests_begin(&source.text);
        }
    }
    let all = crates.values().sum();
    let rows = crates.into_iter().chain([("all", all)]);
    rows.map(|(name, lines)| format!("{lines:>6} {name}")).collect::<Vec<_>>().join("\n")
}

/// The crate of a source file; `None` for tests and other files.
fn crate_of(path: &str) -> Option<&str> {
    let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let module = file.strip_suffix(".rs")?;
    let is_test = module.ends_with("tests")
        || module.ends_with("_model")
        || module.ends_with("/model")
        || module.ends_with("fuzz");
    (!is_test).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_counts_up_to_its_unit_tests() {
        let text = "//! x\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n";
        let paths = [
            "crates/a/src/lib.rs",
            "crates/a/src/model.rs",
            "crates/b/src/x/y.rs",
            "crates/b/src/x/tests.rs",
            "crates/b/src/x_tests.rs",
            "crates/b/src/x/model.rs",
            "crates/b/src/fuzz.rs",
            "crates/b/tests/it/main.rs",
            "crates/b/README.md",
        ];
        let sources = paths.map(|path| Source { path: path.into(), text: text.into() });
        assert_eq!(report(&sources), "     6 a\n     3 b\n     9 all");
    }
}
