//! Development tasks: `cargo xtask <task>`. CI runs the same tasks.
//!
//! A task is a module and a row of [`TASKS`]. On failure it returns one sentence; details have been printed by then.

#![expect(clippy::print_stdout, reason = "stdout is for the developer and not a transport")]

mod api;
mod attack;
mod bench;
mod bench_cli;
mod book;
mod ci;
mod conformance;
mod conformance_server;
mod deny;
mod dist;
mod docs;
mod examples;
mod faults;
mod features;
mod figures;
mod fuzz;
mod lint;
mod list;
mod load;
mod models;
mod mutants;
mod picture;
mod pinned;
mod platforms;
mod process;
mod refservers;
mod release;
mod search_eval;
mod strict;
mod test;
mod tidy;
mod versions;
mod workspace;

use std::{env, process::ExitCode};

/// Takes the arguments after the task's name; an error is one sentence.
type Task = fn(&[String]) -> Result<(), String>;

/// Name, one line of help, function. The most useful ones for newcomers come first.
const TASKS: &[(&str, &str, Task)] = &[
    (
        "test",
        "install the reference servers, run every test: [--rust-only] [cargo test's own]",
        test::task,
    ),
    ("conformance", "the official suite, strictly, then real servers: [--help]", conformance::task),
    (
        "conformance-server",
        "the official server scenarios, strictly, against ours: [server] [gateway]",
        conformance_server::task,
    ),
    (
        "faults",
        "every fault over every transport, into docs/reliability.md: [--check] [names]",
        faults::task,
    ),
    (
        "attack",
        "hostile servers under each sandbox profile, without a network: [--corpus DIR] [names]",
        attack::task,
    ),
    ("lint", "rustfmt in check mode, clippy with warnings denied", lint::task),
    (
        "tidy",
        "layering, import cycles, manifests, module docs, file sizes, leftovers; --lines counts",
        tidy::task,
    ),
    ("docs", "rustdoc with warnings denied: [cargo doc's own, such as --open]", docs::task),
    ("book", "docs/ as a book: pages and links are checked; --build makes it", book::task),
    (
        "picture",
        "docs/demo.svg from a run of `mcp demo`, docs/architecture.svg from the layers: [--check]",
        picture::task,
    ),
    (
        "api",
        "the public API of each library, written to its api.txt: [--check] [-p PACKAGE]…",
        api::task,
    ),
    (
        "examples",
        "the programs of examples/ and tests/neighbours/, built and run to their ends",
        examples::task,
    ),
    (
        "features",
        "each library with no, each and all of its features; dependency budgets: [--weigh]",
        features::task,
    ),
    (
        "platforms",
        "Windows and macOS, as far as the toolchain allows: clippy for each target: [--strict]",
        platforms::task,
    ),
    (
        "versions",
        "the oldest compiler and the oldest dependencies that the manifests promise: [--strict | --locked]",
        versions::task,
    ),
    (
        "fuzz",
        "every parser of foreign bytes against its fuzz target: --seconds N, [--help]",
        fuzz::task,
    ),
    ("bench", "benchmarks of our client and its peers: [--help] [cli]", bench::task),
    (
        "load",
        "200 servers, 10,000 calls at once, a million calls: [--quick | --soak SECONDS] [--seed N] [--json FILE]",
        load::task,
    ),
    ("models", "every order of threads and of events, where it matters", models::task),
    (
        "search-eval",
        "quality of tool search compared with others: --data DIR, or --emit",
        search_eval::task,
    ),
    ("figures", "runs the commands of docs/figures.md and writes it: [--help]", figures::task),
    ("deny", "licences, bans, sources and advisories, by cargo-deny: [its checks]", deny::task),
    (
        "dist",
        "packages with the command, tried; with a prefix, crates to publish: [--quick] [--prefix mcph]",
        dist::task,
    ),
    (
        "release",
        "checks before a version is published, and its packages: [--tag vX.Y.Z]",
        release::task,
    ),
    (
        "mutants",
        "whether tests notice broken guards: [--sample N] [--only PATH]… [--list]",
        mutants::task,
    ),
    ("ci", "every step of CI, or those named: [steps] [--list]", ci::task),
];

fn main() -> ExitCode {
    if let Some(code) = api::as_rustdoc() {
        return code;
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), String> {
    let Some((name, rest)) = arguments.split_first() else {
        println!("{}", help());
        return Ok(());
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        println!("{}", help());
        return Ok(());
    }
    let task = find(name)?;
    workspace::enter()?;
    task(rest)
}

fn find(name: &str) -> Result<Task, String> {
    let found = TASKS.iter().find(|(known, ..)| *known == name).map(|(_, _, task)| *task);
    found.ok_or_else(|| format!("unknown task `{name}`; run `cargo xtask` for a list"))
}

fn help() -> String {
    let width = TASKS.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
    let rows = TASKS.iter().map(|(name, line, _)| format!("  {name:width$}  {line}"));
    let head = ["cargo xtask <task> [arguments]", ""].map(str::to_owned);
    head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

/// For tasks without arguments: an argument that would be ignored is an error.
fn no_arguments(arguments: &[String]) -> Result<(), String> {
    match arguments.first() {
        None => Ok(()),
        Some(first) => Err(format!("this task takes no arguments: `{first}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_a_line_for_every_task() {
        let text = help();
        for (name, line, _) in TASKS {
            assert!(text.lines().any(|l| l.contains(name) && l.ends_with(line)), "{name}");
        }
    }

    #[test]
    fn an_unknown_task_is_named() {
        let error = dispatch(&["frobnicate".to_owned()]).unwrap_err();
        assert_eq!(error, "unknown task `frobnicate`; run `cargo xtask` for a list");
    }
}
