//! The published crates in rows: each is one row above the highest crate it depends on.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::workspace::Package;

pub(super) const FILE: &str = "docs/architecture.svg";

/// What each crate is, in a few words. Crates of one row are drawn in this order.
const CAPTIONS: &[(&str, &str)] = &[
    ("mcp-cli", "the mcp command"),
    ("mcp-host", "a facade for hosts: one dependency"),
    ("mcp-gateway", "many servers behind one"),
    ("mcp-bridge", "servers become tools"),
    ("mcp-auth", "OAuth, tokens, stores"),
    ("mcp-client", "a typed client"),
    ("mcp-server", "tools become a server"),
    ("mcp-providers", "formats of model APIs"),
    ("mcp-transport", "stdio, HTTP, SSE, WebSocket"),
    ("mcp-tool", "tools, calls, outcomes"),
    ("mcp-config", "configuration files"),
    ("mcp-search", "finding tools"),
    ("mcp-types", "the protocol's objects"),
    ("mcp-sandbox", "restricted processes"),
    ("mcp-audit", "a sealed log"),
    ("mcp-safe", "foreign text, secrets, files"),
    ("mcp-schema", "JSON Schema checks"),
    ("mcp-jsonrpc", "messages and framing"),
];

const WIDTH: usize = 860;
const MARGIN: usize = 20;
const BOX: usize = 52;
const GAP: usize = 12;

const STYLE: &str = "\
rect { fill: #eef3fb; stroke: #7d93b8; }
.top { fill: #dcebdd; stroke: #7aa57d; }
.base { fill: #f4eee2; stroke: #b8a37d; }
.page { fill: #ffffff; stroke: none; }
text { font: 13px system-ui, sans-serif; fill: #4a5262; text-anchor: middle; }
.name { font: bold 14px ui-monospace, Menlo, Consolas, monospace; fill: #1d2433; }
";

/// Draws the crates. An error names those without a caption, and captions without a crate.
pub(super) fn draw(packages: &[Package]) -> Result<String, String> {
    let crates: Vec<&Package> = packages.iter().filter(|one| one.is_published).collect();
    let rows = rows(&crates)?;
    let height = 2 * MARGIN + rows.len() * (BOX + GAP) - GAP;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"The crates in layers: each uses only those below it\">\n<style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    let last = rows.len() - 1;
    for (index, row) in rows.iter().enumerate() {
        let class = match index {
            0 => " class=\"top\"",
            _ if index == last => " class=\"base\"",
            _ => "",
        };
        let y = MARGIN + index * (BOX + GAP);
        let width = (WIDTH - 2 * MARGIN - GAP * (row.len() - 1)) / row.len();
        for (column, (name, caption)) in row.iter().enumerate() {
            let x = MARGIN + column * (width + GAP);
            let middle = x + width / 2;
            let _ = writeln!(
                svg,
                "<rect{class} x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX}\" rx=\"6\"/>\n\
                 <text class=\"name\" x=\"{middle}\" y=\"{}\">{name}</text>\n\
                 <text x=\"{middle}\" y=\"{}\">{caption}</text>",
                y + 22,
                y + 41
            );
        }
    }
    Ok(svg + "</svg>\n")
}

type Row = Vec<(&'static str, &'static str)>;

/// The rows from the top.
fn rows(crates: &[&Package]) -> Result<Vec<Row>, String> {
    let known = |name: &str| CAPTIONS.iter().any(|(captioned, _)| *captioned == name);
    if let Some(package) = crates.iter().find(|package| !known(&package.name)) {
        return Err(format!(
            "{} has no caption in xtask/src/picture/architecture.rs",
            package.name
        ));
    }
    let heights = heights(crates);
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    for (name, caption) in CAPTIONS {
        let height =
            heights.get(name).ok_or(format!("{name} is in the picture, and not a crate"))?;
        rows.entry(*height).or_default().push((name, caption));
    }
    Ok(rows.into_values().rev().collect())
}

/// For each crate the length of the longest chain of dependencies below it.
fn heights<'a>(crates: &[&'a Package]) -> BTreeMap<&'a str, usize> {
    let mut heights: BTreeMap<&str, usize> =
        crates.iter().map(|package| (package.name.as_str(), 0)).collect();
    // Longer than any chain, so that the loop ends even with a cycle.
    for _ in crates {
        for package in crates {
            let below = package.own_dependencies.iter().filter(|name| **name != package.name);
            let below = below.filter_map(|name| heights.get(name.as_str())).max();
            let height = below.map_or(0, |height| height + 1);
            heights.insert(&package.name, height);
        }
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.into(),
            is_published: true,
            own_dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            ..Package::default()
        }
    }

    #[test]
    fn each_crate_is_one_row_above_the_highest_it_depends_on() {
        let packages = [
            package("mcp-bridge", &["mcp-client", "mcp-safe", "tokio"]),
            package("mcp-client", &["mcp-transport"]),
            package("mcp-transport", &["mcp-safe", "mcp-transport"]),
            package("mcp-safe", &[]),
        ];
        let heights = heights(&packages.iter().collect::<Vec<_>>());
        let expected =
            [("mcp-bridge", 3), ("mcp-client", 2), ("mcp-safe", 0), ("mcp-transport", 1)];
        assert!(heights.into_iter().eq(expected));
    }

    #[test]
    fn crates_without_a_caption_and_captions_without_a_crate_are_named() {
        assert!(
            draw(&[package("mcp-new", &[])]).unwrap_err().starts_with("mcp-new has no caption")
        );
        let error = draw(&[package("mcp-cli", &[])]).unwrap_err();
        assert_eq!(error, "mcp-host is in the picture, and not a crate");
    }
}
