//! The crates as they would be uploaded: a renamed copy, packaged, and built by a program that depends on the
//! packaged archives only.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{files, manifest, manifest::renamed};
use crate::{
    process::{capture, cargo, run},
    workspace::{Package, Workspace, version},
};

/// Makes the copy in `folder/source`, the archives in `folder/crates` and the consumer in `folder/consumer`.
pub(super) fn make(
    workspace: &Workspace,
    folder: &Path,
    prefix: &str,
    quick: bool,
) -> Result<(), String> {
    files::empty(folder)?;
    let source = folder.join("source");
    let ours: Vec<&Package> = workspace.packages.iter().filter(|one| one.is_published).collect();
    copy(workspace, &ours, &source, prefix)?;
    let order = in_order(&ours);
    let archives = package(workspace, &order, &source, folder, prefix)?;
    consume(workspace, &order, &archives, folder, prefix, quick)?;
    for (package, archive) in order.iter().zip(&archives) {
        println!("{}: {} bytes", renamed(&package.name, prefix), files::bytes(archive)?);
    }
    Ok(())
}

/// Copies the tracked files of the packages, with the manifests rewritten.
fn copy(
    workspace: &Workspace,
    ours: &[&Package],
    source: &Path,
    prefix: &str,
) -> Result<(), String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    git.args([
        "--",
        "crates",
        "tests/skip",
        "Cargo.toml",
        "Cargo.lock",
        "LICENSE-MIT",
        "LICENSE-APACHE",
    ]);
    for name in capture(&mut git)?.split_terminator('\0') {
        let file = workspace.root.join(name);
        // Skip deleted files that are still in the index.
        if file.is_file() {
            files::copy(&file, &source.join(name))?;
        }
    }
    let names: Vec<String> = ours.iter().map(|package| package.name.clone()).collect();
    rewrite(&source.join("Cargo.toml"), |text| manifest::root(text, &names, prefix))?;
    for package in ours {
        let file = source.join(&package.folder).join("Cargo.toml");
        rewrite(&file, |text| manifest::member(text, &package.name, package.is_library, prefix))?;
    }
    for package in ours {
        relink(package, &names, source, prefix)?;
    }
    // The lock file lists our packages by name.
    rewrite(&source.join("Cargo.lock"), |text| {
        let rename = |text: String, name: &String| {
            text.replace(&format!("\"{name}\""), &format!("\"{}\"", renamed(name, prefix)))
        };
        names.iter().fold(text.to_owned(), rename)
    })
}

/// Rewrites the links in the Markdown pages and source files of a package.
fn relink(package: &Package, ours: &[String], source: &Path, prefix: &str) -> Result<(), String> {
    for file in files::list(&source.join(&package.folder))? {
        let path = file.strip_prefix(source).unwrap_or(&file).display().to_string();
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("md") => {
                rewrite(&file, |text| manifest::page(text, &path, package, ours, prefix))?;
            }
            Some("rs") => rewrite(&file, |text| manifest::linked(text, ours, prefix))?,
            _ => {}
        }
    }
    Ok(())
}

fn rewrite(file: &Path, change: impl FnOnce(&str) -> String) -> Result<(), String> {
    let text = fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    files::write(file, change(&text))
}

/// Sorts packages after their dependencies. Development dependencies count if possible: the registry does not need
/// them.
fn in_order<'a>(packages: &[&'a Package]) -> Vec<&'a Package> {
    let mut ordered: Vec<&Package> = Vec::new();
    let mut waiting: Vec<&Package> = packages.to_vec();
    while !waiting.is_empty() {
        let is_ready = |package: &&Package| {
            let waits_for = |name: &String| {
                *name != package.name && waiting.iter().any(|other| other.name == *name)
            };
            !package.dependencies.iter().any(waits_for)
        };
        let next = waiting.iter().position(is_ready).unwrap_or_default();
        ordered.push(waiting.remove(next));
    }
    ordered
}

