//! Targets for search queries and the catalogue file.

use std::sync::LazyLock;

use mcp_search::{
    Card, Hit, Index, Query, Results, SearchOptions,
    catalogue::{Catalogue, Origin},
};
use sha2::{Digest, Sha256};

const TOOLS: [(&str, &str, &str); 8] = [
    ("github", "create_issue", "Open an issue in a repository."),
    ("github", "list_issues", "List the issues of a repository, newest first."),
    ("slack", "send_message", "Post a message to a channel."),
    ("files", "readFile", "Read a text file from disk. Not for pictures."),
    ("files", "--", ""),
    ("", "weather", "The weather of a city tomorrow"),
    ("日本", "天気を調べる", "都市の天気予報を返します"),
    ("кафе", "сварить_кофе", "Сварить чашку кофе"),
];

/// An index with two segments, one of which has a removed server.
static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let card = |&(server, name, description): &(&str, &str, &str)| {
        let mut card = Card::new(format!("{server}/{name}"), server, name);
        description.clone_into(&mut card.description);
        card
    };
    let mut index: Index = TOOLS.iter().map(card).collect();
    index.replace_server("files", [card(&("files", "write_file", "Write text to a file."))]);
    index
});

/// Any text, as a query or as a regular expression: results are ordered, within the limit, and stable.
pub(crate) fn query(data: &[u8]) {
    let Some((&pick, bytes)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    let mut options = SearchOptions::default();
    options.limit = usize::from(pick % 4);
    options.floor = f32::from(pick / 4 % 16) / 15.0;
    // One in four, because compiling a pattern takes most of the time.
    if pick >= 0xc0 {
        let Ok(pattern) = Query::regex(&text) else { return };
        check(&pattern, &options, false);
    } else {
        check(&Query::parse(&text), &options, selects(&text));
    }
}

fn check(query: &Query, options: &SearchOptions, selects: bool) {
    let results = INDEX.search(query, options);
    // A query that selects tools by name gets all of them.
    assert!(selects || results.hits.len() <= options.limit, "more than the limit");
    assert!(results.hits.len() <= results.matched && results.matched <= INDEX.len());
    let order = |hit: &Hit| (hit.named, hit.score);
    assert!(selects || results.hits.is_sorted_by(|a, b| order(a) >= order(b)), "out of order");
    assert!(results.hits.iter().all(|hit| hit.score.is_finite()));
    assert_eq!(told(&results), told(&INDEX.search(query, options)));
}

fn selects(text: &str) -> bool {
    text.trim_start().get(..7).is_some_and(|start| start.eq_ignore_ascii_case("select:"))
}

fn told(results: &Results) -> Vec<String> {
    results.hits.iter().map(ToString::to_string).collect()
}

/// Any bytes, with and without a correct checksum: an error, or a catalogue that round-trips. Any definition: an error,
/// or kept verbatim.
pub(crate) fn catalogue(data: &[u8]) {
    decoded(data);
    // A fuzzer cannot guess a checksum, so compute it.
    let mut whole = format!("mcp-catalogue 1 {:x}\n", Sha256::digest(data)).into_bytes();
    whole.extend_from_slice(data);
    decoded(&whole);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(catalogue) = Catalogue::new("s", Origin::new("c", 1), [text, "{}"]) else { return };
    let again = Catalogue::decode(&catalogue.encode()).expect("an encoded catalogue is valid");
    assert!(again.definitions().eq(catalogue.definitions()));
    assert_eq!(again.definitions().next().map(|(text, _)| text), Some(text.trim()));
}

fn decoded(bytes: &[u8]) {
    if let Ok(catalogue) = Catalogue::decode(bytes) {
        assert_eq!(catalogue.encode(), bytes);
        assert_eq!(catalogue.cards(str::to_owned).len(), catalogue.definitions().count());
    }
}
