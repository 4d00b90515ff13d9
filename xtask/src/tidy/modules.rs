//! Finds import cycles: sibling modules of a crate, or of a folder with six or more files, that use each other
//! directly or indirectly.
//!
//! A module is its file and its folder together. Every path counts, in `use` declarations and in code; a re-export or
//! a glob also counts as a use of the module that defines the item. Tests, models and fuzzing are skipped. A parent is
//! not a sibling of its children: `super::Item` is an edge only if the parent imports `Item` from a sibling. Paths
//! inside string literals (`#[serde(with = "…")]`) are not seen.

mod cycles;
mod names;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use self::{
    cycles::{Graph, cycles},
    names::Names,
    tree::Place,
};
use super::{Finding, features::Source};

/// Smaller folders are not checked.
const FEWEST_FILES: usize = 6;

/// Cycles that remain to be removed: the folder, and the modules of the cycle. A row without a cycle must be deleted.
const ALLOWED: &[(&str, &str)] = &[];

/// The uses of one module by another: the first, and their number.
struct Uses {
    file: String,
    line: usize,
    count: usize,
}

/// The graphs between siblings, by folder.
type Graphs = BTreeMap<String, Graph<Uses>>;

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    check_but(sources, ALLOWED)
}

fn check_but(sources: &[Source], allowed: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = vec![false; allowed.len()];
    for (folder, graph) in graphs(sources) {
        for cycle in cycles(&graph) {
            let permits = |(place, modules): &(&str, &str)| {
                *place == folder
                    && cycle.iter().all(|name| modules.split(' ').any(|module| module == name))
            };
            match allowed.iter().position(permits) {
                Some(index) => used[index] = true,
                None => findings.push(Finding::new(&folder, describe(&cycle, &graph))),
            }
        }
    }
    for ((folder, modules), _) in allowed.iter().zip(used).filter(|(_, used)| !used) {
        let what =
            format!("no import cycle is left among {modules}: delete it from the allow list");
        findings.push(Finding::new(folder, what));
    }
    findings
}

/// Describes the cycle with one use for each edge, the rarest first: those are the easiest to remove.
fn describe(cycle: &BTreeSet<String>, graph: &Graph<Uses>) -> String {
    let names: Vec<&str> = cycle.iter().map(String::as_str).collect();
    let mut edges: Vec<_> =
        graph.iter().filter(|((from, to), _)| cycle.contains(from) && cycle.contains(to)).collect();
    edges.sort_by_key(|(_, uses)| uses.count);
    let mut lines = vec![format!("import cycle of {}: {}", cycle.len(), names.join(" "))];
    lines.extend(edges.iter().map(|((from, to), Uses { file, line, count })| {
        format!("    {from} uses {to} ({count}): {file}:{line}")
    }));
    lines.join("\n")
}

fn graphs(sources: &[Source]) -> Graphs {
    let mut graphs = Graphs::new();
    for root in sources.iter().map(|source| &source.path).filter(|path| is_root(path)) {
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let modules = tree::load(root, sources);
        let resolver = Names(&modules);
        for (from, module) in &modules {
            let mentions = module.imports.iter().chain(&module.paths);
            let named = mentions.flat_map(|mention| {
                let places = resolver.places(from, mention);
                places.into_iter().map(|place| (place, mention.line))
            });
            let globs = module.imports.iter().filter(|import| import.is_glob);
            let unnamed = globs.flat_map(|glob| resolver.through_glob(from, glob));
            let mut seen = BTreeSet::new();
            for (to, line) in named.chain(unnamed) {
                let Some((level, edge)) = edge(from, &to) else { continue };
                if !seen.insert((edge.clone(), line)) {
                    continue;
                }
                let folder = [&[folder.to_owned()], level].concat().join("/");
                if !level.is_empty() && count_files(&folder, sources) < FEWEST_FILES {
                    continue;
                }
                let graph = graphs.entry(folder).or_default();
                let file = module.file.clone();
                graph.entry(edge).or_insert(Uses { file, line, count: 0 }).count += 1;
            }
        }
    }
    graphs
}

/// The siblings that contain two modules, with the path of their parent.
fn edge<'a>(from: &'a Place, to: &Place) -> Option<(&'a [String], (String, String))> {
    let shared = from.iter().zip(to).take_while(|(from, to)| from == to).count();
    let pair = (from.get(shared)?.clone(), to.get(shared)?.clone());
    Some((&from[..shared], pair))
}

fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], ["crates", _, "src", "lib.rs" | "main.rs"])
}

fn count_files(folder: &str, sources: &[Source]) -> usize {
    let names = sources.iter().filter_map(|source| source.path.strip_prefix(folder));
    let names = names.filter_map(|rest| rest.strip_prefix('/'));
    names.filter_map(|name| name.strip_suffix(".rs")).filter(|name| !name.contains('/')).count()
}
