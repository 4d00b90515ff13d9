//! `cargo xtask tidy`: checks the rules of this workspace that the compiler does not.

mod code;
mod features;
mod front;
mod layers;
mod lines;
mod locks;
mod manifest;
mod modules;
mod owners;
mod placement;
mod source;
mod words;

use std::{fmt, fs, path::Path};

use crate::{
    no_arguments,
    process::capture,
    workspace::{Package, Workspace},
};

/// A violation, printed as `path: message`, with the line if there is one.
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
    let counts_lines = arguments == ["--lines"];
    if !counts_lines {
        no_arguments(arguments)?;
    }
    let workspace = Workspace::load()?;
    let files = files()?;
    let mut findings = layers::check(&workspace.packages);
    for package in &workspace.packages {
        findings.extend(check_package(package, &workspace.root)?);
    }
    let mut sources = Vec::new();
    for path in &files {
        // Binary files are not checked.
        if let Some(text) = read(&workspace.root.join(path))? {
            findings.extend(source::check(path, &text));
            sources.push(features::Source { path: path.clone(), text });
        }
    }
    if counts_lines {
        println!("{}", lines::report(&sources));
        return Ok(());
    }
    let table = sources.iter().find(|source| source.path == features::TABLE);
    findings.extend(table.map(|table| features::check(&table.text, &sources)).unwrap_or_default());
    findings.extend(modules::check(&sources));
    findings.extend(placement::check(&sources));
    findings.extend(front::check(&workspace.packages, &sources));
    findings.extend(owners::check(&sources));
    findings.extend(words::check(&sources));
    findings.extend(locks::check(&workspace.packages, &sources));
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
    let is_the_roots = |name: &&str| -> Result<bool, String> {
        let (ours, roots) = (read(&folder.join(name))?, read(&root.join(name))?);
        Ok(ours.is_some() && ours == roots)
    };
    let mut licences = Vec::new();
    for name in manifest::LICENCES {
        if is_the_roots(name)? {
            licences.push(*name);
        }
    }
    let files = manifest::Files {
        manifest: read(&folder.join("Cargo.toml"))?.unwrap_or_default(),
        library: read(&folder.join("src/lib.rs"))?,
        has_readme: folder.join("README.md").is_file(),
        licences,
    };
    Ok(manifest::check(package, &files))
}

/// The files that git tracks or would add.
fn files() -> Result<Vec<String>, String> {
    let mut git = std::process::Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = capture(&mut git)?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}

/// The text of a file; `None` if it is not UTF-8, or deleted but still in the index.
fn read(path: &Path) -> Result<Option<String>, String> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(String::from_utf8(bytes).ok())
}
