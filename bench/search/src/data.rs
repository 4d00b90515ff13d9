//! The data sets, as their README describes them.

use std::{fs, path::Path};

use mcp_search::Card;
use serde_json::Value;

pub const SETS: [&str; 6] = ["azure-mcp", "livemcp", "bfcl", "seal-tools", "toolbench", "metatool"];

pub fn cards(set: &Path) -> Result<Vec<Card>, String> {
    read_cards(&set.join("catalog.jsonl"))
}

pub fn read_cards(path: &Path) -> Result<Vec<Card>, String> {
    let card = |line: &str| serde_json::from_str(line).map_err(|e| e.to_string());
    read(path)?.lines().map(card).collect()
}

pub fn queries(set: &Path) -> Result<Vec<String>, String> {
    let text = |line: &str| -> Result<String, String> {
        let line: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
        Ok(line["query"].as_str().unwrap_or_default().to_owned())
    };
    read(&set.join("queries.jsonl"))?.lines().map(text).collect()
}

/// Name and description: what the peers index.
pub fn plain(card: &Card) -> String {
    format!("{} {}", card.name, card.description)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
