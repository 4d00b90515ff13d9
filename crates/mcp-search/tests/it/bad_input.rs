//! Unusual and hostile input: every search returns a result and none panics.

use mcp_search::{Card, Index, Param, Query, SearchOptions, validate::Validator};
use proptest::prelude::*;

use crate::{card, found, index, search};

#[test]
fn an_empty_catalogue_finds_nothing() {
    let index = Index::new();
    for query in ["", "read", "select:a", "server:a", "+a", "\"a b\""] {
        let results = search(&index, query);
        assert!(results.hits.is_empty(), "{query}");
        assert_eq!(results.matched, 0);
    }
    assert!(index.is_empty());
}

#[test]
fn a_query_without_words_finds_nothing() {
    let index = index("a/read: Read a file\n a/the: About");
    for query in [
        "",
        "   ",
        "?!.,",
        "+",
        "\"\"",
        "\"",
        "server:",
        "select:",
        "select: , ,",
        "\u{200b}\u{202e}",
    ] {
        assert_eq!(found(&index, query), "", "{query:?}");
    }
}

#[test]
fn a_query_of_stop_words_finds_only_a_tool_of_that_name() {
    let index = index("a/read: Read a file\n a/about: Version of this program");
    assert_eq!(found(&index, "what is the of and"), "");
    assert_eq!(found(&index, "about"), "a/about");
}

#[test]
fn any_limit_and_floor_return_results() {
    let index = index("a/read: Read a file\n a/write: Write a file");
    for (limit, floor, expected) in
        [(0, 0.6, 0), (usize::MAX, 0.0, 2), (1, -1.0, 1), (10, f32::INFINITY, 0), (10, f32::NAN, 0)]
    {
        let mut options = SearchOptions::default();
        options.limit = limit;
        options.floor = floor;
        let results = index.search(&Query::parse("some file"), &options);
        assert_eq!(results.hits.len(), expected, "{options:?}");
        assert_eq!(results.matched, 2);
    }
}

#[test]
fn a_word_that_every_tool_has_orders_them_by_id() {
    let cards = (0..5_000).rev().map(|n| card(&format!("s{}/tool_{n:04}: Same words", n % 7)));
    let mut index = Index::new();
    index.extend(cards);
    let results = search(&index, "same words");
    assert_eq!(results.matched, 5_000);
    assert_eq!(results.hits.len(), 10);
    assert!(results.hits.is_sorted_by_key(|hit| hit.card.id.as_str()));
    assert_eq!(results.hits[0].card.id, "s0/tool_0000");
}

#[test]
fn a_megabyte_of_query_is_read_at_its_start() {
    let index = index("a/read_file: Read a file\n a/write_file: Write a file");
    let long = format!("read file {}", "lorem ipsum dolor ".repeat(60_000));
    assert!(found(&index, &long).starts_with("a/read_file"));
    assert!(found(&index, &"x".repeat(1 << 20)).is_empty());
    assert!(found(&index, &"+".repeat(1 << 20)).is_empty());
    assert!(found(&index, &"\"".repeat(1 << 20)).is_empty());
    assert!(found(&index, &format!("select:{}", ",a".repeat(1 << 19))).is_empty());
}

#[test]
fn a_megabyte_of_description_counts_as_its_beginning() {
    let mut long = card("a/long: ");
    long.description = format!("First words {}", "filler ".repeat(150_000)) + "last words";
    long.params = (0..10_000).map(|n| Param::new(format!("p{n}"), "x".repeat(200))).collect();
    let index: Index = [long].into_iter().collect();
    assert_eq!(found(&index, "first"), "a/long");
    assert_eq!(found(&index, "last"), "");
    assert!(index.memory() < 1 << 20);
    assert!(Validator::default().check(index.cards().next().unwrap()).score < 100);
}

#[test]
fn names_of_only_punctuation_can_be_selected() {
    let index: Index =
        [Card::new("!!", "s", "!!"), Card::new("--", "s", "--")].into_iter().collect();
    assert_eq!(found(&index, "select:--"), "--");
    assert_eq!(found(&index, "!!"), "");
    assert_eq!(found(&index, "server:s"), "!! --");
}

