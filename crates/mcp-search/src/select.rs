//! `select:a,b`: tools by their names.

use crate::{
    fold,
    index::Index,
    rank::{Candidate, order},
    search::{Missing, Results},
    similar, terms,
};

/// How many names one query may select.
const MOST: usize = 64;
/// For how many missing names similar ones are looked for, since that looks at every tool.
const MOST_MISSES: usize = 8;
/// How many similar names are told for one that is missing.
const NEAREST: usize = 3;
/// How alike a name must be to be told.
const ALIKE: f32 = 0.35;

/// The tools called `names`, in that order. A name may be an id, a bare name, `server/name`, or
/// any of these with other punctuation; exact ids win over all else.
pub(crate) fn select(index: &Index, names: &[String]) -> Results {
    let mut results = Results::default();
    let mut chosen: Vec<Candidate> = Vec::new();
    for name in names.iter().take(MOST) {
        let mut found = by_name(index, name);
        if found.is_empty() {
            let look = results.missing.len() < MOST_MISSES;
            let nearest = if look { nearest(index, name) } else { Vec::new() };
            results.missing.push(Missing { name: name.clone(), nearest });
        }
        found.retain(|new| !chosen.iter().any(|old| (old.slot, old.doc) == (new.slot, new.doc)));
        chosen.extend(found);
    }
    results.matched = chosen.len();
    results.hits = chosen.iter().map(|candidate| index.hit(candidate, Vec::new())).collect();
    results
}

fn by_name(index: &Index, name: &str) -> Vec<Candidate> {
    let key = fold::key(name);
    let bare = name.strip_prefix("mcp__").or_else(|| name.strip_prefix("mcp_")).map(fold::key);
    let mut found = Vec::new();
    for key in [Some(key), bare].into_iter().flatten().filter(|key| !key.is_empty()) {
        let hash = terms::hash(&key);
        for (at, slot) in index.slots.iter().enumerate() {
            let named = slot.named(hash);
            found.extend(named.map(|doc| Candidate { slot: at, doc, score: 1.0, named: true }));
        }
        if !found.is_empty() {
            break;
        }
    }
    // Punctuation alone has no key, and an id may be just that.
    if found.is_empty() {
        index.each_tool(|slot, doc, card| {
            if card.id == name || card.name == name {
                found.push(Candidate { slot, doc, score: 1.0, named: true });
            }
        });
    }
    let exact = |c: &Candidate| index.slots[c.slot].segment.docs[c.doc as usize].card.id == name;
    if found.iter().any(exact) {
        found.retain(exact);
    }
    found.sort_by(|a, b| order(index, a, b));
    found
}

fn nearest(index: &Index, name: &str) -> Vec<String> {
    let key = fold::key(name);
    let mut near: Vec<(f32, String)> = Vec::new();
    index.each_tool(|_, _, card| {
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
