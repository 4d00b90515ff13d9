//! Builds the tests of a package with its mutants woven in.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{
    listed::Mutant,
    tree::Tree,
    weave::{ROOT, Woven, weave},
};
use crate::process::cargo;

/// The compiler reports errors in stages; each round removes the mutants of one.
const ROUNDS: usize = 12;

/// Mutants of one package, by number.
pub(super) type Numbered<'m> = BTreeMap<usize, &'m Mutant>;

/// The tests of a package with mutants.
pub(super) struct Compiled {
    /// The test programs.
    pub(super) programs: Vec<PathBuf>,
    /// Mutants with an error in their own text.
    pub(super) unviable: BTreeSet<usize>,
    /// Mutants that cannot be compiled together with others.
    pub(super) left_out: BTreeSet<usize>,
}

/// A package of the copied workspace.
pub(super) struct Package<'a> {
    pub(super) tree: &'a Tree,
    pub(super) name: &'a str,
    pub(super) folder: &'a str,
    pub(super) build: &'a Path,
}

impl Package<'_> {
    /// Builds the targets of `kind`, such as `--lib`, with `mutants`.
    pub(super) fn compile(&self, mutants: &Numbered, kind: &str) -> Result<Compiled, String> {
        let mut compiled =
            Compiled { programs: Vec::new(), unviable: BTreeSet::new(), left_out: BTreeSet::new() };
        let root = format!("{}/src/lib.rs", self.folder);
        let mut originals = BTreeMap::from([(root.clone(), self.read(&root)?)]);
        for mutant in mutants.values() {
            originals.insert(mutant.file.clone(), self.read(&mutant.file)?);
        }
        for _ in 0..ROUNDS {
            let mut woven = BTreeMap::new();
            for (file, original) in &originals {
                let is_used = |number: &usize| {
                    !compiled.unviable.contains(number) && !compiled.left_out.contains(number)
                };
                let in_file: Vec<_> = mutants
                    .iter()
                    .filter(|(number, mutant)| mutant.file == *file && is_used(number))
                    .map(|(number, mutant)| (*number, *mutant))
                    .collect();
                let mut text = weave(original, &in_file);
                compiled.left_out.extend(&text.left_out);
                if *file == root {
                    text.text.push_str(ROOT);
                }
                self.tree.write(file, &text.text)?;
                woven.insert(file.clone(), text);
            }
            let errors = match self.build(kind)? {
                Ok(programs) => {
                    compiled.programs = programs;
                    break;
                }
                Err(errors) => errors,
            };
            compiled.remove(&errors, &woven)?;
        }
        for (file, original) in &originals {
            self.tree.write(file, original)?;
        }
        if compiled.programs.is_empty() {
            return Err(format!("`{}` has no tests, or its mutants do not compile", self.name));
        }
        Ok(compiled)
    }

    fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.tree.root.join(file))
            .map_err(|error| format!("cannot read {file}: {error}"))
    }

    /// The test programs, or the errors of the compiler.
    fn build(&self, kind: &str) -> Result<Result<Vec<PathBuf>, Vec<Value>>, String> {
        let mut command = cargo(["test", "--no-run", "--all-features", "--message-format=json"]);
        command.args(["--quiet", "--package", self.name, kind]);
        command.current_dir(&self.tree.root);
        quicken(&mut command, self.build);
        let output = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
        let messages: Vec<Value> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        if output.status.success() {
            return Ok(Ok(programs(&messages)));
        }
        let errors: Vec<Value> = messages
            .iter()
            .map(|message| message["message"].clone())
            .filter(|message| message["level"] == "error" && message["spans"][0].is_object())
            .collect();
        if errors.is_empty() {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            return Err(format!("the tests of `{}` do not compile", self.name));
        }
        Ok(Err(errors))
    }
}

impl Compiled {
    fn remove(&mut self, errors: &[Value], woven: &BTreeMap<String, Woven>) -> Result<(), String> {
        for error in errors {
            let places = places(error);
            let of = |file: &str| woven.iter().find(|(name, _)| file.ends_with(name.as_str()));
            let at = |(file, line): &(String, usize)| of(file).map(|(_, text)| (text, *line));
            let own = places.iter().filter_map(at).find_map(|(text, line)| text.mutant_at(line));
            if let Some(number) = own {
                self.unviable.insert(number);
                continue;
            }
            let functions = places.iter().filter_map(at).map(|(text, line)| text.function_at(line));
            let numbers: Vec<usize> = functions.flatten().copied().collect();
            if numbers.is_empty() {
                let text = error["rendered"].as_str().unwrap_or_default();
                return Err(format!("an error outside of the mutants:\n{text}"));
            }
            self.left_out.extend(numbers);
        }
        Ok(())
    }
}

/// Settings for many small builds.
pub(super) fn quicken(command: &mut Command, build: &Path) {
    // Third-party crates are compiled once for all runs.
    command.env("CARGO_TARGET_DIR", build);
    command.env("CARGO_INCREMENTAL", "1").env("CARGO_PROFILE_DEV_DEBUG", "0");
    // A failure that is recorded would fail later runs, also without the mutant.
    command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true").env("INSTA_UPDATE", "no");
}

/// The files and lines of an error, the primary ones first, with those of macros that expand to it.
fn places(error: &Value) -> Vec<(String, usize)> {
    let mut spans: Vec<&Value> = error["spans"].as_array().into_iter().flatten().collect();
    spans.sort_by_key(|span| span["is_primary"] != true);
    let mut places = Vec::new();
    for span in spans {
        let mut span = span;
        while let (Some(file), Some(line)) =
            (span["file_name"].as_str(), span["line_start"].as_u64())
        {
            places.push((file.to_owned(), usize::try_from(line).unwrap_or(usize::MAX)));
            span = &span["expansion"]["span"];
        }
    }
    places
}

fn programs(messages: &[Value]) -> Vec<PathBuf> {
    let tests = messages.iter().filter(|message| {
        message["reason"] == "compiler-artifact" && message["profile"]["test"] == true
    });
    tests.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_places_begin_with_the_primary_one_and_include_macros() {
        let error = r#"{"spans": [{"file_name": "b.rs", "line_start": 2, "is_primary": false},
            {"file_name": "m.rs", "line_start": 9, "is_primary": true,
                "expansion": {"span": {"file_name": "a.rs", "line_start": 1}}}]}"#;
        let places = places(&serde_json::from_str(error).unwrap());
        let expected = [("m.rs", 9), ("a.rs", 1), ("b.rs", 2)];
        assert_eq!(places, expected.map(|(file, line)| (file.to_owned(), line)));
    }

    #[test]
    fn programs_of_tests_are_found() {
        let messages = [
            r#"{"reason": "compiler-artifact", "profile": {"test": true}, "executable": "/it"}"#,
            r#"{"reason": "compiler-artifact", "profile": {"test": true}, "executable": null}"#,
            r#"{"reason": "compiler-artifact", "profile": {"test": false}, "executable": "/bin"}"#,
        ];
        let messages = messages.map(|message| serde_json::from_str(message).unwrap());
        assert_eq!(programs(&messages), [PathBuf::from("/it")]);
    }
}
