//! Ranks tools by the weights of their words and the combination of words.

mod candidate;
mod clauses;
mod closer;
mod context;
mod explain;
mod filter;
mod plan;
mod score;

pub(crate) use self::{
    candidate::{Candidate, order},
    context::Context,
    explain::Explainer,
    plan::Plan,
    score::Adder,
};
use self::{closer::Closer, context::HEAD};
pub use self::{explain::Match, plan::How};
use crate::{corpus::Corpus, query::Words};

/// The share of a server's strength that each of its tools gets.
const SERVER_SHARE: f32 = 0.2;

/// The `limit` best tools, best first, without those below `floor` as a share of the best score; and the
/// number of all matching tools.
pub(crate) fn rank(
    corpus: &Corpus,
    words: &Words,
    plan: &Plan<'_>,
    limit: usize,
    floor: f32,
) -> (Vec<Candidate>, usize) {
    let context = Context::new(corpus, words, plan);
    let mut scores = vec![0.0; context.layout.total];
    let mut adder = Adder::new(&context.layout);
    adder.add(corpus, &context.layout, plan, &plan.all(), &mut scores);
    context.filter.apply(&mut scores);
    if words.clauses.len() > 1 {
        clauses::add(&context, words, &mut adder, &mut scores);
    }
    let (mut head, matched) = context.select(&scores, HEAD.max(limit.saturating_mul(2)));
    context.add_named(words, &scores, &mut head);
    let closer: Vec<Closer<'_>> =
        (0..corpus.slots.len()).map(|slot| Closer::new(corpus, slot, words, plan)).collect();
    let mut servers = context.per_server(f32::NAN);
    let mut best = 0.0_f32;
    for candidate in &mut head {
        let doc = &corpus.slots[candidate.slot].segment.docs[candidate.doc as usize];
        let strength = &mut servers[candidate.slot][doc.server as usize];
        if strength.is_nan() {
            *strength = context.server_strength(candidate.slot, doc.server, &scores);
        }
        candidate.score =
            closer[candidate.slot].look(candidate.doc, candidate.score) + SERVER_SHARE * *strength;
        best = best.max(candidate.score);
    }
    head.retain(|candidate| candidate.named || candidate.score >= best * floor);
    head.sort_unstable_by(|a, b| order(corpus, a, b));
    head.truncate(limit);
    (head, matched)
}
