//! The peers with the contract of the example `rank` of mcp-search, so that its evaluation can measure them.

use std::{fs, path::Path, time::Instant};

use serde_json::{Value, json};

use crate::{
    data,
    peers::{Bm25, Peer, Tantivy},
};

/// `rank bm25|tantivy --catalog C --queries Q --k K`: JSON lines on standard output, each with the
/// nanoseconds the search took.
pub fn run(system: &str, args: &[String]) -> Result<(), String> {
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name).ok_or(format!("{name} is missing"))?;
        args.get(at + 1).cloned().ok_or(format!("{name} has no value"))
    };
    let k = value("--k")?.parse().map_err(|_| "--k takes a number")?;
    let cards = data::read_cards(Path::new(&value("--catalog")?))?;
    let mut peer: Box<dyn Peer> = match system {
        "bm25" => Box::new(Bm25::new(&cards)),
        "tantivy" => Box::new(Tantivy::new(&cards).map_err(|e| e.to_string())?),
        _ => return Err(format!("unknown system {system}")),
    };
    let queries = fs::read_to_string(value("--queries")?).map_err(|e| e.to_string())?;
    for line in queries.lines() {
        let query: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let text = query["query"].as_str().unwrap_or_default();
        let start = Instant::now();
        let ids = peer.top(text, k);
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        println!("{}", json!({ "qid": query["qid"], "ids": ids, "ns": ns }));
    }
    Ok(())
}
