//! `cargo xtask features`: checks the libraries with each of their features, and the number of dependencies.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    process::{capture, cargo, run},
    workspace::{Package, Workspace},
};

/// A selection of packages and features, and the maximum number of third-party crates.
struct Budget {
    what: &'static str,
    packages: &'static [&'static str],
    features: Features,
    at_most: usize,
}

enum Features {
    /// No default features, and these, each as `package/feature`.
    Only(&'static [&'static str]),
    All,
}

/// Rows with a crate or feature that does not exist yet are skipped with a message.
const BUDGETS: &[Budget] = &[
    Budget {
        what: "messages and peer",
        packages: &["mcp-jsonrpc"],
        features: Features::All,
        at_most: 7,
    },
    Budget {
        what: "lean host: a typed client over stdio",
        packages: &["mcp-client", "mcp-transport"],
        features: Features::Only(&["mcp-transport/stdio"]),
        at_most: 20,
    },
    Budget {
        what: "host with configuration, stdio and HTTP",
        packages: &["mcp-bridge", "mcp-config", "mcp-transport"],
        features: Features::Only(&["mcp-bridge/stdio", "mcp-bridge/http"]),
        at_most: 103,
    },
    Budget {
        what: "every library with everything",
        packages: &[
            "mcp-safe",
            "mcp-jsonrpc",
            "mcp-types",
            "mcp-transport",
            "mcp-client",
            "mcp-tool",
            "mcp-providers",
            "mcp-audit",
            "mcp-auth",
            "mcp-config",
            "mcp-search",
            "mcp-schema",
            "mcp-sandbox",
            "mcp-server",
            "mcp-bridge",
            "mcp-gateway",
            "mcp-host",
        ],
        features: Features::All,
        at_most: 240,
    },
];

/// Crates without I/O: with all features they depend on neither a runtime nor TLS.
const PLAIN: &[&str] = &[
    "mcp-safe",
    "mcp-jsonrpc",
    "mcp-types",
    "mcp-tool",
    "mcp-providers",
    "mcp-config",
    "mcp-search",
    "mcp-schema",
    "mcp-sandbox",
];
const RUNTIME_OR_TLS: &[&str] = &["tokio", "async-io", "rustls", "native-tls", "openssl-sys"];

pub(crate) fn task(arguments: &[String]) -> Result<(), String> {
    let workspace = Workspace::load()?;
    match arguments {
        [] => build(&workspace)?,
        // Only the dependency budgets.
        [only] if only == "--weigh" => {}
        [other, ..] => return Err(format!("this task takes `--weigh` or nothing, not `{other}`")),
    }
    match weigh(&workspace)? {
        0 => Ok(()),
        broken => Err(format!("{broken} of the rules about dependencies broken, see above")),
    }
}

fn build(workspace: &Workspace) -> Result<(), String> {
    for package in &workspace.packages {
        let sources = sources(&workspace.root.join(&package.folder).join("src"))?;
        for cut in cuts(package, &sources) {
            // The compiler alone, because code that is unused under a single feature is a warning of the compiler, and
            // `lint` runs clippy with all features. Flags after `--` do not reach the dependencies, which are compiled
            // once for all packages.
            let mut check = cargo(["rustc", "--quiet", "--profile=check", "--lib", "--package"]);
            run(check.arg(&package.name).args(&cut).args(["--", "-Dwarnings"]))?;
        }
    }
    Ok(())
}

/// The text of all source files below a folder.
fn sources(folder: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut text = String::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            text.push_str(&sources(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(&path).map_err(failed)?);
        }
    }
    Ok(text)
}

/// Crates that only re-export: their features switch on those of the crates below, which are checked one by one.
const FACADES: &[&str] = &["mcp-host"];

/// The flags for no feature and each alone; empty for a package without features. `lint` checks all features together,
/// and `fuzz` builds the internal ones, which begin with `__`. A feature that the sources do not mention only switches
/// on one of a dependency: the crate compiles the same code with it as without.
fn cuts<'a>(package: &'a Package, sources: &str) -> Vec<Vec<&'a str>> {
    let is_public = |name: &&str| *name != "default" && !name.starts_with("__");
    let features: Vec<&str> =
        package.features.iter().map(String::as_str).filter(is_public).collect();
    if !package.is_library || features.is_empty() {
        return Vec::new();
    }
    let none = vec!["--no-default-features"];
    if FACADES.contains(&package.name.as_str()) {
        return vec![none, Vec::new()];
    }
    let is_used = |name: &&&str| sources.contains(&format!("feature = \"{name}\""));
    let used = features.iter().filter(is_used);
    let each = used.map(|name| vec!["--no-default-features", "--features", name]);
    std::iter::once(none).chain(each).collect()
}

