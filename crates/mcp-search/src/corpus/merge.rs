//! Merges segments without reading any text again.

use super::{
    segment::{Doc, GAP, Posting, Segment, Span, by_term},
    slot::Slot,
};
use crate::text::{count::count, similar::Pieces};

/// One segment with all current servers of `slots`.
pub(crate) fn merge(slots: &[Slot]) -> Segment {
    let mut merged = Segment::default();
    let mut postings = Vec::new();
    for slot in slots {
        let docs = append_docs(slot, &mut merged);
        let terms = append_postings(slot, &docs, &mut merged, &mut postings);
        append_sequence(slot, &docs, &terms, &mut merged);
        let names = slot.segment.names.iter().map(|&(hash, doc)| (hash, docs[doc as usize]));
        merged.names.extend(names.filter(|&(_, doc)| doc != GAP));
    }
    merged.terms.shrink();
    merged.pieces = Pieces::new(&merged.terms);
    merged.sort();
    (merged.starts, merged.postings) = by_term(&postings, merged.terms.len());
    merged
}

/// Copies current tools and returns the new position of each, `GAP` for those not copied.
fn append_docs(slot: &Slot, merged: &mut Segment) -> Vec<u32> {
    let mut moved = vec![GAP; slot.segment.docs.len()];
    for (_, span) in slot.spans() {
        let start = count(merged.docs.len());
        let server = count(merged.servers.len());
        for old in span.docs.clone() {
            moved[old as usize] = count(merged.docs.len());
            merged.docs.push(Doc { server, ..slot.segment.docs[old as usize].clone() });
        }
        let docs = start..count(merged.docs.len());
        merged.servers.push(Span { name: span.name.clone(), docs });
    }
    moved
}

/// Copies the postings of current tools and returns the new number of each word.
fn append_postings(
    slot: &Slot,
    docs: &[u32],
    merged: &mut Segment,
    postings: &mut Vec<(u32, Posting)>,
) -> Vec<u32> {
    let segment = &slot.segment;
    let mut moved = vec![GAP; segment.terms.len()];
    for term in 0..count(segment.terms.len()) {
        for posting in segment.postings(term) {
            let doc = docs[posting.doc as usize];
            if doc == GAP {
                continue;
            }
            let place = &mut moved[term as usize];
            if *place == GAP {
                *place = merged.terms.intern(segment.terms.text(term));
            }
            postings.push((*place, Posting { doc, ..*posting }));
        }
    }
    moved
}

fn append_sequence(slot: &Slot, docs: &[u32], terms: &[u32], merged: &mut Segment) {
    for (old, &new) in docs.iter().enumerate().filter(|&(_, &new)| new != GAP) {
        merged.docs[new as usize].words = count(merged.sequence.len());
        let words = slot.segment.words(count(old)).iter();
        merged
            .sequence
            .extend(words.map(|&term| if term == GAP { GAP } else { terms[term as usize] }));
    }
}
