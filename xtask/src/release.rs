//! `cargo xtask release`: runs the checks before a version is published, and builds its packages. It does not publish.
//!
//! `docs/release.md` lists the remaining manual steps.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Task, api, dist, mutants,
    pinned::Pinned,
    process::{capture, run},
    workspace::{Package, Workspace},
};

const TOOL: Pinned = Pinned { name: "cargo-semver-checks", version: "0.51.0" };

/// Placeholders for the project's addresses and teams, which do not exist yet.
const PLACEHOLDERS: &[&str] = &["example.org", "example-org"];

/// Files with an address or a team of the project, besides the manifests.
const ADDRESSED: &[&str] = &["SECURITY.md", ".github/CODEOWNERS"];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let tag = match arguments {
        [] => None,
        [flag, tag] if flag == "--tag" => Some(tag.as_str()),
        _ => return Err("this task takes `--tag vX.Y.Z` or nothing".into()),
    };
    let workspace = Workspace::load()?;
    let mut wrong = check(&workspace.packages, tag);
    for changelog in changelogs(&workspace) {
        let text = fs::read_to_string(&changelog).unwrap_or_default();
        wrong.extend(check_changelog(&workspace, &changelog, &text));
    }
    for file in ADDRESSED {
        let text = fs::read_to_string(file).unwrap_or_default();
        wrong.extend(check_addresses(file, &text));
    }
    if !capture(Command::new("git").args(["status", "--porcelain"]))?.trim().is_empty() {
        wrong.push("there are changes that are not committed".to_owned());
    }
    for sentence in &wrong {
        println!("{sentence}");
    }
    if !wrong.is_empty() {
        return Err(format!("{} things stand in the way of a release", wrong.len()));
    }
    semver(&workspace.packages)?;
    for (_, task, arguments) in STEPS {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        task(&arguments)?;
    }
    println!("ready: see docs/release.md for how to publish target/dist");
    Ok(())
}

/// The tasks that a release runs, in this order, with their arguments.
const STEPS: &[(&str, Task, &[&str])] = &[
    ("api", api::task, &["--check"]),
    ("dist", dist::task, &[]),
    ("dist", dist::task, &["--prefix", "mcph"]),
    // Last, since it takes hours: a release needs all mutants, while CI tries a sample.
    ("mutants", mutants::task, &[]),
];

/// Checks the manifests against the tag and against each other.
fn check(packages: &[Package], tag: Option<&str>) -> Vec<String> {
    let published: Vec<&Package> = packages.iter().filter(|one| one.is_published).collect();
    let version = published.first().map(|one| one.version.clone()).unwrap_or_default();
    let mut wrong = Vec::new();
    for package in &published {
        if package.version != version {
            wrong.push(format!("{} is {}, others are {version}", package.name, package.version));
        }
        let urls = [&package.repository, &package.homepage, &package.documentation];
        if urls.iter().any(|url| url.as_deref().is_some_and(has_placeholder)) {
            wrong.push(format!("{} has a placeholder for an address", package.name));
        }
    }
    if tag.is_some_and(|tag| tag != format!("v{version}")) {
        wrong.push(format!("the tag is {}, the version {version}", tag.unwrap_or_default()));
    }
    wrong
}

fn has_placeholder(text: &str) -> bool {
    PLACEHOLDERS.iter().any(|placeholder| text.contains(placeholder))
}

/// A sentence with the first line that has a placeholder. A missing file is a finding too.
fn check_addresses(file: &str, text: &str) -> Option<String> {
    if text.is_empty() {
        return Some(format!("{file} is missing or empty"));
    }
    // Comments explain the placeholders.
    let is_one = |line: &str| !line.starts_with('#') && has_placeholder(line);
    let line = text.lines().position(is_one)? + 1;
    Some(format!("{file}:{line} has a placeholder for an address or a team"))
}

/// The changelog of the workspace, and of each package.
fn changelogs(workspace: &Workspace) -> Vec<PathBuf> {
    let published = workspace.packages.iter().filter(|one| one.is_published);
    let own = published.map(|one| Path::new(&one.folder).join("CHANGELOG.md"));
    std::iter::once(PathBuf::from("CHANGELOG.md")).chain(own).collect()
}

fn check_changelog(workspace: &Workspace, path: &Path, text: &str) -> Option<String> {
    let version = workspace.packages.iter().find(|one| one.is_published)?.version.clone();
    let heading = format!("## [{version}]");
    let has_it = text.lines().any(|line| line.starts_with(&heading));
    (!has_it).then(|| format!("{}: missing heading `{heading}`", path.display()))
}

/// Compares the libraries with those of the last release.
fn semver(packages: &[Package]) -> Result<(), String> {
    let mut git = Command::new("git");
    let last = git.args(["describe", "--tags", "--abbrev=0", "--match=v*", "HEAD^"]).output();
    let last = last.ok().filter(|out| out.status.success()).map(|out| out.stdout);
    let Some(last) = last.and_then(|name| String::from_utf8(name).ok()) else {
        println!("semver: no release to compare with");
        return Ok(());
    };
    let mut command = Command::new(TOOL.ready()?);
    command.args(["semver-checks", "--all-features", "--baseline-rev", last.trim()]);
    let libraries = packages.iter().filter(|one| one.is_published && one.is_library);
    run(command.args(libraries.flat_map(|one| ["--package", one.name.as_str()])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, url: &str) -> Package {
        Package {
            name: name.into(),
            version: version.into(),
            repository: Some(url.into()),
            is_published: true,
            ..Package::default()
        }
    }

    #[test]
    fn versions_addresses_and_the_tag_have_to_agree() {
        let packages = [
            package("mcp-a", "0.2.0", "https://a"),
            package("mcp-b", "0.1.0", "https://example.org/b"),
        ];
        assert_eq!(
            check(&packages, Some("v0.3.0")),
            [
                "mcp-b is 0.1.0, others are 0.2.0",
                "mcp-b has a placeholder for an address",
                "the tag is v0.3.0, the version 0.2.0",
            ]
        );
        assert!(check(&packages[..1], Some("v0.2.0")).is_empty());
    }

    #[test]
    fn placeholders_in_contacts_and_owners_are_named() {
        let owners = "# example-org\n* @real/team\n/x @example-org/security\n";
        assert_eq!(
            check_addresses(".github/CODEOWNERS", owners).unwrap(),
            ".github/CODEOWNERS:3 has a placeholder for an address or a team"
        );
        assert_eq!(check_addresses("SECURITY.md", "# Security\n[report](https://real)\n"), None);
        assert!(check_addresses("SECURITY.md", "").is_some());
    }

    #[test]
    fn a_release_tries_all_mutants() {
        let of = |name| STEPS.iter().filter(move |(step, _, _)| *step == name);
        assert_eq!(
            of("mutants").map(|(_, _, arguments)| *arguments).collect::<Vec<_>>(),
            [&[""; 0]]
        );
        assert_eq!(of("dist").count(), 2);
    }

    #[test]
    fn a_changelog_has_a_heading_for_the_version() {
        let workspace = Workspace {
            root: "/w".into(),
            target: "/w/target".into(),
            packages: vec![package("mcp-a", "0.2.0", "https://a")],
        };
        let path = Path::new("CHANGELOG.md");
        assert_eq!(check_changelog(&workspace, path, "## [0.2.0] - today\n"), None);
        let missing = check_changelog(&workspace, path, "## [Unreleased]\n").unwrap();
        assert_eq!(missing, "CHANGELOG.md: missing heading `## [0.2.0]`");
    }
}
