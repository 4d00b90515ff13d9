//! Filters tools by the operators of a query.

use super::{plan::Plan, score::Layout};
use crate::{
    corpus::{Corpus, GAP, Segment},
    query::{Phrase, Words},
    text::fold,
};

/// The requirements of a query's operators.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    servers: &'a [String],
    /// The number of requirements that each tool meets; empty if there are none.
    met: Vec<u8>,
    demands: u8,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(corpus: &Corpus, layout: &Layout, words: &'a Words, plan: &Plan<'_>) -> Self {
        let mut filter = Self { servers: &words.servers, met: Vec::new(), demands: 0 };
        for (at, _) in words.terms.iter().enumerate().filter(|(_, term)| term.required) {
            filter.demand(layout);
            for slot in 0..corpus.slots.len() {
                let id = plan.said(slot)[at];
                if id == GAP {
                    continue;
                }
                for posting in corpus.slots[slot].segment.postings(id) {
                    filter.met[layout.place(slot, posting.doc)] += 1;
                }
            }
        }
        for phrase in &words.phrases {
            let places = filter.places(corpus, layout, phrase);
            if phrase.required || !places.is_empty() {
                filter.demand(layout);
                for place in places {
                    filter.met[place] += 1;
                }
            }
        }
        filter
    }

    /// Whether tools of this server pass.
    pub(crate) fn server(&self, name: &str) -> bool {
        self.servers.is_empty() || self.servers.contains(&fold::key(name))
    }

    /// Whether the tool at this position meets the requirements on words.
    pub(crate) fn tool(&self, place: usize) -> bool {
        self.demands == 0 || self.met[place] == self.demands
    }

    /// Sets the scores of tools that do not pass to zero.
    pub(crate) fn apply(&self, scores: &mut [f32]) {
        if self.demands > 0 {
            for (score, &met) in scores.iter_mut().zip(&self.met) {
                *score = if met == self.demands { *score } else { 0.0 };
            }
        }
    }

    fn demand(&mut self, layout: &Layout) {
        self.met.resize(layout.total, 0);
        self.demands += 1;
    }

    /// Current tools of the permitted servers in which the words of `phrase` are adjacent.
    fn places(&self, corpus: &Corpus, layout: &Layout, phrase: &Phrase) -> Vec<usize> {
        let mut places = Vec::new();
        for (at, slot) in corpus.slots.iter().enumerate() {
            let segment = &*slot.segment;
            let ids: Option<Vec<u32>> =
                phrase.stems.iter().map(|stem| segment.terms.find(stem)).collect();
            let Some(ids) = ids else { continue };
            for (_, span) in slot.spans().filter(|(_, span)| self.server(&span.name)) {
                let docs = span.docs.clone().filter(|&doc| has(segment, doc, &ids));
                places.extend(docs.map(|doc| layout.place(at, doc)));
            }
        }
        places
    }
}

fn has(segment: &Segment, doc: u32, ids: &[u32]) -> bool {
    segment.words(doc).windows(ids.len()).any(|words| words == ids)
}
