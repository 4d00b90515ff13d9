//! `cargo xtask faults`: measures every fault over every transport.
//!
//! The target `faults` of the package `mcp-tests` runs the cells and prints a page. This task writes it to
//! `docs/reliability.md`, or compares it with the committed page.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::process::cargo;

const PAGE: &str = "docs/reliability.md";
/// Maximum number of differing lines that are printed.
const SHOWN: usize = 20;

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let check = arguments.iter().any(|argument| argument == "--check");
    let names: Vec<&String> = arguments.iter().filter(|name| *name != "--check").collect();
    let page = play(&names)?;
    if !names.is_empty() {
        println!("{page}");
        return Ok(());
    }
    let known = fs::read_to_string(PAGE).unwrap_or_default();
    if page == known {
        println!("{PAGE} is up to date: {} cells", cells(&page));
        return Ok(());
    }
    for line in differences(&known, &page).iter().take(SHOWN) {
        println!("{line}");
    }
    if check {
        return Err(format!("{PAGE} is out of date: run `cargo xtask faults`"));
    }
    fs::write(PAGE, page).map_err(|error| format!("{PAGE} cannot be written: {error}"))?;
    println!("{PAGE} is written");
    Ok(())
}

/// Runs the cells of these names, or all of them.
fn play(names: &[&String]) -> Result<String, String> {
    let mut command: Command =
        cargo(["test", "--quiet", "-p", "mcp-tests", "--test", "faults", "--"]);
    command.args(names).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("could not run the cells: {error}"))?;
    let page = String::from_utf8(output.stdout).map_err(|_| "the page is not UTF-8".to_owned())?;
    if output.status.success() {
        return Ok(page);
    }
    Err("a cell hangs, leaks or does not recover: see above".into())
}

/// The number of cells, as stated on the page.
fn cells(page: &str) -> &str {
    let rest = page.split_once("plays all ").map_or("", |(_, rest)| rest);
    rest.split_whitespace().next().unwrap_or("no")
}

/// The lines that only one of the texts has.
fn differences(before: &str, after: &str) -> Vec<String> {
    let only = |one: &str, other: &str, sign: char| -> Vec<String> {
        let known: Vec<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !known.contains(line));
        lines.map(|line| format!("{sign} {line}")).collect()
    };
    [only(before, after, '-'), only(after, before, '+')].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_counts_its_cells() {
        assert_eq!(cells("`cargo xtask faults` plays all 131\ncells again"), "131");
    }

    #[test]
    fn a_difference_is_shown_from_both_sides() {
        assert_eq!(differences("a\nb\n", "a\nc\n"), ["- b", "+ c"]);
        assert!(differences("a\n", "a\n").is_empty());
    }
}