/// Prints a line for every row. Returns the number of rows that are over budget or depend on a runtime or TLS.
fn weigh(workspace: &Workspace) -> Result<usize, String> {
    let mut broken = 0;
    for budget in BUDGETS {
        let what = budget.what;
        if let Some(absent) = absent(budget, workspace) {
            println!("{what}: skipped, {absent} does not exist yet");
            continue;
        }
        let crates = third_party(workspace, budget.packages, &budget.features)?;
        println!("{what}: {} third-party crates, {} allowed", crates.len(), budget.at_most);
        if crates.len() > budget.at_most {
            println!("  {}", crates.into_iter().collect::<Vec<_>>().join(", "));
            broken += 1;
        }
    }
    for name in PLAIN.iter().filter(|name| workspace.package(name).is_some()) {
        let crates = third_party(workspace, &[name], &Features::All)?;
        let heavy =
            |krate: &&String| RUNTIME_OR_TLS.iter().any(|h| krate.starts_with(&format!("{h} ")));
        for krate in crates.iter().filter(heavy) {
            println!("{name}: must build without a runtime or TLS, and brings {krate}");
            broken += 1;
        }
    }
    Ok(broken)
}

fn absent(budget: &Budget, workspace: &Workspace) -> Option<String> {
    let no_package = budget.packages.iter().find(|name| workspace.package(name).is_none());
    if let Some(name) = no_package {
        return Some(format!("crate {name}"));
    }
    let Features::Only(features) = budget.features else { return None };
    let exists = |path: &str| {
        path.split_once('/').is_some_and(|(package, feature)| {
            workspace.package(package).is_some_and(|p| p.features.iter().any(|f| f == feature))
        })
    };
    features.iter().find(|path| !exists(path)).map(|path| format!("feature {path}"))
}

fn third_party(
    workspace: &Workspace,
    packages: &[&str],
    features: &Features,
) -> Result<BTreeSet<String>, String> {
    // One target, so that a budget means the same on every machine.
    let mut tree = cargo(["tree", "--edges=normal", "--prefix=none"]);
    tree.arg("--target=x86_64-unknown-linux-gnu");
    tree.args(packages.iter().flat_map(|name| ["--package", name]));
    match features {
        Features::All => tree.arg("--all-features"),
        Features::Only(names) => {
            tree.args(["--no-default-features", "--features", &names.join(",")])
        }
    };
    Ok(foreign(&capture(&mut tree)?, |name| workspace.package(name).is_some()))
}

/// The distinct `name version` pairs of `cargo tree --prefix none` that are not ours.
fn foreign(tree: &str, is_ours: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let crates = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    crates.filter(|(name, _)| !is_ours(name)).map(|(n, v)| format!("{n} {v}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_public_feature_that_selects_code_is_checked_alone() {
        let package = Package {
            is_library: true,
            features: ["__fuzz", "default", "http", "ring", "ws"].map(str::to_owned).to_vec(),
            ..Package::default()
        };
        let sources =
            "#[cfg(feature = \"http\")] #[cfg(any(feature = \"ws\", feature = \"__fuzz\"))]";
        let cuts: Vec<String> = cuts(&package, sources).iter().map(|cut| cut.join(" ")).collect();
        assert_eq!(
            cuts,
            [
                "--no-default-features",
                "--no-default-features --features http",
                "--no-default-features --features ws",
            ]
        );
    }

    #[test]
    fn packages_without_features_are_not_checked_per_feature() {
        let plain = Package { is_library: true, ..Package::default() };
        let program = Package { features: vec!["http".into()], ..Package::default() };
        let sources = "feature = \"http\"";
        assert!(cuts(&plain, sources).is_empty() && cuts(&program, sources).is_empty());
    }

    #[test]
    fn a_crate_counts_once_per_version_and_ours_do_not_count() {
        let tree = "\
mcp-jsonrpc v0.1.0 (somewhere/crates/mcp-jsonrpc)
memchr v2.8.3
serde_derive v1.0.229 (proc-macro)
syn v2.0.1
syn v3.0.0
memchr v2.8.3 (*)

mcp-client v0.1.0 (somewhere/crates/mcp-client)
";
        let crates = foreign(tree, |name| name.starts_with("mcp-"));
        let expected = ["memchr v2.8.3", "serde_derive v1.0.229", "syn v2.0.1", "syn v3.0.0"];
        assert!(crates.iter().eq(expected), "{crates:?}");
    }

    #[test]
    fn budget_row_with_missing_crates_is_skipped() {
        let workspace = Workspace {
            root: "/w".into(),
            target: "/w/target".into(),
            packages: vec![Package {
                name: "mcp-transport".into(),
                features: vec!["stdio".into()],
                ..Package::default()
            }],
        };
        let mut row = Budget {
            what: "x",
            packages: &["mcp-transport"],
            features: Features::Only(&["mcp-transport/stdio"]),
            at_most: 1,
        };
        assert_eq!(absent(&row, &workspace), None);
        row.features = Features::Only(&["mcp-transport/stdio", "mcp-transport/http"]);
        assert_eq!(absent(&row, &workspace).unwrap(), "feature mcp-transport/http");
        row.packages = &["mcp-client", "mcp-transport"];
        assert_eq!(absent(&row, &workspace).unwrap(), "crate mcp-client");
    }
}
