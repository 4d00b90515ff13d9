//! Ranks a catalogue for every query of a file, for scoring by another program.
//!
//! `rank --catalog C --queries Q [--k 10] [--pairs FILE]` writes one line per query,
//! `{"qid":…,"ids":[…]}`, best first. `C` has one card per line (`id`, `server`, `name`,
//! `description`, `params`), `Q` one `{"qid":…,"query":…}`; `--pairs` adds a thesaurus.

use std::{
    error::Error,
    fs,
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use mcp_search::{Card, Index, Query, SearchOptions, Synonyms};
use serde_json::{Value, json};

const USAGE: &str = "usage: rank --catalog FILE --queries FILE [--k N] [--pairs FILE]";

#[derive(Default)]
struct Options {
    catalog: String,
    queries: String,
    pairs: Option<String>,
    k: Option<usize>,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rank: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options::default();
    while let Some(name) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        match name.as_str() {
            "--catalog" => options.catalog = value,
            "--queries" => options.queries = value,
            "--pairs" => options.pairs = Some(value),
            "--k" => options.k = Some(value.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    if options.catalog.is_empty() || options.queries.is_empty() {
        return Err(USAGE.into());
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut synonyms = Synonyms::english();
    if let Some(pairs) = &options.pairs {
        synonyms.add_pairs(&fs::read_to_string(pairs)?);
    }
    let mut index = Index::with_synonyms(synonyms);
    let mut cards: Vec<Card> = Vec::new();
    for line in fs::read_to_string(&options.catalog)?.lines() {
        cards.push(serde_json::from_str(line)?);
    }
    index.extend(cards);

    // Return as many tools as requested, including weak ones.
    let mut search = SearchOptions::default();
    search.limit = options.k.unwrap_or(10);
    search.floor = 0.0;
    let mut out = BufWriter::new(io::stdout().lock());
    for line in fs::read_to_string(&options.queries)?.lines() {
        let query: Value = serde_json::from_str(line)?;
        let text = query["query"].as_str().unwrap_or_default();
        let results = index.search(&Query::parse(text), &search);
        let ids: Vec<&str> = results.hits.iter().map(|hit| hit.card.id.as_str()).collect();
        writeln!(out, "{}", json!({ "qid": query["qid"], "ids": ids }))?;
    }
    out.flush()?;
    Ok(())
}
