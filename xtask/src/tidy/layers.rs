//! Which of our crates may name which. A new edge is a design event: it changes this table, in a
//! commit of its own, and `ARCHITECTURE.md` says why.

use super::Finding;
use crate::workspace::Package;

/// A crate, and those it may depend on in any way, tests included. From the bottom up: a row names
/// only rows above it.
const LAYERS: &[(&str, &[&str])] = &[
    ("mcp-jsonrpc", &[]),
    ("mcp-config", &[]),
    ("mcp-search", &[]),
    ("mcp-transport", &["mcp-jsonrpc"]),
    ("mcp-client", &["mcp-jsonrpc", "mcp-transport"]),
    // Knows HTTP requests and challenges, never messages.
    ("mcp-auth", &["mcp-transport"]),
    (
        "mcp-bridge",
        &["mcp-jsonrpc", "mcp-config", "mcp-search", "mcp-transport", "mcp-client", "mcp-auth"],
    ),
    (
        "mcp-cli",
        &[
            "mcp-jsonrpc",
            "mcp-config",
            "mcp-search",
            "mcp-transport",
            "mcp-client",
            "mcp-auth",
            "mcp-bridge",
        ],
    ),
    (
        "mcp-tests",
        &[
            "mcp-jsonrpc",
            "mcp-config",
            "mcp-search",
            "mcp-transport",
            "mcp-client",
            "mcp-auth",
            "mcp-bridge",
            "mcp-cli",
        ],
    ),
    // Builds before anything else does, and when nothing else does.
    ("xtask", &[]),
];

pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    packages.iter().flat_map(|package| check_one(package, packages)).collect()
}

fn check_one(package: &Package, all: &[Package]) -> Vec<Finding> {
    let path = format!("{}/Cargo.toml", package.folder);
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == package.name) else {
        let what = format!("`{}` has no row in the table of layers", package.name);
        return vec![Finding::new(&path, what)];
    };
    let is_ours = |name: &&String| all.iter().any(|other| other.name == **name);
    // A crate may name itself: that is how its own tests switch on a feature.
    let is_allowed = |name: &String| *name == package.name || allowed.contains(&name.as_str());
    let mut wrong: Vec<&String> =
        package.dependencies.iter().filter(is_ours).filter(|name| !is_allowed(name)).collect();
    wrong.sort();
    wrong.dedup();
    wrong.iter().map(|name| Finding::new(&path, edge(&package.name, name, allowed))).collect()
}

fn edge(from: &str, to: &str, allowed: &[&str]) -> String {
    let may = if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") };
    format!("`{from}` must not depend on `{to}`; it may depend on {may}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.into(),
            folder: format!("crates/{name}"),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            ..Package::default()
        }
    }

    fn findings(packages: &[Package]) -> Vec<String> {
        check(packages).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn arrows_that_point_down_are_fine() {
        let packages = [
            package("mcp-jsonrpc", &["serde", "proptest"]),
            package("mcp-transport", &["mcp-jsonrpc", "tokio", "mcp-transport"]),
            package("mcp-auth", &["mcp-transport"]),
            package("mcp-tests", &["mcp-auth", "mcp-jsonrpc"]),
        ];
        assert_eq!(findings(&packages), [""; 0]);
    }

    #[test]
    fn an_arrow_that_points_up_or_skips_is_reported_once() {
        let packages = [
            package("mcp-jsonrpc", &[]),
            package("mcp-search", &["mcp-jsonrpc"]),
            package("mcp-transport", &["mcp-auth", "mcp-auth"]),
            package("mcp-auth", &["mcp-transport", "mcp-jsonrpc"]),
        ];
        assert_eq!(
            findings(&packages),
            [
                "crates/mcp-search/Cargo.toml: `mcp-search` must not depend on `mcp-jsonrpc`; \
                 it may depend on none of ours",
                "crates/mcp-transport/Cargo.toml: `mcp-transport` must not depend on `mcp-auth`; \
                 it may depend on mcp-jsonrpc",
                "crates/mcp-auth/Cargo.toml: `mcp-auth` must not depend on `mcp-jsonrpc`; \
                 it may depend on mcp-transport",
            ]
        );
    }

    #[test]
    fn a_crate_unknown_to_the_table_is_reported() {
        assert_eq!(
            findings(&[package("mcp-new", &[])]),
            ["crates/mcp-new/Cargo.toml: `mcp-new` has no row in the table of layers"]
        );
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, (name, allowed)) in LAYERS.iter().enumerate() {
            let above: Vec<&str> = LAYERS[..index].iter().map(|(name, _)| *name).collect();
            assert!(allowed.iter().all(|other| above.contains(other)), "{name}");
        }
    }
}
