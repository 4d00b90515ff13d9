//! Suggestions for misspelled names.

use mcp_search::{Card, Index, Query, SearchOptions};

/// The maximum number of suggestions.
const MOST: usize = 3;

/// The names in `index` that are most similar to `wanted` and pass `is_shown`, the nearest first.
pub(crate) fn in_index(
    index: &Index,
    wanted: &str,
    is_shown: impl Fn(&str) -> bool,
) -> Vec<String> {
    // A comma would split the name in two.
    let wanted = wanted.replace(',', "_");
    let query = Query::parse(&format!("select:{wanted}"));
    let found = index.search(&query, &SearchOptions::default());
    // A name that differs only in spelling, such as a missing underscore, is a hit and not reported as missing.
    let alike = found.hits.iter().map(|hit| hit.card.id.clone());
    let near = alike.chain(found.missing.into_iter().flat_map(|missing| missing.nearest));
    near.filter(|name| is_shown(name)).take(MOST).collect()
}

/// Those of `names` that are most similar to `wanted`, the nearest first.
pub(crate) fn among<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> Vec<String> {
    let mut index = Index::new();
    index.replace_server("", names.map(|name| Card::new(name, "", name)));
    in_index(&index, wanted, |_| true)
}

#[cfg(test)]
mod tests {
    use super::among;

    #[test]
    fn similar_names_are_suggested_and_dissimilar_ones_are_not() {
        let names = ["mcp__git__review_pr", "mcp__git__open_pr", "mcp__notes__today"];
        assert_eq!(among(names.into_iter(), "mcp__git__reviewpr")[0], "mcp__git__review_pr");
        assert!(among(names.into_iter(), "deploy").is_empty());
    }
}
