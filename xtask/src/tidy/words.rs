//! Checks that names of public items do not contain words that the glossary rules out.
//!
//! A word with a remark in brackets is right in another meaning, which only a reader can judge.

use std::collections::BTreeSet;

use super::{Finding, features::Source};

const GLOSSARY: &str = "docs/glossary.md";

/// Names that keep such a word, and why. A row that is no longer needed must be deleted.
const ALLOWED: &[(&str, &str)] = &[
    ("mcp_jsonrpc::Event::Complaint", "an error without an id, which belongs to no response"),
    ("mcp_auth::OAuth::takes_a_person", "opposed to grants of machines, which have users too"),
    ("mcp_transport::testing::parity::Scenario::needs_channel", "a stream, not an exchange"),
];

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    check_but(sources, ALLOWED)
}

fn check_but(sources: &[Source], allowed: &[(&str, &str)]) -> Vec<Finding> {
    let glossary = sources.iter().find(|source| source.path == GLOSSARY);
    let Some(words) = glossary.map(|glossary| ruled_out(&glossary.text)) else {
        return vec![Finding::new(GLOSSARY, "is missing")];
    };
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for api in sources.iter().filter(|source| is_api(&source.path)) {
        for (index, line) in api.text.lines().enumerate() {
            let Some(item) = item(line) else { continue };
            let name = item.rsplit("::").next().unwrap_or(item);
            let Some(word) = words_of(name).into_iter().find(|word| words.contains(word)) else {
                continue;
            };
            if allowed.iter().any(|(allowed, _)| *allowed == item) {
                used.insert(item);
            } else {
                let what = format!("`{item}` contains `{word}`, which {GLOSSARY} rules out");
                findings.push(Finding::at(&api.path, index + 1, what));
            }
        }
    }
    let stale = allowed.iter().filter(|(item, _)| !used.contains(item));
    findings.extend(stale.map(|(item, _)| {
        Finding::new("xtask/src/tidy/words.rs", format!("`{item}` is fine: delete its row"))
    }));
    findings
}

fn is_api(path: &str) -> bool {
    path.starts_with("crates/") && path.ends_with("/api.txt")
}

/// The words of the third column without a remark, except those that are terms themselves.
fn ruled_out(glossary: &str) -> BTreeSet<String> {
    let rows = || {
        glossary.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, term, _, instead, _] = cells[..] else { return None };
            Some((term, instead))
        })
    };
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let words = rows().flat_map(|(_, instead)| instead.split(',').map(str::trim).filter(is_word));
    words.filter(|word| rows().all(|(term, _)| term != *word)).map(str::to_owned).collect()
}

/// The path of the item that a line of an `api.txt` declares.
fn item(line: &str) -> Option<&str> {
    let declaration = &line[line.find("pub ")?..];
    let start = declaration.find("mcp_")?;
    let path = &declaration[start..];
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    Some(path[..end.unwrap_or(path.len())].trim_end_matches(':')).filter(|one| one.contains("::"))
}

/// The words of a name in any case, in the singular.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && !before.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    let singular = |word: String| match (word.strip_suffix("ies"), word.strip_suffix('s')) {
        (Some(start), _) => format!("{start}y"),
        (None, Some(start)) => start.to_owned(),
        _ => word,
    };
    words.into_iter().filter(|word| !word.is_empty()).map(singular).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| term | means | do not write |\n|---|---|---|\n\
                         | response | x | answer (of a user), reply, policy |\n| policy | x | |\n";

    fn findings(api: &str, allowed: &[(&str, &str)]) -> Vec<String> {
        let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
        let sources = [source(GLOSSARY, TABLE), source("crates/mcp-a/api.txt", api)];
        check_but(&sources, allowed).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_of_the_third_column_are_found_in_names_of_items() {
        let api = "pub mod mcp_a\n\
                   #[non_exhaustive] pub struct mcp_a::LastReply\n\
                   pub fn mcp_a::Peer::poll_replies(&self) -> mcp_b::Reply\n\
                   pub fn mcp_a::Peer::next(&self) -> mcp_b::Reply\n\
                   pub fn mcp_a::Peer::replays(&self)\n\
                   pub mcp_a::Peer::reply: bool\n\
                   pub enum mcp_a::Policy\n\
                   pub mcp_a::Policy::Answer\n";
        let found = |line: u32, item: &str| {
            format!(
                "crates/mcp-a/api.txt:{line}: `{item}` contains `reply`, which {GLOSSARY} rules out"
            )
        };
        let expected = [
            found(2, "mcp_a::LastReply"),
            found(3, "mcp_a::Peer::poll_replies"),
            found(6, "mcp_a::Peer::reply"),
        ];
        assert_eq!(findings(api, &[]), expected);
    }

    #[test]
    fn allowed_names_are_fine_and_must_not_be_stale() {
        let api = "pub mcp_a::Peer::reply: bool\n";
        assert_eq!(findings(api, &[("mcp_a::Peer::reply", "why")]), [""; 0]);
        assert_eq!(
            findings(api, &[("mcp_a::Peer::reply", "why"), ("mcp_a::Gone", "why")]),
            ["xtask/src/tidy/words.rs: `mcp_a::Gone` is fine: delete its row"]
        );
    }

    #[test]
    fn names_are_split_at_case_and_underscores() {
        assert_eq!(words_of("LogLevel"), ["log", "level"]);
        assert_eq!(words_of("LOG_LEVEL"), ["log", "level"]);
        assert_eq!(words_of("max_connections_per_peer"), ["max", "connection", "per", "peer"]);
    }
}
