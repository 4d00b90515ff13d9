//! `cargo xtask faults`: everything that goes wrong, over everything it can go wrong over.
//!
//! The target `faults` of the package `mcp-tests` plays the cells and prints a page. Here it is written to
//! `docs/reliability.md`, or compared with what is there.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::process::cargo;

const PAGE: &str = "docs/reliability.md";
/// As many lines of a difference are enough to see what it is.
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
        println!("{PAGE} says what happens, in {} cells", cells(&page));
        return Ok(());
    }
    for line in differences(&known, &page).iter().take(SHOWN) {
        println!("{line}");
    }
    if check {
        return Err(format!("{PAGE} says something else: `cargo xtask faults` writes it again"));
    }
    fs::write(PAGE, page).map_err(|error| format!("{PAGE} cannot be written: {error}"))?;
    println!("{PAGE} is written");
    Ok(())
}

/// Plays the cells of these names, or all of them.
fn play(names: &[&String]) -> Result<String, String> {
    let mut command: Command =
        cargo(["test", "--quiet", "-p", "mcp-tests", "--test", "faults", "--"]);
    command.args(names).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("the cells are not played: {error}"))?;
    let page = String::from_utf8(output.stdout).map_err(|_| "the page is no text".to_owned())?;
    if output.status.success() {
        return Ok(page);
    }
    Err("a cell hangs, leaks, says too much or does not recover: it is named above".into())
}

/// How many cells were played, as the page says itself.
fn cells(page: &str) -> &str {
    let rest = page.split_once("plays all ").map_or("", |(_, rest)| rest);
    rest.split_whitespace().next().unwrap_or("no")
}

/// The lines that only one of them has.
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
