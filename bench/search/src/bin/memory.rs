//! `memory DIR`: bytes per tool of each system, with and without the text of the tools.
//!
//! A separate program, because counting slows down allocations.

use std::{alloc::System, path::Path, process::ExitCode, sync::Arc};

use mcp_search::{Card, Index};
use search_bench::{
    data,
    peers::{Bm25, Tantivy},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    match std::env::args().nth(1).map(|dir| run(Path::new(&dir))) {
        Some(Ok(())) => ExitCode::SUCCESS,
        other => {
            eprintln!("usage: memory DIR {other:?}");
            ExitCode::FAILURE
        }
    }
}

fn run(dir: &Path) -> Result<(), String> {
    let all = data::cards(&dir.join("mcp-servers-10k"))?;
    println!(
        "| tools | text | mcp-search beyond the text | bm25 with text | tantivy (ids only, compressed) |"
    );
    println!("|---:|---:|---:|---:|---:|");
    for tools in [1_000, 10_000] {
        let cards = &all[..tools];
        let shared: Vec<Arc<Card>> = cards.iter().cloned().map(Arc::new).collect();
        let ours = held(|| shared.iter().cloned().collect::<Index>());
        let bm25 = held(|| Bm25::new(cards));
        let tantivy = held(|| Tantivy::new(cards).expect("an index in memory can be built"));
        let text: usize = cards.iter().map(text).sum();
        println!(
            "| {tools} | {} | {} | {} | {} |",
            text / tools,
            ours / tools,
            bm25 / tools,
            tantivy / tools
        );
    }
    Ok(())
}

fn held<T>(make: impl Fn() -> T) -> usize {
    drop(make());
    let region = Region::new(ALLOCATOR);
    let made = make();
    let change = region.change();
    drop(made);
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

fn text(card: &Card) -> usize {
    let params: usize = card.params.iter().map(|p| p.name.len() + p.description.len()).sum();
    card.id.len() + card.server.len() + card.name.len() + card.description.len() + params
}
