//! Measures build, query, replacement and memory in one run.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use mcp_search::{Card, Index};

use crate::{
    data,
    peers::{Bm25, Ours, Peer, Tantivy},
};

/// Queries longer than this are tasks rather than searches.
const SHORT: usize = 60;
const ROUNDS: usize = 9;

pub fn run(dir: &Path) -> Result<(), String> {
    let all = data::cards(&dir.join("mcp-servers-10k"))?;
    let mut queries = Vec::new();
    for set in data::SETS {
        queries
            .extend(data::queries(&dir.join(set))?.into_iter().filter(|text| text.len() <= SHORT));
    }
    println!("{} queries of up to {SHORT} characters, {ROUNDS} rounds, top 10\n", queries.len());
    println!("| tools | | build ms | p50 µs | p99 µs |");
    println!("|---:|---|---:|---:|---:|");
    for tools in [1_000, 10_000] {
        table(&all[..tools], &queries)?;
    }
    replace(&all);
    same_order(&all, &queries);
    Ok(())
}

fn table(cards: &[Card], queries: &[String]) -> Result<(), String> {
    let (mut ours, our_build) = build(|| Ok(Ours::new(cards)))?;
    let (mut bm25, bm25_build) = build(|| Ok(Bm25::new(cards)))?;
    let (mut tantivy, tantivy_build) = build(|| Tantivy::new(cards).map_err(|e| e.to_string()))?;
    let mut times = [const { Vec::new() }; 3];
    // The systems take turns, so that load on the machine affects all of them.
    for _ in 0..ROUNDS {
        for (peer, times) in
            [&mut ours as &mut dyn Peer, &mut bm25, &mut tantivy].into_iter().zip(&mut times)
        {
            for query in queries {
                let start = Instant::now();
                std::hint::black_box(peer.top(query, 10));
                times.push(start.elapsed());
            }
        }
    }
    let rows = [
        ("mcp-search", our_build),
        ("bm25 2.3.2", bm25_build),
        ("tantivy 0.27, en_stem", tantivy_build),
    ];
    let mut figures = Vec::new();
    for ((name, build), times) in rows.into_iter().zip(&mut times) {
        times.sort_unstable();
        let (p50, p99) = (micros(times[times.len() / 2]), micros(times[times.len() * 99 / 100]));
        println!(
            "| {} | {name} | {:.0} | {p50:.0} | {p99:.0} |",
            cards.len(),
            micros(build) / 1000.0
        );
        figures.push([micros(build), p50, p99]);
    }
    for peer in 1..3 {
        let ratio = |at: usize| figures[0][at] / figures[peer][at];
        println!(
            "| | *ours / {}* | {:.2}× | {:.2}× | {:.2}× |",
            rows_name(peer),
            ratio(0),
            ratio(1),
            ratio(2)
        );
    }
    Ok(())
}

fn rows_name(peer: usize) -> &'static str {
    ["mcp-search", "bm25", "tantivy"][peer]
}

/// Builds four times and returns the shortest time and the last build.
fn build<P>(make: impl Fn() -> Result<P, String>) -> Result<(P, Duration), String> {
    let mut quickest = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        std::hint::black_box(make()?);
        quickest = quickest.min(start.elapsed());
    }
    Ok((make()?, quickest))
}

/// Compares the replacement of a small and a large server with a new build.
fn replace(all: &[Card]) {
    let cards: Vec<Arc<Card>> = all.iter().cloned().map(Arc::new).collect();
    let index: Index = cards.iter().cloned().collect();
    println!("\n| replace one server of 10,000 tools | µs |\n|---|---:|");
    for size in [1, 10, 100, 1000] {
        let name = "replaced";
        let own: Vec<Arc<Card>> = all[..size]
            .iter()
            .map(|card| {
                let mut card = card.clone();
                card.server = name.to_owned();
                Arc::new(card)
            })
            .collect();
        let mut times = Vec::new();
        let mut index = index.clone();
        for _ in 0..60 {
            let snapshot = index.clone();
            let start = Instant::now();
            index.replace_server(name, own.iter().cloned());
            times.push(start.elapsed());
            drop(snapshot);
        }
        times.sort_unstable();
        let mean = times.iter().sum::<Duration>() / 60;
        println!(
            "| {size} tools, median (mean, worst) | {:.0} ({:.0}, {:.0}) |",
            micros(times[30]),
            micros(mean),
            micros(times[59])
        );
    }
}

/// Whether two builds of each system give the same order of hits.
fn same_order(all: &[Card], queries: &[String]) {
    let stable = |make: &dyn Fn() -> Box<dyn Peer>| {
        let mut first = make();
        let mut second = make();
        queries.iter().filter(|query| first.top(query, 10) != second.top(query, 10)).count()
    };
    let some = &all[..2000];
    println!(
        "\nQueries answered differently by a second build of the same 2,000 tools: mcp-search {}, bm25 {}",
        stable(&|| Box::new(Ours::new(some))),
        stable(&|| Box::new(Bm25::new(some)))
    );
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
