//! `cargo xtask fuzz`: runs every fuzz target for some seconds, with any compiler.
//!
//! By default it runs the test binary that `cargo xtask test` builds, with more time. `--guided` runs the same targets
//! under libFuzzer, in a separate workspace, and adds inputs with new coverage to the corpora. Coverage
//! instrumentation comes from LLVM and does not need a nightly compiler. Sanitizers would, and look for errors that
//! code without `unsafe` cannot have.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    process::{capture, cargo, run},
    workspace::Workspace,
};

const HELP: &str = "cargo xtask fuzz [--seconds N] [--only TARGET]… [--seed N] [--guided]";
const CORPORA: &str = "fuzz/corpus";

/// The compiler flags for libFuzzer's coverage.
const COVERAGE: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing -Ccodegen-units=4";

#[derive(Debug, Default, PartialEq, Eq)]
struct Wishes {
    seconds: Option<u32>,
    seed: Option<u64>,
    only: Vec<String>,
    guided: bool,
}

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{HELP}");
        return Ok(());
    }
    let wishes = Wishes::parse(arguments)?;
    let known = targets(Path::new(CORPORA))?;
    if let Some(unknown) = wishes.only.iter().find(|name| !known.contains(name)) {
        return Err(format!("unknown target `{unknown}`; known targets: {}", known.join(", ")));
    }
    if wishes.guided { guided(&wishes, &known) } else { plain(&wishes) }
}

impl Wishes {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut wishes = Self::default();
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            if flag == "--guided" {
                wishes.guided = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("`{flag}` of `{HELP}` needs a value"));
            let no_number = |_| format!("`{flag}` must be a number");
            match flag.as_str() {
                "--seconds" => wishes.seconds = Some(value?.parse().map_err(no_number)?),
                "--seed" => wishes.seed = Some(value?.parse().map_err(no_number)?),
                "--only" => wishes.only.push(value?.clone()),
                _ => return Err(format!("`{flag}` is not one of `{HELP}`")),
            }
        }
        Ok(wishes)
    }
}

/// The target names: each has a corpus, which a test checks.
fn targets(corpora: &Path) -> Result<Vec<String>, String> {
    let unreadable = |error| format!("cannot read {}: {error}", corpora.display());
    let files = fs::read_dir(corpora).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let files = files.map_err(unreadable)?;
    let paths = files.iter().map(fs::DirEntry::path);
    let corpora = paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    let stems = corpora.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = stems.collect();
    names.sort();
    Ok(names)
}

/// Uses the features of `cargo xtask test`, so that nothing is compiled twice.
fn plain(wishes: &Wishes) -> Result<(), String> {
    let mut test = cargo(["test", "--workspace", "--all-features", "--test", "fuzz", "--"]);
    test.arg("--nocapture");
    if !wishes.only.is_empty() {
        test.arg("--exact").args(&wishes.only);
    }
    test.env("MCP_FUZZ_SECONDS", wishes.seconds.unwrap_or(10).to_string());
    if let Some(seed) = wishes.seed {
        test.env("MCP_FUZZ_SEED", seed.to_string());
    }
    run(&mut test)
}

fn guided(wishes: &Wishes, known: &[String]) -> Result<(), String> {
    let target = Workspace::load()?.target.join("guided");
    let host = capture(std::process::Command::new("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc did not print its host")?;
    // With an explicit target, build scripts are compiled without the flags.
    let mut build = cargo(["build", "--release", "--target", host]);
    build.args(["--manifest-path", "fuzz/guided/Cargo.toml", "--target-dir"]).arg(&target);
    run(build.env("RUSTFLAGS", COVERAGE))?;
    let fuzzer = target.join(host).join("release").join("mcp-fuzz-guided");
    let names = if wishes.only.is_empty() { known } else { &wishes.only };
    let failed: Vec<&str> = names
        .iter()
        .filter(|name| {
            let ran = explore(&fuzzer, &target, name, wishes);
            ran.inspect_err(|sentence| eprintln!("xtask: {name}: {sentence}")).is_err()
        })
        .map(String::as_str)
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("these failed: {}", failed.join(", "))) }
}

/// Runs one target. Its findings go to a folder that the next run starts with, and the shortest inputs with the same
/// coverage go to the corpus.
fn explore(fuzzer: &Path, target: &Path, name: &str, wishes: &Wishes) -> Result<(), String> {
    let folder = |kind: &str| -> Result<PathBuf, String> {
        let folder = target.join(kind).join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("no folder for it: {error}"))?;
        Ok(folder)
    };
    let (found, least, broken) = (folder("found")?, folder("least")?, folder("broken")?);
    corpus("unpack", name, &found)?;
    let mut fuzz = std::process::Command::new(fuzzer);
    fuzz.env("MCP_FUZZ_TARGET", name).arg(&found);
    fuzz.arg(format!("-max_total_time={}", wishes.seconds.unwrap_or(60)));
    fuzz.arg(format!("-artifact_prefix={}/", broken.display()));
    fuzz.args(["-max_len=4096", "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    if let Some(seed) = wishes.seed {
        fuzz.arg(format!("-seed={seed}"));
    }
    run(&mut fuzz)?;
    fs::remove_dir_all(&least).map_err(|error| format!("cannot empty a folder: {error}"))?;
    let least = folder("least")?;
    let mut merge = std::process::Command::new(fuzzer);
    run(merge
        .env("MCP_FUZZ_TARGET", name)
        .args(["-merge=1", "-max_len=512"])
        .args([&least, &found]))?;
    corpus("pack", name, &least)
}

fn corpus(what: &str, name: &str, folder: &Path) -> Result<(), String> {
    let mut corpus = cargo(["run", "--quiet", "--package", "mcp-fuzz", "--bin", "corpus"]);
    run(corpus.args(["--", what, name]).arg(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Wishes, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Wishes::parse(&words)
    }

    #[test]
    fn fuzz_arguments_are_parsed_and_unknown_ones_are_named() {
        let wishes = parse("--seconds 5 --only a --only b --guided").unwrap();
        let only = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(wishes, Wishes { seconds: Some(5), seed: None, only, guided: true });
        assert_eq!(parse("").unwrap(), Wishes::default());
        assert_eq!(parse("--seconds x").unwrap_err(), "`--seconds` must be a number");
        assert!(parse("--seconds").unwrap_err().starts_with("`--seconds` of"));
        assert!(parse("--second 5").unwrap_err().starts_with("`--second` is not one of"));
    }

    #[test]
    fn targets_are_the_corpora() {
        let names = targets(Path::new("../fuzz/corpus")).unwrap();
        assert!(names.contains(&"envelope".to_owned()), "{names:?}");
    }
}
