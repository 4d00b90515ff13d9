//! `cargo xtask picture`: `docs/demo.svg`, a recording of a real run of `mcp demo`, and `docs/architecture.svg`, the
//! crates in layers.
//!
//! The run needs neither network nor configuration and always prints the same text, so the picture changes only with
//! the command. The layers follow from the manifests. `--check` compares both.

mod architecture;

use std::{fmt::Write as _, fs, process::Command};

use crate::{
    process::{capture, cargo, run},
    workspace::Workspace,
};

const FILE: &str = "docs/demo.svg";
const LINE: usize = 18;
const COLUMN: usize = 8;
const MARGIN: usize = 20;
/// Wider lines of the demo are cut, as in a terminal of this width.
const COLUMNS: usize = 100;

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        [other, ..] => return Err(format!("this task takes `--check` or nothing, not `{other}`")),
    };
    let workspace = Workspace::load()?;
    // Both are compared before either is reported.
    let layers = keep(architecture::FILE, &architecture::draw(&workspace.packages)?, check);
    keep(FILE, &draw("mcp demo", &demo(&workspace)?), check).and(layers)
}

/// The output of `mcp demo`.
fn demo(workspace: &Workspace) -> Result<String, String> {
    run(&mut cargo(["build", "--quiet", "--package=mcp-cli", "--bin=mcp"]))?;
    let home = workspace.target.join("picture");
    fs::create_dir_all(&home).map_err(|error| format!("no home for the demo: {error}"))?;
    let mut demo = Command::new(workspace.target.join("debug/mcp"));
    capture(demo.arg("demo").env_clear().env("HOME", &home).current_dir(&home))
}

/// Writes a picture, or compares it with the file.
fn keep(file: &str, picture: &str, check: bool) -> Result<(), String> {
    if !check {
        return fs::write(file, picture).map_err(|error| format!("cannot write {file}: {error}"));
    }
    match fs::read_to_string(file) {
        Ok(old) if old == picture => Ok(()),
        _ => Err(format!("{file} is out of date: run `cargo xtask picture`")),
    }
}

/// Draws a terminal in which a command is typed and its output appears line by line.
fn draw(command: &str, output: &str) -> String {
    let lines: Vec<String> = std::iter::once(format!("$ {command}"))
        .chain(output.trim_end().lines().map(|line| cut(line, COLUMNS)))
        .collect();
    let width = COLUMNS * COLUMN + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN + LINE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"A terminal that runs {command}\">\n<style>\n\
         text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d7dae0; white-space: pre; }}\n\
         .prompt {{ fill: #7fd88f; font-weight: bold; }}\n.title {{ fill: #8fb8ff; font-weight: bold; }}\n\
         .head {{ fill: #8b93a1; }}\n.note {{ fill: #e5c07b; }}\n\
         @media (prefers-reduced-motion: no-preference) {{\n\
         text {{ animation: show 0.01s both; }}\n@keyframes show {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}\n}}\n\
         </style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d2026\"/>\n"
    );
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = MARGIN + LINE * (index + 1);
        // Delays in tenths of a second: the command first, then line by line.
        let delay = if index == 0 { 0 } else { 8 + index };
        let _ = writeln!(
            svg,
            "<text class=\"{}\" x=\"{MARGIN}\" y=\"{y}\" style=\"animation-delay: {}.{}s\">{}</text>",
            class(index, line),
            delay / 10,
            delay % 10,
            escape(line)
        );
    }
    svg + "</svg>\n"
}

fn class(index: usize, line: &str) -> &'static str {
    let is_title = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    match line {
        _ if index == 0 => "prompt",
        "Next" => "title",
        _ if is_title => "title",
        _ if line.starts_with("TOOL ") => "head",
        _ if line.starts_with('→') => "note",
        _ => "line",
    }
}

fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    line.chars().take(columns - 1).chain(['…']).collect()
}

fn escape(line: &str) -> String {
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_drawn_once_escaped_and_in_order() {
        let svg = draw("mcp demo", "1. Discovery\n\na <b> & c\n→ denied\n");
        let texts: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text")).collect();
        assert_eq!(texts.len(), 4);
        assert!(texts[0].contains("class=\"prompt\"") && texts[0].ends_with(">$ mcp demo</text>"));
        assert!(texts[1].contains("class=\"title\"") && texts[1].contains("0.9s"));
        assert!(texts[2].ends_with(">a &lt;b&gt; &amp; c</text>"), "{}", texts[2]);
        assert!(texts[3].contains("class=\"note\""));
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
