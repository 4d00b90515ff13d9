//! `cargo xtask api`: the public API of each library as a committed file, `crates/NAME/api.txt`.
//!
//! A change of the public API then shows up in review. The files are made from rustdoc's JSON, which stable compilers
//! write only under `RUSTC_BOOTSTRAP`. That variable would recompile many dependencies with build scripts that watch it,
//! so only rustdoc gets it: xtask runs in place of rustdoc, see [`as_rustdoc`].

mod document;
mod foreign;
mod items;
mod types;

use std::{
    env, fs,
    path::Path,
    process::{Command, ExitCode},
};

use self::{document::Document, foreign::Allowed};
use crate::{
    process::{cargo, run},
    workspace::{Package, Workspace},
};

const HELP: &str = "cargo xtask api [--check] [-p PACKAGE]…";

/// Set for the processes that cargo starts as rustdoc; its value is the real rustdoc.
const RUSTDOC: &str = "XTASK_RUSTDOC";

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    check: bool,
    packages: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            match flag.as_str() {
                "--check" => options.check = true,
                "-p" | "--package" => {
                    let name = rest.next().ok_or_else(|| format!("`{flag}` needs a package"))?;
                    options.packages.push(name.clone());
                }
                _ => return Err(format!("`{flag}` is not one of `{HELP}`")),
            }
        }
        Ok(options)
    }
}

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{HELP}");
        return Ok(());
    }
    let options = Options::parse(arguments)?;
    let workspace = Workspace::load()?;
    if let Some(name) = options.packages.iter().find(|name| workspace.package(name).is_none()) {
        return Err(format!("unknown package `{name}`"));
    }
    let is_chosen = |package: &&Package| {
        package.is_published
            && package.is_library
            && (options.packages.is_empty() || options.packages.contains(&package.name))
    };
    let allowed = Allowed::load(&workspace.root)?;
    let chosen: Vec<&Package> = workspace.packages.iter().filter(is_chosen).collect();
    write_json(&chosen)?;
    let mut wrong = Vec::new();
    for package in chosen {
        let api = extract(package, &workspace)?;
        for foreign in allowed.judge(&package.name, &api.foreign) {
            println!("{}: {foreign}", package.name);
            wrong.push(format!("foreign types of {}", package.name));
        }
        let file = workspace.root.join(&package.folder).join("api.txt");
        if options.check {
            let committed = fs::read_to_string(&file).unwrap_or_default();
            let changes = changes(&committed, &api.text);
            if !changes.is_empty() {
                println!("{}/api.txt:\n{}", package.folder, changes.join("\n"));
                wrong.push(format!("{}/api.txt", package.folder));
            }
        } else {
            fs::write(&file, &api.text).map_err(|error| cannot("write", &file, &error))?;
        }
        println!("{}: {} public lines", package.name, api.text.lines().count());
    }
    wrong.dedup();
    match wrong.len() {
        0 => Ok(()),
        _ => Err(format!(
            "the public API differs in {}; if that is intended, run `cargo xtask api` and commit the files",
            wrong.join(", ")
        )),
    }
}

/// The public API of one library.
struct Api {
    /// One item per line.
    text: String,
    /// Each foreign type in a public signature, as `crate::path`.
    foreign: Vec<String>,
}

/// Writes rustdoc's JSON of all chosen libraries in one run of cargo, which reuses the dependencies that `docs` checked.
fn write_json(chosen: &[&Package]) -> Result<(), String> {
    let this = env::current_exe().map_err(|error| format!("cannot find xtask: {error}"))?;
    let real = env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let mut doc = cargo(["doc", "--quiet", "--lib", "--no-deps", "--all-features"]);
    doc.args(chosen.iter().flat_map(|package| ["--package", package.name.as_str()]));
    doc.env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json");
    run(doc.env("RUSTDOC", this).env(RUSTDOC, real))
}

fn extract(package: &Package, workspace: &Workspace) -> Result<Api, String> {
    let name = format!("{}.json", package.name.replace('-', "_"));
    let file = workspace.target.join("doc").join(name);
    let json = fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))?;
    let document = Document::parse(&json)?;
    let (lines, foreign) = items::lines(&document);
    Ok(Api { text: lines.join("\n") + "\n", foreign })
}

/// Runs the real rustdoc, with unstable options permitted, if cargo started this process in place of it.
pub(crate) fn as_rustdoc() -> Option<ExitCode> {
    let real = env::var_os(RUSTDOC)?;
    let status =
        Command::new(real).args(env::args_os().skip(1)).env("RUSTC_BOOTSTRAP", "1").status();
    match status {
        Ok(status) if status.success() => Some(ExitCode::SUCCESS),
        Ok(_) => Some(ExitCode::FAILURE),
        Err(error) => {
            eprintln!("xtask: could not start rustdoc: {error}");
            Some(ExitCode::FAILURE)
        }
    }
}

/// Lines that are only in one of the two, as a diff shows them.
fn changes(committed: &str, current: &str) -> Vec<String> {
    let only_in = |one: &str, other: &str, sign: char| -> Vec<String> {
        let known: Vec<&str> = other.lines().collect();
        let lost = one.lines().filter(|line| !known.contains(line));
        lost.map(|line| format!("{sign} {line}")).collect()
    };
    let mut all = only_in(committed, current, '-');
    all.extend(only_in(current, committed, '+'));
    if all.is_empty() && committed != current {
        all.push("the lines are in another order".to_owned());
    }
    all
}

fn cannot(verb: &str, file: &Path, error: &std::io::Error) -> String {
    format!("cannot {verb} {}: {error}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_unknown_ones_are_named() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = Options::parse(&words("--check -p mcp-safe")).unwrap();
        assert_eq!(options, Options { check: true, packages: vec!["mcp-safe".into()] });
        assert!(Options::parse(&words("--chek")).unwrap_err().starts_with("`--chek`"));
        assert!(Options::parse(&words("-p")).unwrap_err().contains("needs a package"));
    }

    #[test]
    fn changes_show_both_sides_and_the_order() {
        assert_eq!(changes("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
        assert_eq!(changes("a\nb\n", "b\na\n"), ["the lines are in another order"]);
        assert!(changes("a\n", "a\n").is_empty());
    }
}
