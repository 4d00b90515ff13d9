//! Recognises entries that lead to a gateway of this user. A gateway must not be one of its own servers.

use std::path::PathBuf;

use mcp_config::{Scope, ServerConfig, Transport, resolve::Layer};
use mcp_safe::fs::{create_folder, read, replace};
use serde_json::json;

use super::places::Places;

/// The number of addresses that are remembered, and the size of the file with them.
const MOST: usize = 50;
const LARGEST: usize = 64 << 10;

/// Whether an entry starts this program as a gateway.
pub(crate) fn is_program(config: &ServerConfig) -> bool {
    let Transport::Stdio(program) = &config.transport else { return false };
    let command = std::path::Path::new(program.command.unexpanded());
    command.file_stem().is_some_and(|name| name == "mcp" || name == "mcph")
        && program.args.first().is_some_and(|first| first.unexpanded() == "serve")
}

/// Whether an entry leads to an address at which a gateway of this user has listened.
pub(crate) fn is_address(config: &ServerConfig, places: &Places) -> bool {
    let Some(remote) = config.transport.remote() else { return false };
    let url = normal(remote.url.unexpanded());
    load(places).contains(&url)
}

/// Removes this gateway from a layer: `mcp install` writes it into files that this program reads as well. An address
/// that the user added stays, because it is reached by commands and not only by the gateway.
pub(crate) fn remove(layer: &mut Layer, places: &Places) {
    match layer.scope {
        Scope::Project => layer
            .document
            .entries
            .retain(|entry| !is_program(&entry.config) && !is_address(&entry.config, places)),
        Scope::Local | Scope::User => {
            layer.document.entries.retain(|entry| !is_program(&entry.config));
        }
        _ => {}
    }
}

/// Remembers an address at which a gateway of this user listens. A failure has the effect that `mcp import` offers it.
pub(crate) fn remember(places: &Places, url: &str) {
    let Some(file) = file(places) else { return };
    let mut known = load(places);
    let url = normal(url);
    if known.first() == Some(&url) {
        return;
    }
    known.retain(|one| *one != url);
    known.insert(0, url);
    known.truncate(MOST);
    let _ = file.parent().map(create_folder);
    let _ = replace(&file, json!(known).to_string().as_bytes());
}

fn load(places: &Places) -> Vec<String> {
    let text = file(places).and_then(|file| read(&file, LARGEST).ok().flatten());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn file(places: &Places) -> Option<PathBuf> {
    Some(places.state.as_ref()?.join("gateway-addresses.json"))
}

/// Returns the same text for the spellings of a loopback address.
fn normal(url: &str) -> String {
    let url = url.trim_end_matches('/').to_ascii_lowercase();
    ["http://localhost:", "http://[::1]:", "http://0.0.0.0:"]
        .iter()
        .find_map(|start| Some(format!("http://127.0.0.1:{}", url.strip_prefix(start)?)))
        .unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_recognised_in_any_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { state: Some(folder.path().join("state")), ..Places::default() };
        let entry = |url: &str| {
            let text = json!({"mcpServers": {"x": {"type": "http", "url": url}}}).to_string();
            let document = mcp_config::read(text.as_bytes(), &mcp_config::ReadOptions::new("x"));
            document.get("x").unwrap().config.clone()
        };
        assert!(!is_address(&entry("http://127.0.0.1:8000/mcp"), &places));
        remember(&places, "http://127.0.0.1:8000/mcp");
        remember(&places, "https://gw.example/mcp");
        for url in
            ["http://127.0.0.1:8000/mcp", "http://localhost:8000/mcp/", "https://GW.example/mcp"]
        {
            assert!(is_address(&entry(url), &places), "{url}");
        }
        assert!(!is_address(&entry("http://127.0.0.1:8001/mcp"), &places));
    }
}
