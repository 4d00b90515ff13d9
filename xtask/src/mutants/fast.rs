//! The first pass: all mutants of a package are compiled at once, and each is tried by running the tests again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    compile::{Compiled, Numbered, Package, quicken},
    weave::CHOICE,
};
use crate::process::capture;

/// How long a run may take: this, and several times as long as the run without a mutant.
const PATIENCE: Duration = Duration::from_secs(30);
/// Kilobytes of address space of a test program. An endless loop may allocate.
const MEMORY: &str = "16000000";

/// The results of a package, by number.
#[derive(Debug, Default)]
pub(super) struct Tried {
    /// With the test that failed.
    pub(super) caught: BTreeMap<usize, String>,
    pub(super) unviable: BTreeSet<usize>,
    /// Not caught, or not compiled.
    pub(super) remaining: BTreeSet<usize>,
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed(String),
}

/// Tries `mutants` with the tests of their module, then with all tests of the package.
pub(super) fn try_all(
    package: &Package,
    mutants: &Numbered,
    tell: impl FnMut(&str, usize, &str),
) -> Result<Tried, String> {
    let mut pass = Pass {
        package,
        mutants,
        tell,
        tried: Tried { remaining: mutants.keys().copied().collect(), ..Tried::default() },
    };
    pass.with_their_modules()?;
    pass.with_all_tests()?;
    for number in &pass.tried.remaining {
        (pass.tell)("remains", *number, "");
    }
    Ok(pass.tried)
}

struct Pass<'a, T> {
    package: &'a Package<'a>,
    mutants: &'a Numbered<'a>,
    tell: T,
    tried: Tried,
}

impl<T: FnMut(&str, usize, &str)> Pass<'_, T> {
    /// Tries each mutant with the unit tests of its file, if there are any.
    fn with_their_modules(&mut self) -> Result<(), String> {
        let compiled = self.compile("--lib")?;
        let Some(library) = compiled.programs.first() else { return Ok(()) };
        let mut modules = BTreeMap::<String, Vec<usize>>::new();
        for number in self.left(&compiled) {
            let module = module(&self.mutants[&number].file, self.package.folder);
            modules.entry(module).or_default().push(number);
        }
        let tests = capture(Command::new(library).args(["--list", "--format=terse"]))?;
        for (module, numbers) in modules {
            if tests.lines().any(|test| test.starts_with(&module)) {
                self.run_each(library, Some(&module), &numbers)?;
            }
        }
        Ok(())
    }

    /// Tries what is left with all tests of the package, the fastest programs first.
    fn with_all_tests(&mut self) -> Result<(), String> {
        if self.tried.remaining.is_empty() {
            return Ok(());
        }
        let compiled = self.compile("--tests")?;
        let mut programs = Vec::new();
        for program in &compiled.programs {
            programs.push((run(self.package, program, None, 0, PATIENCE * 20)?.0, program));
        }
        programs.sort();
        for (_, program) in programs {
            self.run_each(program, None, &self.left(&compiled))?;
        }
        Ok(())
    }

    /// Compiles the remaining mutants.
    fn compile(&mut self, kind: &str) -> Result<Compiled, String> {
        let mutants = self.mutants.iter().map(|(number, mutant)| (*number, *mutant));
        let remaining =
            mutants.filter(|(number, _)| self.tried.remaining.contains(number)).collect();
        let compiled = self.package.compile(&remaining, kind)?;
        for number in &compiled.unviable {
            (self.tell)("unviable", *number, "");
            self.tried.remaining.remove(number);
        }
        self.tried.unviable.extend(&compiled.unviable);
        Ok(compiled)
    }

    fn left(&self, compiled: &Compiled) -> Vec<usize> {
        self.tried.remaining.difference(&compiled.left_out).copied().collect()
    }

    /// Runs a test program once per mutant, after a run without one.
    fn run_each(
        &mut self,
        program: &Path,
        filter: Option<&str>,
        numbers: &[usize],
    ) -> Result<(), String> {
        if numbers.is_empty() {
            return Ok(());
        }
        let limit = PATIENCE + run(self.package, program, filter, 0, PATIENCE * 20)?.0 * 5;
        for number in numbers {
            if let (_, Ended::Failed(test)) = run(self.package, program, filter, *number, limit)? {
                (self.tell)("caught", *number, &test);
                self.tried.caught.insert(*number, test);
                self.tried.remaining.remove(number);
            }
        }
        Ok(())
    }
}

/// The path of a file's module, with `::` at its end.
fn module(file: &str, folder: &str) -> String {
    let path = file.strip_prefix(folder).unwrap_or(file);
    let path = path.trim_start_matches("/src/").trim_end_matches(".rs").trim_end_matches("/mod");
    format!("{}::", path.replace('/', "::"))
}

/// Runs tests with one mutant. Without a mutant they must pass.
fn run(
    package: &Package,
    program: &Path,
    filter: Option<&str>,
    number: usize,
    limit: Duration,
) -> Result<(Duration, Ended), String> {
    let log: PathBuf = package.build.with_file_name("test.log");
    let failed = |error: std::io::Error| format!("cannot run {}: {error}", program.display());
    let out = File::create(&log).map_err(failed)?;
    let mut command = Command::new(program);
    if cfg!(unix) {
        command = Command::new("sh");
        command.args(["-c", "ulimit -v $0 2>/dev/null; exec \"$@\"", MEMORY]).arg(program);
    }
    let folder = package.tree.root.join(package.folder);
    command.args(filter).current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder);
    quicken(&mut command, package.build);
    // A few cases catch most mutants. What survives them has all cases in the second pass.
    command.env("PROPTEST_CASES", "16");
    command.env(CHOICE, number.to_string());
    command.stdin(Stdio::null()).stderr(out.try_clone().map_err(failed)?).stdout(out);
    let began = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break Some(status);
        }
        if began.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let took = began.elapsed();
    if status.is_some_and(|status| status.success()) {
        return Ok((took, Ended::Passed));
    }
    let text = String::from_utf8_lossy(&fs::read(&log).map_err(failed)?).into_owned();
    if number == 0 {
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Err(format!("the tests of `{}` fail without a mutant", package.name));
    }
    let by = if status.is_none() { "timeout".to_owned() } else { first_failed(&text) };
    Ok((took, Ended::Failed(by)))
}

/// The first failed test in the output of a test program.
fn first_failed(text: &str) -> String {
    let failed =
        text.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    failed.unwrap_or("the test program ended").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_module_whose_tests_are_run_first() {
        assert_eq!(module("crates/a/src/fs/read.rs", "crates/a"), "fs::read::");
        assert_eq!(module("crates/a/src/expand.rs", "crates/a"), "expand::");
    }

    #[test]
    fn failed_test_is_found_in_the_output() {
        let text = "test a::b ... ok\ntest a::c ... FAILED\ntest a::d ... FAILED\n";
        assert_eq!(first_failed(text), "a::c");
        assert_eq!(first_failed("memory allocation failed"), "the test program ended");
    }
}