/// One `.crate` file for each package, in order.
fn package(
    workspace: &Workspace,
    order: &[&Package],
    source: &Path,
    folder: &Path,
    prefix: &str,
) -> Result<Vec<PathBuf>, String> {
    let target = folder.join("target");
    let mut command = cargo(["package", "--offline", "--no-verify", "--allow-dirty", "--quiet"]);
    command.args(order.iter().flat_map(|one| ["--package".to_owned(), renamed(&one.name, prefix)]));
    run(command.current_dir(source).env("CARGO_TARGET_DIR", &target))?;
    let mut archives = Vec::new();
    for package in order {
        let name = renamed(&package.name, prefix);
        let file = format!("{name}-{}.crate", version(workspace, &package.name)?);
        let archive = folder.join("crates").join(&file);
        files::copy(&target.join("package").join(&file), &archive)?;
        archives.push(archive);
    }
    Ok(archives)
}

/// Builds the README's client from the unpacked archives, with third-party crates from cargo's cache.
fn consume(
    workspace: &Workspace,
    order: &[&Package],
    archives: &[PathBuf],
    folder: &Path,
    prefix: &str,
    quick: bool,
) -> Result<(), String> {
    let unpacked = folder.join("unpacked");
    files::empty(&unpacked)?;
    let (mut patches, mut dependencies) = (Vec::new(), Vec::new());
    for (package, archive) in order.iter().zip(archives) {
        let mut tar = Command::new("tar");
        capture(
            tar.args(["--extract", "--gzip", "--file"])
                .arg(archive)
                .arg("--directory")
                .arg(&unpacked),
        )?;
        let (new, version) = (renamed(&package.name, prefix), version(workspace, &package.name)?);
        patches.push(format!("{new} = {{ path = \"../unpacked/{new}-{version}\" }}\n"));
        let is_used = ["mcp-client", "mcp-transport"].contains(&package.name.as_str());
        if package.is_library && (is_used || !quick) {
            dependencies.push(format!("{new} = \"{version}\"\n"));
        }
    }
    let (patches, dependencies) = (patches.concat(), dependencies.concat());
    let consumer = folder.join("consumer");
    let manifest = format!(
        "[package]\nname = \"consumer\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n\n\
         [patch.crates-io]\n{patches}"
    );
    files::write(&consumer.join("Cargo.toml"), manifest)?;
    let readme = fs::read_to_string(workspace.root.join("README.md"))
        .map_err(|error| format!("cannot read README.md: {error}"))?;
    let program = first_rust(&readme).ok_or("README.md has no Rust program")?;
    files::write(&consumer.join("src/main.rs"), program)?;
    // The tested versions, which the cache has.
    files::copy(&workspace.root.join("Cargo.lock"), &consumer.join("Cargo.lock"))?;
    let mut build = cargo(["build", "--offline", "--quiet"]);
    run(build.current_dir(&consumer).env("CARGO_TARGET_DIR", folder.join("target")))
}

/// The first block of Rust in a page.
fn first_rust(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("```rust\n")?;
    rest.split_once("```").map(|(program, _)| program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.into(),
            dependencies: dependencies.iter().map(|&one| one.to_owned()).collect(),
            ..Package::default()
        }
    }

    #[test]
    fn packages_are_sorted_after_their_dependencies() {
        let packages =
            [package("mcp-b", &["mcp-a", "mcp-b", "tokio"]), package("mcp-a", &["serde"])];
        let order = in_order(&packages.iter().collect::<Vec<_>>());
        assert_eq!(
            order.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["mcp-a", "mcp-b"]
        );
    }

    #[test]
    fn the_first_program_of_a_page_is_found() {
        assert_eq!(first_rust("a\n```rust\nfn main() {}\n```\n"), Some("fn main() {}\n"));
        assert_eq!(first_rust("a\n```sh\nls\n```\n"), None);
    }
}
