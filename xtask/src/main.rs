//! Everything CI does, runnable at home: `cargo xtask <task>`.
//!
//! A task is a file beside this one and a row of [`TASKS`]. It returns one sentence when it fails;
//! what led to it has been printed by then.

#![expect(clippy::print_stdout, reason = "a developer's command: its stdout is nobody's transport")]

mod bench;
mod bench_cli;
mod ci;
mod conformance;
mod conformance_server;
mod deny;
mod docs;
mod faults;
mod features;
mod figures;
mod fuzz;
mod lint;
mod list;
mod load;
mod models;
mod platforms;
mod process;
mod refservers;
mod search_eval;
mod test;
mod tidy;
mod versions;
mod workspace;

use std::{env, process::ExitCode};

/// Takes the arguments after the task's name; an error is one sentence.
type Task = fn(&[String]) -> Result<(), String>;

/// Name, one line of help, what it runs. In the order in which a newcomer wants to read them.
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
        "every fault over every carrier, into docs/reliability.md: [--check] [names]",
        faults::task,
    ),
    ("lint", "rustfmt in check mode, clippy with warnings denied", lint::task),
    ("tidy", "layering, manifests, module docs, file sizes, leftovers", tidy::task),
    ("docs", "rustdoc with warnings denied: [cargo doc's own, such as --open]", docs::task),
    (
        "features",
        "each library with no, each and all of its features; dependency budgets: [--weigh]",
        features::task,
    ),
    (
        "platforms",
        "Windows and macOS, as far as the toolchain allows: clippy for each target",
        platforms::task,
    ),
    (
        "versions",
        "the oldest compiler and the oldest dependencies that the manifests promise",
        versions::task,
    ),
    (
        "fuzz",
        "every parser of foreign bytes against its fuzz target: --seconds N, [--help]",
        fuzz::task,
    ),
    (
        "bench",
        "our client beside its peers, in a workspace of its own: [--help] [cli]",
        bench::task,
    ),
    (
        "load",
        "200 servers, 10,000 calls at once, a million calls: [--quick | --soak SECONDS] [--seed N] [--json FILE]",
        load::task,
    ),
    ("models", "every order of threads and of events, where it matters", models::task),
    (
        "search-eval",
        "how well tools are found, beside other searches: --data DIR, or --emit",
        search_eval::task,
    ),
    ("figures", "runs what docs/figures.md quotes, and writes it: [--help]", figures::task),
    ("deny", "licences, bans, sources and advisories, by cargo-deny: [its checks]", deny::task),
    (
        "ci",
        "what a pull request needs: lint, tidy, docs, test, features, deny if installed",
        ci::task,
    ),
];

fn main() -> ExitCode {
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
    let (_, _, task) = TASKS
        .iter()
        .find(|(known, ..)| known == name)
        .ok_or_else(|| format!("there is no task `{name}`; `cargo xtask` lists them"))?;
    workspace::enter()?;
    task(rest)
}

fn help() -> String {
    let width = TASKS.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
    let rows = TASKS.iter().map(|(name, line, _)| format!("  {name:width$}  {line}"));
    let head = ["cargo xtask <task> [arguments]", ""].map(str::to_owned);
    head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

/// For the tasks that take none: an argument that would be ignored is an error.
fn no_arguments(arguments: &[String]) -> Result<(), String> {
    match arguments.first() {
        None => Ok(()),
        Some(first) => Err(format!("this task takes no arguments, and got `{first}`")),
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
        assert_eq!(error, "there is no task `frobnicate`; `cargo xtask` lists them");
    }
}
