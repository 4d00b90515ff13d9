//! The parts of `cargo metadata` that the tasks use.

use std::{
    env,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::process::{capture, cargo};

/// Our packages and folders.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One of our packages.
#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The package's folder, relative to the root, with `/` between its parts.
    pub(crate) folder: String,
    pub(crate) description: Option<String>,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) homepage: Option<String>,
    pub(crate) documentation: Option<String>,
    pub(crate) keywords: Vec<String>,
    pub(crate) categories: Vec<String>,
    /// `[package.metadata.docs.rs] all-features`.
    pub(crate) documents_all_features: bool,
    pub(crate) is_published: bool,
    pub(crate) is_library: bool,
    pub(crate) features: Vec<String>,
    /// Every dependency of every kind: normal, build, dev, optional and per target.
    pub(crate) dependencies: Vec<String>,
    /// The dependencies of the package itself, without those of its tests and build script.
    pub(crate) own_dependencies: Vec<String>,
    /// Those of `own_dependencies` that no feature and no target switches off.
    pub(crate) required_dependencies: Vec<String>,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self, String> {
        let json = capture(&mut cargo(["metadata", "--format-version=1", "--no-deps"]))?;
        Self::parse(&json)
    }

    /// Reads the output of `cargo metadata`.
    pub(crate) fn parse(json: &str) -> Result<Self, String> {
        let metadata: Value = serde_json::from_str(json)
            .map_err(|error| format!("unexpected output of cargo metadata: {error}"))?;
        let root = PathBuf::from(text(&metadata, "workspace_root")?);
        let target = PathBuf::from(text(&metadata, "target_directory")?);
        let packages = array(&metadata, "packages")
            .map(|package| Package::parse(package, &root))
            .collect::<Result<_, _>>()?;
        Ok(Self { root, target, packages })
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }
}

impl Package {
    fn parse(json: &Value, root: &Path) -> Result<Self, String> {
        let manifest = PathBuf::from(text(json, "manifest_path")?);
        let folder = manifest.parent().unwrap_or(&manifest);
        let parts = folder.strip_prefix(root).unwrap_or(folder).iter();
        let own = || array(json, "dependencies").filter(|one| one["kind"].is_null());
        let optional = |key: &str| json[key].as_str().map(str::to_owned);
        Ok(Self {
            name: text(json, "name")?,
            folder: parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"),
            description: optional("description"),
            version: optional("version").unwrap_or_default(),
            license: optional("license"),
            repository: optional("repository"),
            homepage: optional("homepage"),
            documentation: optional("documentation"),
            keywords: texts(json, "keywords"),
            categories: texts(json, "categories"),
            documents_all_features: json["metadata"]["docs"]["rs"]["all-features"] == true,
            // `publish = false` is an empty list of registries; the default is null.
            is_published: json["publish"].is_null(),
            is_library: array(json, "targets")
                .any(|target| array(target, "kind").any(|kind| kind == "lib")),
            features: json["features"]
                .as_object()
                .map(|features| features.keys().cloned().collect())
                .unwrap_or_default(),
            dependencies: array(json, "dependencies")
                .map(|dependency| text(dependency, "name"))
                .collect::<Result<_, _>>()?,
            own_dependencies: own()
                .map(|dependency| text(dependency, "name"))
                .collect::<Result<_, _>>()?,
            required_dependencies: own()
                .filter(|one| one["optional"] != true && one["target"].is_null())
                .map(|dependency| text(dependency, "name"))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// The version of one of our packages.
pub(crate) fn version(workspace: &Workspace, name: &str) -> Result<String, String> {
    let package = workspace.package(name).ok_or_else(|| format!("unknown package {name}"))?;
    Ok(package.version.clone())
}

/// Makes the workspace root the current directory, from any working directory.
pub(crate) fn enter() -> Result<(), String> {
    // At run time first: a moved clone keeps its built xtask.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let folder = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    let root = folder.parent().unwrap_or(&folder);
    env::set_current_dir(root).map_err(|error| format!("cannot enter the workspace: {error}"))
}

fn text(json: &Value, key: &str) -> Result<String, String> {
    let found = json[key].as_str().map(str::to_owned);
    found.ok_or_else(|| format!("cargo metadata lacks the string `{key}`"))
}

fn texts(json: &Value, key: &str) -> Vec<String> {
    array(json, key).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn array<'a>(json: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    json[key].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_keeps_its_folder_kind_and_edges() {
        let workspace = Workspace::parse(
            r#"{"workspace_root": "/w", "target_directory": "/w/target", "packages": [{
                "name": "mcp-a", "manifest_path": "/w/crates/mcp-a/Cargo.toml",
                "description": "a", "license": null, "publish": null, "keywords": ["mcp"],
                "metadata": {"docs": {"rs": {"all-features": true}}},
                "targets": [{"kind": ["lib"]}, {"kind": ["test"]}],
                "features": {"default": [], "http": []},
                "dependencies": [
                    {"name": "bytes", "kind": null}, {"name": "mcp-b", "kind": "dev"},
                    {"name": "http", "kind": null, "optional": true},
                    {"name": "nix", "kind": null, "target": "cfg(unix)"}
                ]
            }]}"#,
        )
        .unwrap();
        let package = workspace.package("mcp-a").unwrap();
        assert_eq!(package.folder, "crates/mcp-a");
        assert_eq!(package.license, None);
        assert_eq!((package.keywords.len(), package.categories.len()), (1, 0));
        assert!(package.documents_all_features);
        assert!(package.is_library && package.is_published);
        assert_eq!(package.features, ["default", "http"]);
        assert_eq!(package.dependencies, ["bytes", "mcp-b", "http", "nix"]);
        assert_eq!(package.own_dependencies, ["bytes", "http", "nix"]);
        assert_eq!(package.required_dependencies, ["bytes"]);
    }

    #[test]
    fn metadata_of_another_shape_is_an_error() {
        let error = Workspace::parse(r#"{"packages": []}"#).unwrap_err();
        assert!(error.contains("`workspace_root`"), "{error}");
    }
}
