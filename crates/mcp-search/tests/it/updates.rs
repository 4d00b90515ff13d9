//! Updates: a changed index returns the same results as one built from scratch.

use std::collections::BTreeMap;

use mcp_search::{Card, Index, Query, SearchOptions};
use proptest::prelude::*;

use crate::{card, found, index};

#[test]
fn replacing_a_server_leaves_the_others_alone() {
    let mut index = index("a/read: Read a file\n b/write: Write a file");
    index.replace_server("a", [card("a/open: Open a file")]);
    assert_eq!(found(&index, "read"), "");
    assert_eq!(found(&index, "server:a"), "a/open");
    assert_eq!(found(&index, "server:b"), "b/write");
    assert!(index.remove_server("a"));
    assert!(!index.remove_server("a"));
    assert_eq!(index.len(), 1);
}

#[test]
fn a_snapshot_does_not_change() {
    let mut index = index("a/read: Read a file");
    let snapshot = index.clone();
    index.replace_server("a", [card("a/write: Write a file")]);
    assert_eq!(found(&snapshot, "read file"), "a/read");
    assert_eq!(found(&index, "write file"), "a/write");
}

#[test]
fn a_snapshot_can_be_searched_while_a_new_one_is_built() {
    let mut index = index("a/read: Read a file");
    let snapshot = index.clone();
    std::thread::scope(|scope| {
        let searching = scope.spawn(|| (0..100).all(|_| found(&snapshot, "read") == "a/read"));
        for n in 0..100 {
            index.replace_server(&format!("s{n}"), [card(&format!("s{n}/read_{n}: Read"))]);
        }
        assert!(searching.join().unwrap());
    });
    assert_eq!(index.len(), 101);
}

#[test]
fn cards_take_the_name_of_the_server_they_are_given_to() {
    let mut index = Index::new();
    index.replace_server("real", [card("claimed/read: Read")]);
    assert_eq!(found(&index, "server:real"), "claimed/read");
    assert_eq!(found(&index, "server:claimed"), "");
}

#[test]
fn of_cards_with_one_id_the_first_is_kept() {
    let mut index = Index::new();
    index.replace_server("s", [card("s/x: First one"), card("s/x: Second one")]);
    assert_eq!(index.len(), 1);
    assert_eq!(found(&index, "first"), "s/x");
    assert_eq!(found(&index, "second"), "");
    // Servers do not share ids: one server cannot hide a tool of another.
    index.replace_server("t", [card("s/x: Second one")]);
    assert_eq!(index.len(), 2);
}

fn some_card() -> impl Strategy<Value = (u8, u8, Vec<u8>)> {
    (0..6_u8, 0..8_u8, prop::collection::vec(0..12_u8, 0..6))
}

/// A card of a few words, so that cards share words and scores tie.
fn build((server, name, words): &(u8, u8, Vec<u8>)) -> Card {
    const WORDS: [&str; 12] = [
        "read",
        "write",
        "file",
        "issue",
        "list",
        "delete",
        "weather",
        "image",
        "city",
        "repository",
        "message",
        "channel",
    ];
    let text: Vec<&str> = words.iter().map(|&word| WORDS[usize::from(word)]).collect();
    let name = format!("{}_{name}", WORDS[usize::from(*name)]);
    let mut card = Card::new(format!("{server}/{name}"), server.to_string(), name);
    card.description = text.join(" ");
    card
}

fn everything(index: &Index, query: &str) -> Vec<(String, u32)> {
    let mut options = SearchOptions::default();
    options.limit = 100;
    options.floor = 0.0;
    let results = index.search(&Query::parse(query), &options);
    results.hits.iter().map(|hit| (hit.card.id.clone(), hit.score.to_bits())).collect()
}

proptest! {
    #[test]
    fn results_do_not_depend_on_update_history(
        steps in prop::collection::vec(prop::collection::vec(some_card(), 0..6), 1..12),
    ) {
        let mut changed = Index::new();
        let mut last: BTreeMap<String, Vec<Card>> = BTreeMap::new();
        for step in &steps {
            // The first card of a step determines the server to replace; an empty step removes one.
            let server = step.first().map_or(0, |card| card.0).to_string();
            let cards: Vec<Card> = step.iter().map(|(_, name, words)| {
                let mut card = build(&(0, *name, words.clone()));
                card.server = server.clone();
                card.id = format!("{server}/{}", card.name);
                card
            }).collect();
            changed.replace_server(&server, cards.clone());
            last.insert(server, cards);
        }
        let fresh: Index = last.into_values().rev().flatten().collect();
        prop_assert_eq!(changed.len(), fresh.len());
        for query in ["read file", "delete isue", "list the messages of a channel", "weather city image",
            "server:0", "+file write", "\"read file\"", "read_0", "find the weather of the city and then write it to a file or message"] {
            prop_assert_eq!(everything(&changed, query), everything(&fresh, query), "{}", query);
        }
    }
}
