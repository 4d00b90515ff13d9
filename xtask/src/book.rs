//! `cargo xtask book`: checks `docs/` and builds it as a book.
//!
//! The check covers the table of contents and the links between files, and does not need mdbook, which is compiled when
//! it is missing. `--build` checks and writes `target/book/html`. The book also contains two files of the root, so it
//! is built from a copy with rewritten links.

pub(crate) mod links;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use self::links::Link;
use crate::{
    pinned::Pinned,
    process::{capture, run},
    workspace::Workspace,
};

const TOOL: Pinned = Pinned { name: "mdbook", version: "0.5.4" };
const SUMMARY: &str = "docs/SUMMARY.md";

/// Files of the root that are pages of the book, with their names there.
const PAGES: &[(&str, &str)] =
    &[("ARCHITECTURE.md", "architecture.md"), ("SECURITY.md", "security.md")];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let build = match arguments {
        [] => false,
        [flag] if flag == "--build" => true,
        [other, ..] => return Err(format!("this task takes `--build` or nothing, not `{other}`")),
    };
    let pages = pages()?;
    let wrong = check(&pages, |path| Path::new(path).exists());
    for sentence in &wrong {
        println!("{sentence}");
    }
    if !wrong.is_empty() {
        return Err(format!("{} things are wrong in the book", wrong.len()));
    }
    println!(
        "book: {} pages, {} links",
        pages.len(),
        pages.values().map(|p| links::find(p).len()).sum::<usize>()
    );
    if build { make(&pages) } else { Ok(()) }
}

/// Every Markdown file tracked by git, by path.
fn pages() -> Result<BTreeMap<String, String>, String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md"]);
    let list = capture(&mut git)?;
    let present = list.split_terminator('\0').filter(|path| Path::new(path).is_file());
    present
        .map(|path| {
            let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            Ok((path.to_owned(), text))
        })
        .collect()
}

/// One finding for each page that is missing in the table of contents and each broken link.
fn check(pages: &BTreeMap<String, String>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let summary = pages.get(SUMMARY).map(String::as_str).unwrap_or_default();
    let listed: BTreeSet<String> =
        links::find(summary).iter().filter_map(|link| link.file(SUMMARY)).collect();
    let is_page = |path: &&String| {
        path.starts_with("docs/") && path.as_str() != SUMMARY && !listed.contains(*path)
    };
    wrong.extend(pages.keys().filter(is_page).map(|path| format!("{path}: is not in {SUMMARY}")));
    for (path, text) in pages {
        for link in links::find(text) {
            let Some(file) = link.file(path) else { continue };
            let line = link.line;
            if !exists(&file) {
                wrong.push(format!("{path}:{line}: {file} does not exist"));
            } else if let (Some(anchor), Some(target)) = (&link.anchor, pages.get(&file))
                && !links::anchors(target).contains(anchor)
            {
                wrong.push(format!("{path}:{line}: {file} has no heading #{anchor}"));
            }
        }
    }
    wrong
}

fn make(pages: &BTreeMap<String, String>) -> Result<(), String> {
    let workspace = Workspace::load()?;
    let folder = workspace.target.join("book");
    let source = folder.join("src");
    let failed = |error| format!("cannot write the copy of the book: {error}");
    if source.exists() {
        fs::remove_dir_all(&source).map_err(failed)?;
    }
    fs::create_dir_all(&source).map_err(failed)?;
    let repository = workspace.packages.iter().find_map(|package| package.repository.clone());
    let repository = repository.unwrap_or_default();
    for (path, text) in pages {
        if let Some(name) = in_book(path) {
            let text = links::rewrite(text, |link| moved(link, path, &repository));
            fs::write(source.join(name), text).map_err(failed)?;
        }
    }
    for entry in fs::read_dir("docs").map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "svg") {
            fs::copy(&path, source.join(path.file_name().unwrap_or_default())).map_err(failed)?;
        }
    }
    fs::copy("docs/book.toml", folder.join("book.toml")).map_err(failed)?;
    run(Command::new(TOOL.ready()?).arg("build").arg(&folder))
}

/// The name of a file in the book, if it is a page of it.
fn in_book(path: &str) -> Option<String> {
    let root = PAGES.iter().find(|(file, _)| *file == path).map(|(_, name)| (*name).to_owned());
    root.or_else(|| {
        path.strip_prefix("docs/").filter(|name| !name.contains('/')).map(str::to_owned)
    })
}

/// The target of a link of the page at `path` in the book; `None` leaves it unchanged.
fn moved(link: &Link, path: &str, repository: &str) -> Option<String> {
    let file = link.file(path)?;
    let anchor = link.anchor.as_ref().map(|anchor| format!("#{anchor}")).unwrap_or_default();
    match in_book(&file) {
        Some(name) => Some(format!("{name}{anchor}")),
        None => Some(format!("{repository}/blob/main/{file}{anchor}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
        texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn dead_links_missing_headings_and_unlisted_pages_are_named() {
        let pages = pages(&[
            (SUMMARY, "- [A](a.md)\n"),
            (
                "docs/a.md",
                "# A b\n[x](b.md) [y](#a-b) [z](#c)\n```\n[no](no.md)\n```\n`[no](no.md)`\n",
            ),
            ("docs/b.md", "[up](../README.md#top) <https://example.org>\n"),
            ("README.md", "# Top\n[gone](docs/gone.md)\n"),
        ]);
        let wrong = check(&pages, |path| pages.contains_key(path));
        assert_eq!(
            wrong,
            [
                "docs/b.md: is not in docs/SUMMARY.md",
                "README.md:2: docs/gone.md does not exist",
                "docs/a.md:2: docs/a.md has no heading #c",
            ]
        );
    }

    #[test]
    fn links_are_moved_with_the_pages_of_the_root() {
        let text = "[a](../ARCHITECTURE.md#layers) [b](b.md) [c](../crates/x/README.md) [d](https://e.org)";
        let moved = links::rewrite(text, |link| moved(link, "docs/a.md", "https://r"));
        assert_eq!(
            moved,
            "[a](architecture.md#layers) [b](b.md) [c](https://r/blob/main/crates/x/README.md) [d](https://e.org)"
        );
    }
}
