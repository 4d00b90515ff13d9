//! Checks which of our crates may depend on which. A new edge is a design decision: it changes this table in a
//! separate commit, and `ARCHITECTURE.md` explains it.

use super::Finding;
use crate::workspace::Package;

/// The allowed dependencies of a crate, including those of its tests.
enum May {
    Only(&'static [&'static str]),
    /// All rows above its own, for crates that combine the others.
    AllAbove,
}

/// From the bottom up: a row names only rows above it.
const LAYERS: &[(&str, May)] = &[
    // Records skipped tests, for every test binary that skips some.
    ("mcp-skip", May::Only(&[])),
    // Foreign text, secrets and private files are defined once, so every crate may use it.
    ("mcp-safe", May::Only(&[])),
    ("mcp-jsonrpc", May::Only(&["mcp-safe"])),
    ("mcp-types", May::Only(&["mcp-safe", "mcp-jsonrpc"])),
    // Tool authors compile this crate: keep its dependencies few.
    ("mcp-tool", May::Only(&["mcp-safe", "mcp-jsonrpc", "mcp-types"])),
    // Formats of model APIs: pure translation, without a bridge or a client.
    ("mcp-providers", May::Only(&["mcp-skip", "mcp-safe", "mcp-jsonrpc", "mcp-types", "mcp-tool"])),
    // Restricts a process, and knows neither servers nor the protocol.
    ("mcp-sandbox", May::Only(&["mcp-skip", "mcp-safe"])),
    // Writes what hosts tell it; knows neither servers nor the protocol.
    ("mcp-audit", May::Only(&["mcp-safe"])),
    // Of mcp-sandbox only the profiles, which entries contain.
    ("mcp-config", May::Only(&["mcp-skip", "mcp-safe", "mcp-sandbox"])),
    ("mcp-search", May::Only(&["mcp-safe"])),
    ("mcp-schema", May::Only(&[])),
    ("mcp-transport", May::Only(&["mcp-safe", "mcp-jsonrpc", "mcp-types"])),
    ("mcp-client", May::Only(&["mcp-safe", "mcp-jsonrpc", "mcp-types", "mcp-transport"])),
    // Handles HTTP requests and challenges, not messages.
    ("mcp-auth", May::Only(&["mcp-skip", "mcp-safe", "mcp-transport"])),
    // A server depends on no client.
    (
        "mcp-server",
        May::Only(&["mcp-safe", "mcp-jsonrpc", "mcp-types", "mcp-tool", "mcp-transport"]),
    ),
    ("mcp-bridge", May::AllAbove),
    ("mcp-gateway", May::AllAbove),
    // The facade: re-exports every layer, and the trait that connects a turn of a bridge to a model API.
    ("mcp-host", May::AllAbove),
    ("mcp-cli", May::AllAbove),
    ("mcp-tests", May::AllAbove),
    ("mcp-fuzz", May::AllAbove),
    // Must build when other crates do not.
    ("xtask", May::Only(&[])),
];

pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    packages.iter().flat_map(|package| check_one(package, packages)).collect()
}

fn check_one(package: &Package, all: &[Package]) -> Vec<Finding> {
    let path = format!("{}/Cargo.toml", package.folder);
    let Some(row) = LAYERS.iter().position(|(name, _)| *name == package.name) else {
        let what = format!("`{}` is missing in the table of layers", package.name);
        return vec![Finding::new(&path, what)];
    };
    let allowed: Vec<&str> = match LAYERS[row].1 {
        May::Only(names) => names.to_vec(),
        May::AllAbove => LAYERS[..row].iter().map(|(name, _)| *name).collect(),
    };
    let is_ours = |name: &&String| all.iter().any(|other| other.name == **name);
    // A crate may depend on itself: its tests enable features that way.
    let is_allowed = |name: &String| *name == package.name || allowed.contains(&name.as_str());
    let mut wrong: Vec<&String> =
        package.dependencies.iter().filter(is_ours).filter(|name| !is_allowed(name)).collect();
    wrong.sort();
    wrong.dedup();
    wrong.iter().map(|name| Finding::new(&path, edge(&package.name, name, &allowed))).collect()
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
    fn dependencies_on_lower_layers_are_allowed() {
        let packages = [
            package("mcp-jsonrpc", &["serde", "proptest"]),
            package("mcp-transport", &["mcp-jsonrpc", "tokio", "mcp-transport"]),
            package("mcp-auth", &["mcp-transport"]),
            package("mcp-tests", &["mcp-auth", "mcp-jsonrpc"]),
        ];
        assert_eq!(findings(&packages), [""; 0]);
    }

    #[test]
    fn dependency_on_a_higher_layer_is_reported_once() {
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
                 it may depend on mcp-safe",
                "crates/mcp-transport/Cargo.toml: `mcp-transport` must not depend on `mcp-auth`; \
                 it may depend on mcp-safe, mcp-jsonrpc, mcp-types",
                "crates/mcp-auth/Cargo.toml: `mcp-auth` must not depend on `mcp-jsonrpc`; \
                 it may depend on mcp-skip, mcp-safe, mcp-transport",
            ]
        );
    }

    #[test]
    fn a_crate_unknown_to_the_table_is_reported() {
        assert_eq!(
            findings(&[package("mcp-new", &[])]),
            ["crates/mcp-new/Cargo.toml: `mcp-new` is missing in the table of layers"]
        );
    }

    #[test]
    fn top_layers_may_use_everything_below() {
        let below = ["mcp-jsonrpc", "mcp-config", "mcp-search", "mcp-auth", "mcp-client"];
        let mut packages: Vec<Package> = below.iter().map(|name| package(name, &[])).collect();
        packages.push(package("mcp-bridge", &below));
        packages.push(package("mcp-cli", &["mcp-bridge", "mcp-tests"]));
        packages.push(package("mcp-tests", &["mcp-cli", "mcp-jsonrpc"]));
        let findings = findings(&packages);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].contains("`mcp-cli` must not depend on `mcp-tests`"), "{findings:?}");
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, (name, may)) in LAYERS.iter().enumerate() {
            let May::Only(allowed) = may else { continue };
            let is_above = |other: &&str| LAYERS[..index].iter().any(|(above, _)| above == other);
            assert!(allowed.iter().all(is_above), "{name}");
        }
    }
}
