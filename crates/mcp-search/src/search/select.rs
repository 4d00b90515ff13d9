//! `select:a,b`: selects tools by name.

use super::results::{Hit, Missing, Results};
use crate::{
    corpus::Corpus,
    rank::{Candidate, order},
    text::{fold, similar, terms},
};

/// The maximum number of names in one query.
const MOST: usize = 64;
/// The maximum number of missing names with suggestions, because each compares all tools.
const MOST_MISSES: usize = 8;
/// The number of suggestions for a missing name.
const NEAREST: usize = 3;
/// The minimum similarity of a suggestion.
const ALIKE: f32 = 0.35;

/// The tools with these `names`, in that order. A name may be an id, a bare name, `server/name`, or
/// any of these with other punctuation; exact ids take precedence.
pub(crate) fn select(corpus: &Corpus, names: &[String]) -> Results {
    let mut results = Results::default();
    let mut chosen: Vec<Candidate> = Vec::new();
    for name in names.iter().take(MOST) {
        let mut found = by_name(corpus, name);
        if found.is_empty() {
            let look = results.missing.len() < MOST_MISSES;
            let nearest = if look { nearest(corpus, name) } else { Vec::new() };
            results.missing.push(Missing { name: name.clone(), nearest });
        }
        found.retain(|new| !chosen.iter().any(|old| (old.slot, old.doc) == (new.slot, new.doc)));
        chosen.extend(found);
    }
    results.matched = chosen.len();
    results.hits = chosen.iter().map(|candidate| Hit::new(corpus, candidate, Vec::new())).collect();
    results
}

fn by_name(corpus: &Corpus, name: &str) -> Vec<Candidate> {
    let key = fold::key(name);
    let bare = name.strip_prefix("mcp__").or_else(|| name.strip_prefix("mcp_")).map(fold::key);
    let mut found = Vec::new();
    for key in [Some(key), bare].into_iter().flatten().filter(|key| !key.is_empty()) {
        let hash = terms::hash(&key);
        for (at, slot) in corpus.slots.iter().enumerate() {
            let named = slot.named(hash);
            found.extend(named.map(|doc| Candidate { slot: at, doc, score: 1.0, named: true }));
        }
        if !found.is_empty() {
            break;
        }
    }
    // A name of punctuation only has no key, but may be an id.
    if found.is_empty() {
        corpus.each_tool(|slot, doc, card| {
            if card.id == name || card.name == name {
                found.push(Candidate { slot, doc, score: 1.0, named: true });
            }
        });
    }
    let exact = |c: &Candidate| corpus.card(c.slot, c.doc).id == name;
    if found.iter().any(exact) {
        found.retain(exact);
    }
    found.sort_by(|a, b| order(corpus, a, b));
    found
}

fn nearest(corpus: &Corpus, name: &str) -> Vec<String> {
    let key = fold::key(name);
    let mut near: Vec<(f32, String)> = Vec::new();
    corpus.each_tool(|_, _, card| {
        let alike = [&card.name, &card.id].map(|other| similar::likeness(&key, &fold::key(other)));
        let alike = alike[0].max(alike[1]);
        if alike >= ALIKE {
            near.push((alike, card.id.clone()));
        }
    });
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.truncate(NEAREST);
    near.into_iter().map(|(_, id)| id).collect()
}
