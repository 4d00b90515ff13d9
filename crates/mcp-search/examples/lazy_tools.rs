//! A host that does not start servers: it searches the catalogue of an earlier run, loads the tools
//! it finds, and counts the saved tokens.
//!
//! `cargo run -p mcp-search --example lazy_tools`

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::{collections::HashSet, error::Error};

use mcp_search::{
    Index, Query, SearchOptions,
    catalogue::{Catalogue, Freshness, Loaded, Origin},
    cost::{Estimate, Statistics, ToolText},
    validate::Validator,
};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("lazy-tools-{}.catalogue", std::process::id()));

    // An earlier run listed the tools and stored them.
    let definitions = [
        r#"{"name":"read_file","description":"Read a text file from disk.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"Where it is"}},"required":["path"]}}"#,
        r#"{"name":"write_file","description":"Write text to a file.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}}}}"#,
        r#"{"name":"watch","description":"","inputSchema":{"type":"object"}}"#,
    ];
    let mut origin = Origin::new("hash-of-the-server-config", 0);
    origin.ttl_ms = Some(86_400_000);
    Catalogue::new("files", origin, definitions)?.store(&path)?;

    // This run reads them.
    let catalogue = match Catalogue::load(&path) {
        Loaded::Found(catalogue) => catalogue,
        other => return Err(format!("{other:?}").into()),
    };
    assert_eq!(catalogue.freshness("hash-of-the-server-config", 3_600_000), Freshness::Fresh);
    let cards = catalogue.cards(|name| format!("mcp__files__{name}"));
    for card in &cards {
        let report = Validator::default().check(card);
        println!("{} scores {}", card.name, report.score);
        for problem in &report.problems {
            println!("    {problem}");
        }
    }

    let mut index = Index::new();
    index.replace_server("files", cards.clone());
    let results = index.search(&Query::parse("read a text"), &SearchOptions::default());
    let loaded: HashSet<&str> = results.hits.iter().map(|hit| hit.card.id.as_str()).collect();
    println!("loaded {loaded:?}");

    let texts = cards.iter().zip(catalogue.definitions()).map(|(card, (definition, _))| {
        let mut text = ToolText::new("files", &card.id, &card.description, definition);
        text.loaded = loaded.contains(card.id.as_str());
        text
    });
    let total = Statistics::of(texts, &Estimate).total();
    println!("{} tokens in all, {} now, {} saved", total.definitions, total.now, total.saved());
    std::fs::remove_file(path)?;
    Ok(())
}
