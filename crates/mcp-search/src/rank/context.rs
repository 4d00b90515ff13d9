//! The data that every step of ranking shares.

use super::{
    candidate::{Candidate, order},
    filter::Filter,
    plan::Plan,
    score::Layout,
};
use crate::{
    corpus::{Corpus, Span},
    query::Words,
    text::terms,
};

/// The minimum number of tools that are reranked. Reranking moves a tool by a few places, not by
/// dozens.
pub(super) const HEAD: usize = 32;

/// The inputs of ranking.
pub(crate) struct Context<'a> {
    pub corpus: &'a Corpus,
    pub plan: &'a Plan<'a>,
    pub layout: Layout,
    pub filter: Filter<'a>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(corpus: &'a Corpus, words: &'a Words, plan: &'a Plan<'a>) -> Self {
        let layout = Layout::new(corpus);
        let filter = Filter::new(corpus, &layout, words, plan);
        Self { corpus, plan, layout, filter }
    }

    /// Calls `each` with every current server that passes the filter, its slot and its index.
    pub(super) fn spans(&self, mut each: impl FnMut(usize, usize, &Span)) {
        for (at, slot) in self.corpus.slots.iter().enumerate() {
            for (place, span) in slot.spans().filter(|(_, span)| self.filter.server(&span.name)) {
                each(at, place as usize, span);
            }
        }
    }

    /// Calls `each` with every tool that passes the filter.
    pub(crate) fn tools(&self, mut each: impl FnMut(usize, u32)) {
        self.spans(|slot, _, span| {
            let passes = |&doc: &u32| self.filter.tool(self.layout.place(slot, doc));
            span.docs.clone().filter(passes).for_each(|doc| each(slot, doc));
        });
    }

    pub(super) fn highest(&self, scores: &[f32]) -> f32 {
        let mut best = 0.0_f32;
        self.tools(|slot, doc| best = best.max(scores[self.layout.place(slot, doc)]));
        best
    }

    /// A number for every server of every slot.
    pub(super) fn per_server(&self, value: f32) -> Vec<Vec<f32>> {
        self.corpus.slots.iter().map(|slot| vec![value; slot.segment.servers.len()]).collect()
    }

    /// The `most` best tools by their words alone, and the number of matches.
    pub(super) fn select(&self, scores: &[f32], most: usize) -> (Vec<Candidate>, usize) {
        let mut head: Vec<Candidate> = Vec::with_capacity(4 * HEAD);
        let (mut matched, mut least, mut full) = (0, f32::MIN_POSITIVE, most.saturating_mul(4));
        self.spans(|slot, _, span| {
            let own = &scores[self.layout.place(slot, span.docs.start)..][..span.docs.len()];
            // Separate from the loop below, so that neither has unpredictable branches.
            matched += own.iter().map(|&score| usize::from(score > 0.0)).sum::<usize>();
            for (doc, &score) in span.docs.clone().zip(own) {
                if score < least {
                    continue;
                }
                head.push(Candidate { slot, doc, score, named: false });
                if head.len() >= full {
                    least = cut(&mut head, most);
                    // A word that every tool has gives them all the same score.
                    if head.len() / 8 > most {
                        cut_ties(self.corpus, &mut head, most);
                    }
                    full = head.len().saturating_add(most.saturating_mul(4));
                }
            }
        });
        if head.len() > most {
            cut(&mut head, most);
        }
        cut_ties(self.corpus, &mut head, most);
        (head, matched)
    }

    /// The strength of the server of a tool: the mean score of its three best tools. The host's own tools
    /// have no server and are not related.
    pub(super) fn server_strength(&self, slot: usize, server: u32, scores: &[f32]) -> f32 {
        let span = &self.corpus.slots[slot].segment.servers[server as usize];
        if span.name.is_empty() {
            return 0.0;
        }
        let first = self.layout.place(slot, span.docs.start);
        let mut top = [0.0_f32; 3];
        for &score in &scores[first..][..span.docs.len()] {
            if score > top[2] {
                top[2] = score;
                top.sort_unstable_by(|a, b| b.total_cmp(a));
            }
        }
        top.iter().sum::<f32>() / 3.0
    }

    /// Adds the tools that the query names.
    pub(super) fn add_named(&self, words: &Words, scores: &[f32], head: &mut Vec<Candidate>) {
        for key in &words.names {
            let hash = terms::hash(key);
            for (slot, named) in self.corpus.slots.iter().map(|slot| slot.named(hash)).enumerate() {
                for doc in named {
                    let place = self.layout.place(slot, doc);
                    match head.iter_mut().find(|c| c.slot == slot && c.doc == doc) {
                        Some(known) => known.named = true,
                        None if self.filter.server(&self.corpus.card(slot, doc).server)
                            && self.filter.tool(place) =>
                        {
                            head.push(Candidate { slot, doc, score: scores[place], named: true });
                        }
                        None => {}
                    }
                }
            }
        }
    }
}

/// Drops all but the `most` best and ties with the last of them. Returns the score of the last.
fn cut(head: &mut Vec<Candidate>, most: usize) -> f32 {
    let least = head.select_nth_unstable_by(most - 1, |a, b| b.score.total_cmp(&a.score)).1.score;
    head.retain(|candidate| candidate.score >= least);
    least
}

/// Drops all but the `most` best.
fn cut_ties(corpus: &Corpus, head: &mut Vec<Candidate>, most: usize) {
    if head.len() > most {
        head.select_nth_unstable_by(most - 1, |a, b| order(corpus, a, b));
        head.truncate(most);
    }
}
