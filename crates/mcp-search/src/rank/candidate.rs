//! Candidates for a result, and their order.

use std::cmp::Ordering;

use crate::corpus::Corpus;

/// A matching tool.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub slot: usize,
    pub doc: u32,
    pub score: f32,
    /// Whether the query contains its name.
    pub named: bool,
}

/// Orders by score, best first. Ties are ordered by id and server, so that the order is stable.
pub(crate) fn order(corpus: &Corpus, a: &Candidate, b: &Candidate) -> Ordering {
    let card = |c: &Candidate| corpus.card(c.slot, c.doc);
    b.named.cmp(&a.named).then(b.score.total_cmp(&a.score)).then_with(|| {
        let (a, b) = (card(a), card(b));
        (&a.id, &a.server).cmp(&(&b.id, &b.server))
    })
}
