//! Every type in a signature that a host can reach has a name in `mcp-host`.
//!
//! The test reads the committed `api.txt` files, which `cargo xtask api` writes and CI compares with the code.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Types that a host has no use for.
const EXCEPTIONS: &[&str] = &[
    // `Profile::resolve` and `Report::read` are for the launcher; a host passes profiles to `Sandboxes`.
    "mcp_sandbox::Entry",
    "mcp_sandbox::ReportError",
    "mcp_sandbox::ResolveError",
    "mcp_sandbox::Resolved",
    // `Statistics::of` counts other texts; a host gets the statistics of its conversations.
    "mcp_search::CountTokens",
    "mcp_search::ToolText",
];

/// The public items of one crate.
#[derive(Default)]
struct Items {
    lines: Vec<String>,
    /// The full path of each type by its name.
    types: BTreeMap<String, String>,
}

type Crates = BTreeMap<String, Items>;

fn read() -> Crates {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Crates::new();
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(text) = fs::read_to_string(folder.join("api.txt")) else { continue };
        let mut items = Items::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let kind =
                words.iter().position(|word| ["struct", "enum", "trait", "type"].contains(word));
            if line.contains("pub ") && kind.is_some_and(|at| at <= 2) {
                let path = paths(line).find(|path| path.starts_with("mcp_"));
                items.types.extend(path.map(|path| (last(path).to_owned(), path.to_owned())));
            }
            items.lines.push(line.to_owned());
        }
        let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
        all.insert(name, items);
    }
    all
}

/// The paths in a line, such as `mcp_tool::Tool` or `String`.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    line.split(move |c| !is_path(c))
        .map(|path| path.trim_matches(':'))
        .filter(|path| !path.is_empty())
}

fn first(path: &str) -> &str {
    path.split("::").next().unwrap_or(path)
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Adds the types behind a re-export: of one type, of a module, or of a whole crate.
fn add(crates: &Crates, target: &str, named: &mut BTreeSet<String>, done: &mut BTreeSet<String>) {
    let (home, name) = (first(target), last(target));
    let Some(items) = crates.get(home) else { return };
    if items.types.contains_key(name) {
        named.insert(format!("{home}::{name}"));
        return;
    }
    if !done.insert(target.to_owned()) {
        return;
    }
    let is_within = |path: &str| name == home || path.contains(&format!("::{name}::"));
    let inner = items.types.iter().filter(|(_, path)| is_within(path));
    named.extend(inner.map(|(name, _)| format!("{home}::{name}")));
    for (path, target) in items.lines.iter().filter_map(|line| re_export(line)) {
        if is_within(path) {
            add(crates, target, named, done);
        }
    }
}

fn re_export(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("pub use ")?.split_once(" = ")
}

#[test]
fn every_type_in_a_reachable_signature_can_be_named() {
    let crates = read();
    let (mut named, mut done) = (BTreeSet::new(), BTreeSet::new());
    for (_, target) in crates["mcp_host"].lines.iter().filter_map(|line| re_export(line)) {
        add(&crates, target, &mut named, &mut done);
    }
    assert!(named.len() > 300, "{} types", named.len());
    assert!(named.contains("mcp_bridge::Bridge") && named.contains("mcp_providers::Session"));

    let mut unnamed: BTreeMap<String, &str> = BTreeMap::new();
    for (home, items) in &crates {
        for line in items.lines.iter().filter(|line| line.contains("pub ")) {
            let mut words = paths(line).skip_while(|word| !word.starts_with("mcp_"));
            let owner = words.next().unwrap_or_default();
            let is_reachable = |name: &str| named.contains(&format!("{home}::{name}"));
            if line.starts_with("pub use ") || !owner.split("::").any(is_reachable) {
                continue;
            }
            for path in words {
                let place = if path.starts_with("mcp_") { first(path) } else { home };
                let name = format!("{place}::{}", last(path));
                let is_ours =
                    crates.get(place).is_some_and(|all| all.types.contains_key(last(path)));
                let is_plain = path.starts_with("mcp_") || !path.contains("::");
                if is_ours && is_plain && !named.contains(&name) {
                    unnamed.entry(name).or_insert(line);
                }
            }
        }
    }
    unnamed.retain(|name, _| !EXCEPTIONS.contains(&name.as_str()));
    assert!(unnamed.is_empty(), "without a name in mcp-host: {unnamed:#?}");
}
