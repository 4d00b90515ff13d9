//! The second pass: cargo-mutants compiles and tries one mutant at a time.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use super::{
    compile::quicken,
    listed::{Mutant, key},
    tree::Tree,
};
use crate::process::run;

/// The results, as names without line numbers.
#[derive(Debug, Default)]
pub(super) struct Slow {
    pub(super) caught: BTreeSet<String>,
    pub(super) missed: BTreeSet<String>,
    pub(super) unviable: BTreeSet<String>,
}

/// Tries `mutants` in `tree`, with all tests of their packages except those in documentation.
pub(super) fn try_each(
    program: &Path,
    tree: &Tree,
    results: &Path,
    mutants: &[&Mutant],
) -> Result<Slow, String> {
    if mutants.is_empty() {
        return Ok(Slow::default());
    }
    let mut command = Command::new(program);
    command.args(["mutants", "--no-config", "--no-shuffle", "--all-features", "--in-place"]);
    command.args(["--minimum-test-timeout", "60", "--cargo-arg=--tests"]);
    command.arg("--dir").arg(&tree.root).arg("--output").arg(results);
    let files: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    command.args(files.iter().flat_map(|file| ["--file", *file]));
    for mutant in mutants {
        command.arg("--re").arg(format!("^{}$", literal(&mutant.name)));
    }
    quicken(&mut command, &results.join("build"));
    let results = results.join("mutants.out");
    // Results of an earlier run would be taken for those of a run that failed to start.
    let _ = fs::remove_dir_all(&results);
    // The exit code of cargo-mutants does not consider the list of allowed survivors.
    let ended = run(&mut command);
    if !results.join("outcomes.json").is_file() {
        return Err(ended.err().unwrap_or_else(|| "cargo-mutants wrote no results".into()));
    }
    let read = |name: &str| fs::read_to_string(results.join(name)).unwrap_or_default();
    let slow = Slow {
        caught: keys(&(read("caught.txt") + &read("timeout.txt"))),
        missed: keys(&read("missed.txt")),
        unviable: keys(&read("unviable.txt")),
    };
    let tried = |mutant: &&&Mutant| {
        [&slow.caught, &slow.missed, &slow.unviable].iter().any(|set| set.contains(&mutant.key()))
    };
    match mutants.iter().find(|mutant| !tried(mutant)) {
        Some(mutant) => Err(format!("cargo-mutants did not try {}", mutant.name)),
        None => Ok(slow),
    }
}

/// The mutants in one of the tool's lists.
fn keys(list: &str) -> BTreeSet<String> {
    list.lines().filter_map(key).collect()
}

/// A regular expression that matches this text.
fn literal(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_are_identified_by_file_and_change() {
        let listed = "src/a.rs:10:5: replace f -> Result<(), E> with Ok(())\nodd\n";
        let expected = "src/a.rs: replace f -> Result<(), E> with Ok(())".to_owned();
        assert_eq!(keys(listed), BTreeSet::from([expected]));
        assert_eq!(literal("a.rs: || (x)"), r"a\.rs: \|\| \(x\)");
    }
}
