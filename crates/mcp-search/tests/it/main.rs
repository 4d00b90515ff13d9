//! Tests of the public API.

use mcp_search::{Card, Index, Param, Query, Results, SearchOptions};

mod bad_input;
mod catalogue;
mod quality;
mod queries;
mod shapes;
mod updates;
mod validator;

/// A card from one line: `server/name: description | parameter, parameter`.
fn card(line: &str) -> Card {
    let (head, rest) = line.split_once(':').unwrap_or((line, ""));
    let (server, name) = head.trim().split_once('/').unwrap_or(("", head.trim()));
    let (description, params) = rest.split_once('|').unwrap_or((rest, ""));
    let mut card = Card::new(head.trim(), server, name);
    card.description.push_str(description.trim());
    card.params = params
        .split(',')
        .filter(|name| !name.trim().is_empty())
        .map(|name| Param::new(name.trim(), ""))
        .collect();
    card
}

fn index(lines: &str) -> Index {
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(card).collect()
}

fn search(index: &Index, query: &str) -> Results {
    index.search(&Query::parse(query), &SearchOptions::default())
}

/// The ids found, best first, separated by spaces.
fn ids(results: &Results) -> String {
    results.hits.iter().map(|hit| hit.card.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn found(index: &Index, query: &str) -> String {
    ids(&search(index, query))
}
