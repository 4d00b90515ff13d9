//! Checks source files: module docs, length, leftovers, printing, and paths of a machine.

use std::path::Path;

use super::{Finding, code::code_only};

/// Longer files should be split.
const LONGEST: usize = 450;
/// Longer, because tests are read one at a time.
const LONGEST_OF_TESTS: usize = 700;

/// Marks of unfinished work, and ignored tests.
const LEFTOVERS: &[&str] = &["todo!(", "unimplemented!(", "dbg!(", "#[ignore"];

/// Macros that libraries must not use: stdout may be a transport, and stderr belongs to the host.
const PRINTING: &[&str] = &["print!(", "println!(", "eprint!(", "eprintln!("];

/// Prefixes of paths on a developer's machine, split so that this file is not a finding.
const MACHINES: &[&str] = &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Checks one text file, by its path from the root.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = machine_paths(path, text);
    if is_our_rust(path) {
        findings.extend(shape(path, text));
        findings.extend(leftovers(path, &code_only(text)));
    }
    findings
}

fn is_our_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
        && ["crates/", "fuzz/", "xtask/", "tests/"].iter().any(|folder| path.starts_with(folder))
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs")) || path.ends_with("_tests.rs")
}

/// Whether the file is part of a library. Commands may print.
fn is_library(path: &str) -> bool {
    path.starts_with("crates/")
        && path.split('/').nth(2) == Some("src")
        && path.split('/').nth(3) != Some("bin")
        && !path.starts_with("crates/mcp-cli/")
        && !is_test(path)
}

fn shape(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        findings.push(Finding::new(path, "does not begin with `//!` docs"));
    }
    let limit = if is_test(path) { LONGEST_OF_TESTS } else { LONGEST };
    let lines = text.lines().count();
    if lines > limit {
        findings.push(Finding::new(path, format!("has {lines} lines, {limit} are the limit")));
    }
    findings
}

fn leftovers(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let quiet_until = if is_library(path) { unit_tests_begin(code) } else { 0 };
    for (index, line) in code.lines().enumerate() {
        for mark in LEFTOVERS.iter().filter(|mark| has_word(line, mark)) {
            findings.push(Finding::at(path, index + 1, format!("`{mark}` is left behind")));
        }
        let is_quiet = index < quiet_until;
        for mark in PRINTING.iter().filter(|mark| is_quiet && has_word(line, mark)) {
            findings.push(Finding::at(path, index + 1, format!("a library prints with `{mark}`")));
        }
    }
    findings
}

/// The line where the unit tests at the end of a module begin: tests may print.
pub(super) fn unit_tests_begin(code: &str) -> usize {
    let lines: Vec<&str> = code.lines().collect();
    let opens = |pair: &[&str]| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    };
    lines.windows(2).position(opens).unwrap_or(lines.len())
}

/// Whether `mark` is in the line and not the end of a longer name.
fn has_word(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for start in MACHINES.iter().filter(|start| has_path(line, start)) {
            let what = format!("`{start}` is a path on a developer's machine");
            findings.push(Finding::at(path, index + 1, what));
        }
    }
    findings
}

/// Whether a path begins with `start` here, and not a deeper folder of the same name.
fn has_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        !line[..at]
            .ends_with(|before: char| before.is_alphanumeric() || "._-~}*)>".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = "//! Says what it is for.\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(path, text).iter().map(ToString::to_string).collect()
    }

    fn in_library(line: &str) -> Vec<String> {
        findings("crates/mcp-a/src/peer.rs", &format!("{DOCS}{line}\n"))
    }

    #[test]
    fn a_file_without_module_docs_is_reported_wherever_it_is() {
        for path in ["crates/mcp-a/src/lib.rs", "crates/mcp-a/tests/it/main.rs", "tests/src/x.rs"] {
            let expected = format!("{path}: does not begin with `//!` docs");
            assert_eq!(findings(path, "fn main() {}\n"), [expected]);
        }
        assert_eq!(findings("bench/src/main.rs", "fn main() {}\n"), [""; 0]);
    }

    #[test]
    fn tests_may_be_longer_than_code() {
        let lines = |count: usize| format!("{DOCS}{}", "\n".repeat(count - 1));
        assert_eq!(findings("crates/mcp-a/src/peer.rs", &lines(450)), [""; 0]);
        assert_eq!(
            findings("crates/mcp-a/src/peer.rs", &lines(451)),
            ["crates/mcp-a/src/peer.rs: has 451 lines, 450 are the limit"]
        );
        assert_eq!(findings("crates/mcp-a/src/peer/tests.rs", &lines(700)), [""; 0]);
        assert_eq!(
            findings("tests/src/scripted.rs", &lines(701)),
            ["tests/src/scripted.rs: has 701 lines, 700 are the limit"]
        );
    }

    #[test]
    fn leftovers_are_reported_with_their_line() {
        let path = "crates/mcp-a/src/peer.rs";
        assert_eq!(
            in_library("fn f() { todo!() }"),
            [format!("{path}:2: `todo!(` is left behind")]
        );
        assert_eq!(in_library("#[ignore]"), [format!("{path}:2: `#[ignore` is left behind")]);
        assert_eq!(in_library("let x = dbg!(y);"), [format!("{path}:2: `dbg!(` is left behind")]);
        assert_eq!(
            findings("tests/src/x.rs", &format!("{DOCS}\nfn f() {{ unimplemented!() }}\n")),
            ["tests/src/x.rs:3: `unimplemented!(` is left behind"]
        );
    }

    #[test]
    fn prose_about_leftovers_is_not_one() {
        assert_eq!(in_library("// no todo!() here, and no println!(..)"), [""; 0]);
        assert_eq!(in_library(r##"let s = ("dbg!(", r#"#[ignore]"#);"##), [""; 0]);
        assert_eq!(in_library("my_todo!(1);"), [""; 0]);
    }

    #[test]
    fn libraries_do_not_print_and_the_rest_may() {
        let loud = format!("{DOCS}fn f() {{ eprintln!(\"x\"); }}\n");
        assert_eq!(
            findings("crates/mcp-a/src/peer.rs", &loud),
            ["crates/mcp-a/src/peer.rs:2: a library prints with `eprintln!(`"]
        );
        for path in [
            "crates/mcp-cli/src/main.rs",
            "crates/mcp-a/src/bin/rank.rs",
            "crates/mcp-a/examples/x.rs",
            "crates/mcp-a/tests/it/main.rs",
            "crates/mcp-a/src/peer/tests.rs",
            "xtask/src/main.rs",
        ] {
            assert_eq!(findings(path, &loud), [""; 0]);
        }
        assert_eq!(in_library("#[cfg(test)]\nmod tests {\nfn f() { print!(\"x\"); }\n}"), [""; 0]);
        assert_eq!(in_library("#[cfg(test)]\nmod tests;\nfn f() { print!(\"x\"); }").len(), 1);
    }

    #[test]
    fn paths_of_a_machine_are_found_in_any_file() {
        for start in MACHINES {
            let path = format!("{start}someone/x");
            let what = format!("`{start}` is a path on a developer's machine");
            for line in [path.clone(), format!("cd \"{path}\""), format!("file://{path}")] {
                assert_eq!(findings("docs/a.md", &line), [format!("docs/a.md:1: {what}")]);
            }
            for line in [format!("https://example.com{path}"), format!("~{path}")] {
                assert_eq!(findings("docs/a.md", &line), [""; 0]);
            }
        }
    }
}
