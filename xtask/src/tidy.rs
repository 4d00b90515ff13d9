//! `cargo xtask tidy`: the promises of this workspace that no compiler checks.

mod code;
mod features;
mod layers;
mod manifest;
mod source;

use std::{fmt, fs, path::Path};

use crate::{
    no_arguments,
    process::capture,
    workspace::{Package, Workspace},
};

/// Something to mend, printed as `path: what is wrong`, with the line where there is one.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: Option<usize>,
    what: String,
}

impl Finding {
    fn new(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }

    fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::new(path, what) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    let workspace = Workspace::load()?;
    let files = files()?;
    let mut findings = layers::check(&workspace.packages);
    for package in &workspace.packages {
        findings.extend(check_package(package, &workspace.root)?);
    }
    let mut sources = Vec::new();
    for path in &files {
        // What is not text has no lines to judge.
        if let Some(text) = read(&workspace.root.join(path))? {
            findings.extend(source::check(path, &text));
            sources.push(features::Source { path: path.clone(), text });
        }
    }
    let table = sources.iter().find(|source| source.path == features::TABLE);
    findings.extend(table.map(|table| features::check(&table.text, &sources)).unwrap_or_default());
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} packages, {} files", workspace.packages.len(), files.len());
            Ok(())
        }
        1 => Err("one thing is not tidy".into()),
        count => Err(format!("{count} things are not tidy")),
    }
}

fn check_package(package: &Package, root: &Path) -> Result<Vec<Finding>, String> {
    let folder = root.join(&package.folder);
    let manifest = read(&folder.join("Cargo.toml"))?.unwrap_or_default();
    Ok(manifest::check(package, &manifest, folder.join("README.md").is_file()))
}

/// What git tracks, and what it would track once added.
fn files() -> Result<Vec<String>, String> {
    let mut git = std::process::Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = capture(&mut git)?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}

/// The file's text; nothing for a file that is not UTF-8, or is deleted but still in the index.
fn read(path: &Path) -> Result<Option<String>, String> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(String::from_utf8(bytes).ok())
}