#[test]
fn a_name_of_only_punctuation_is_not_called_by_its_servers_name() {
    let index: Index =
        [Card::new("1", "weather", "--"), Card::new("2", "weather", "now")].into_iter().collect();
    let results = search(&index, "weather");
    assert_eq!(results.hits.len(), 2);
    assert!(results.hits.iter().all(|hit| !hit.named));
    assert!(search(&index, "weather/now").hits[0].named);
}

#[test]
fn right_to_left_text_is_text() {
    let index = index("h/מזג_אוויר: תחזית מזג האוויר לעיר\n a/طقس: حالة الطقس في المدينة");
    assert_eq!(found(&index, "תחזית"), "h/מזג_אוויר");
    assert_eq!(found(&index, "الطَّقْس"), "a/طقس");
}

#[test]
fn a_hundred_thousand_tools_are_searched() {
    let cards = (0..100_000).map(|n| {
        let mut card =
            Card::new(format!("s{}/tool_{n}", n / 50), format!("s{}", n / 50), format!("tool_{n}"));
        card.description = format!("Does thing {} with object {}", n % 997, n % 89);
        card
    });
    let mut index: Index = cards.collect();
    assert_eq!(found(&index, "tool_77777").split(' ').next(), Some("s1555/tool_77777"));
    index.replace_server("s7", [card("s7/special: Unheard quicksilver")]);
    assert_eq!(found(&index, "quicksilver"), "s7/special");
    assert_eq!(index.len(), 100_000 - 50 + 1);
}

#[test]
fn a_pathological_pattern_takes_linear_time() {
    let mut slow = card("a/slow: ");
    slow.description = "a".repeat(1 << 20) + "b";
    let index: Index = [slow].into_iter().collect();
    for pattern in ["(a+)+$", "(a|aa)*c", "(.*a){20}", "^(a?){50}a{50}$"] {
        if let Ok(query) = Query::regex(pattern) {
            index.search(&query, &SearchOptions::default());
        }
    }
}

proptest! {
    #[test]
    fn any_query_returns_results(text in "\\PC{0,200}") {
        let index = index("a/read_file: Read a file\n b/send: Send 天气 a message");
        let results = search(&index, &text);
        prop_assert!(results.hits.len() <= 10.max(index.len()));
        prop_assert!(results.matched >= results.hits.len());
        prop_assert!(results.hits.iter().all(|hit| hit.score.is_finite()));
    }

    #[test]
    fn operators_in_any_order_return_results(
        parts in prop::collection::vec(prop::sample::select(vec![
            "+", "\"", "“", "”", "server:", "select:", ",", " ", "read", "file", "mcp__", "a/", "天", "'s", "\u{200b}", "\n", "12",
        ]), 0..30),
    ) {
        let index = index("a/read_file: Read a file\n b/send: Send 天气 a message");
        search(&index, &parts.concat());
    }

    #[test]
    fn any_card_can_be_indexed_and_found_by_its_id(
        id in "\\PC{1,30}", server in "\\PC{0,10}", name in "\\PC{0,30}", description in "\\PC{0,100}",
    ) {
        let mut odd = Card::new(id.trim(), server.clone(), name);
        odd.description = description;
        prop_assume!(!odd.id.is_empty() && !odd.id.contains(','));
        let mut index = index("a/read_file: Read a file");
        index.replace_server(&server, [odd.clone()]);
        let selected = search(&index, &format!("select:{}", odd.id));
        prop_assert!(selected.hits.iter().any(|hit| *hit.card == odd), "{:?}", selected);
        Validator::default().check(&odd);
    }

    #[test]
    fn any_pattern_is_rejected_or_searched(pattern in "\\PC{0,60}") {
        let index = index("a/read_file: Read a file\n b/send: Send a message");
        if let Ok(query) = Query::regex(&pattern) {
            index.search(&query, &SearchOptions::default());
        }
    }
}
