//! Scores requests for several things.
//!
//! The best result has the best tool for each clause, often several tools of one server. So a tool
//! gains if it is good for one clause, and if its server has good tools for many clauses.

use super::{context::Context, score::Adder};
use crate::{
    query::Words,
    text::count::{count, precise},
};

/// The bonus for the best tool of a clause, as a share of the best score.
const BEST_OF_CLAUSE: f32 = 0.5;
/// The bonus for a server that is the best for every clause, as a share of the same.
const COHERENT_SERVER: f32 = 0.6;

/// Adds the scores of the clauses of `words` to `values`.
pub(super) fn add(context: &Context<'_>, words: &Words, adder: &mut Adder, values: &mut [f32]) {
    let whole = context.highest(values);
    let weight = 1.0 / precise(count(words.clauses.len()));
    let mut best = vec![0.0_f32; values.len()];
    let mut servers: Vec<Vec<f32>> = context.per_server(0.0);
    let mut clause_scores = vec![0.0; values.len()];
    for clause in &words.clauses {
        clause_scores.fill(0.0);
        adder.add(context.corpus, &context.layout, context.plan, clause, &mut clause_scores);
        let highest = context.highest(&clause_scores);
        if highest <= 0.0 {
            continue;
        }
        for (best, score) in best.iter_mut().zip(&clause_scores) {
            *best = best.max(score / highest);
        }
        context.spans(|slot, place, span| {
            if !span.name.is_empty() {
                let own = &clause_scores[context.layout.place(slot, span.docs.start)..]
                    [..span.docs.len()];
                let strongest = own.iter().copied().fold(0.0, f32::max);
                servers[slot][place] += weight * strongest / highest;
            }
        });
    }
    context.spans(|slot, place, span| {
        let coherent = COHERENT_SERVER * servers[slot][place];
        for doc in span.docs.clone() {
            let at = context.layout.place(slot, doc);
            if values[at] > 0.0 {
                values[at] += whole * (BEST_OF_CLAUSE * best[at] + coherent);
            }
        }
    });
}
