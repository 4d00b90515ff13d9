//! The bill of materials in `CycloneDX` format: the crates that are linked into the command.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use crate::process::{capture, cargo};

/// The crates of `mcp-cli` for Linux, with their licences and the checksums of `Cargo.lock`.
pub(super) fn make() -> Result<Value, String> {
    let metadata = capture(&mut cargo([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform=x86_64-unknown-linux-musl",
    ]))?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| format!("unexpected output of cargo metadata: {error}"))?;
    let lock = fs::read_to_string("Cargo.lock")
        .map_err(|error| format!("cannot read Cargo.lock: {error}"))?;
    bill(&metadata, &checksums(&lock))
}

fn bill(metadata: &Value, checksums: &BTreeMap<(String, String), String>) -> Result<Value, String> {
    let packages: BTreeMap<&str, &Value> =
        array(&metadata["packages"]).filter_map(|one| Some((one["id"].as_str()?, one))).collect();
    let root = packages.iter().find(|(_, package)| package["name"] == "mcp-cli");
    let (root, own) = root.ok_or("cargo metadata has no package mcp-cli")?;
    let edges = edges(metadata);
    let mut reached = vec![*root];
    let mut next = 0;
    while let Some(id) = reached.get(next).copied() {
        for to in edges.get(id).into_iter().flatten() {
            if !reached.contains(to) {
                reached.push(to);
            }
        }
        next += 1;
    }
    let mut components: Vec<Value> = reached
        .iter()
        .filter(|id| *id != root)
        .filter_map(|id| packages.get(id))
        .map(|package| component("library", package, checksums))
        .collect();
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let purl = |id: &&str| packages.get(*id).map(|package| purl(package)).unwrap_or_default();
    let mut dependencies: Vec<Value> = reached
        .iter()
        .map(|id| {
            let mut on: Vec<String> = edges.get(id).into_iter().flatten().map(&purl).collect();
            on.sort();
            on.dedup();
            json!({"ref": purl(id), "dependsOn": on})
        })
        .collect();
    dependencies.sort_by_key(|dependency| dependency["ref"].to_string());
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component("application", own, checksums)},
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The dependencies that are linked, without those of tests and build scripts.
fn edges(metadata: &Value) -> BTreeMap<&str, Vec<&str>> {
    let is_linked =
        |dependency: &&Value| array(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
    let nodes = array(&metadata["resolve"]["nodes"]).filter_map(|node| {
        let to = array(&node["deps"]).filter(is_linked).filter_map(|one| one["pkg"].as_str());
        Some((node["id"].as_str()?, to.collect()))
    });
    nodes.collect()
}

fn component(kind: &str, package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let purl = purl(package);
    let mut component = json!({
        "type": kind,
        "bom-ref": purl,
        "name": text("name"),
        "version": text("version"),
        "purl": purl,
    });
    if let Some(licence) = package["license"].as_str() {
        // Older manifests separate alternatives with a slash.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(hash) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": hash}]);
    }
    component
}

fn purl(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

/// The checksums of a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let lines = block.lines().filter_map(|line| line.strip_prefix(key));
        lines
            .filter_map(|rest| rest.strip_prefix(" = "))
            .map(|text| text.trim_matches('"').to_owned())
            .next()
    };
    let blocks = lock.split("[[package]]").skip(1);
    blocks
        .filter_map(|block| {
            let key = (value(block, "name")?, value(block, "version")?);
            Some((key, value(block, "checksum")?))
        })
        .collect()
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_crates_are_listed_with_licence_and_checksum_and_others_are_not() {
        let metadata = json!({
            "packages": [
                {"id": "c", "name": "mcp-cli", "version": "0.1.0", "license": "MIT"},
                {"id": "t", "name": "tokio", "version": "1.0.0", "license": "MIT/Apache-2.0"},
                {"id": "p", "name": "proptest", "version": "1.0.0", "license": "MIT"},
            ],
            "resolve": {"nodes": [{"id": "c", "deps": [
                {"pkg": "t", "dep_kinds": [{"kind": null}]},
                {"pkg": "p", "dep_kinds": [{"kind": "dev"}]},
            ]}, {"id": "t", "deps": []}]},
        });
        let lock = "[[package]]\nname = \"tokio\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let bill = bill(&metadata, &checksums(lock)).unwrap();
        assert_eq!(bill["metadata"]["component"]["purl"], "pkg:cargo/mcp-cli@0.1.0");
        assert_eq!(
            bill["components"],
            json!([{
                "type": "library",
                "bom-ref": "pkg:cargo/tokio@1.0.0",
                "name": "tokio",
                "version": "1.0.0",
                "purl": "pkg:cargo/tokio@1.0.0",
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
                "hashes": [{"alg": "SHA-256", "content": "ab"}],
            }])
        );
        assert_eq!(bill["dependencies"][0]["dependsOn"], json!(["pkg:cargo/tokio@1.0.0"]));
    }
}
