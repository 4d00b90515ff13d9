//! Uses the search without MCP, for any items with a name and a description.
//!
//! `cargo run -p mcp-search --example alone -- "turn my photo into a drawing"`

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use mcp_search::{Card, Index, Query, SearchOptions};

fn main() {
    let commands = [
        ("images", "crop_image", "Cut a picture to a rectangle."),
        ("images", "sketch_image", "Redraw a picture as a pencil sketch."),
        ("images", "caption_image", "Describe in words what a picture shows."),
        ("documents", "merge_pdf", "Join several PDF documents into one."),
        ("documents", "translate_document", "Translate a document, keeping its layout."),
        ("accounts", "invite_member", "Send somebody an invitation to the team."),
    ];
    let index: Index = commands
        .iter()
        .map(|(group, name, description)| {
            let mut card = Card::new(format!("{group}.{name}"), *group, *name);
            card.description.push_str(description);
            card
        })
        .collect();

    let mut queries: Vec<String> = std::env::args().skip(1).collect();
    if queries.is_empty() {
        let some =
            ["turn my photo into a drawing", "combine pdfs", "+document translte", "select:crop"];
        queries = some.map(str::to_owned).to_vec();
    }
    for query in &queries {
        let results = index.search(&Query::parse(query), &SearchOptions::default());
        println!("{query}");
        for hit in &results.hits {
            println!("    {hit}");
        }
        for missing in &results.missing {
            println!("    nothing is called {}; near: {:?}", missing.name, missing.nearest);
        }
        println!("    and {} more", results.more());
    }
}
