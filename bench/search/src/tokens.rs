//! The error of the token estimate against real encodings.

use std::path::Path;

use mcp_search::{Card, cost::{CountTokens, Estimate}};
use serde_json::json;
use tiktoken_rs::{CoreBPE, cl100k_base, o200k_base};

use crate::data;

pub fn run(dir: &Path) -> Result<(), String> {
    let encodings = [("o200k_base", o200k_base()), ("cl100k_base", cl100k_base())];
    println!(
        "| encoding | text | tools | tokens | estimate is off in all | mean error per tool | 9 of 10 tools within |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    let mut cards = Vec::new();
    for set in data::SETS.into_iter().chain(["mcp-servers-10k"]) {
        cards.extend(data::cards(&dir.join(set))?);
    }
    for (name, encoding) in encodings {
        let encoding = encoding.map_err(|e| e.to_string())?;
        row(name, "definitions", &cards, &encoding, definition);
        row(name, "summaries", &cards, &encoding, |card| {
            card.description.chars().take(100).collect()
        });
    }
    Ok(())
}

fn row(name: &str, kind: &str, cards: &[Card], encoding: &CoreBPE, text: impl Fn(&Card) -> String) {
    let (mut real, mut guess, mut off) = (0, 0, Vec::new());
    for card in cards {
        let text = text(card);
        let (r, g) = (encoding.encode_ordinary(&text).len(), Estimate.tokens(&text));
        real += r;
        guess += g;
        if r > 0 {
            off.push((g as f64 - r as f64).abs() / r as f64);
        }
    }
    off.sort_by(f64::total_cmp);
    println!(
        "| {name} | {kind} | {} | {real} | {:+.1} % | {:.1} % | {:.0} % |",
        cards.len(),
        100.0 * (guess as f64 - real as f64) / real as f64,
        100.0 * off.iter().sum::<f64>() / off.len() as f64,
        100.0 * off[off.len() * 9 / 10]
    );
}

/// The tool in the form of `tools/list`.
fn definition(card: &Card) -> String {
    let property = |p: &mcp_search::Param| {
        (p.name.clone(), json!({ "type": "string", "description": p.description }))
    };
    let properties: serde_json::Map<_, _> = card.params.iter().map(property).collect();
    json!({
        "name": card.name,
        "description": card.description,
        "inputSchema": { "type": "object", "properties": properties },
    })
    .to_string()
}
