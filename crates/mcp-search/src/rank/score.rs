//! Adds up the weights of the words of a query in every tool.

use super::plan::Plan;
use crate::corpus::{Corpus, Posting};

/// The offsets of the slots when all tools of an index are in one array.
#[derive(Debug)]
pub(crate) struct Layout {
    starts: Vec<usize>,
    pub total: usize,
}

impl Layout {
    pub(crate) fn new(corpus: &Corpus) -> Self {
        let mut starts = Vec::with_capacity(corpus.slots.len());
        let mut total = 0;
        for slot in &corpus.slots {
            starts.push(total);
            total += slot.segment.docs.len();
        }
        Self { starts, total }
    }

    pub(crate) fn place(&self, slot: usize, doc: u32) -> usize {
        self.starts[slot] + doc as usize
    }
}

/// A buffer for the sums, shared by several passes.
#[derive(Debug)]
pub(crate) struct Adder {
    /// Best weight so far of the current word; all zero between words.
    best: Vec<f32>,
}

impl Adder {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { best: vec![0.0; layout.total] }
    }

    /// Adds the weights of `terms` to `values`. Of a word and its alternatives the best counts.
    pub(crate) fn add(
        &mut self,
        corpus: &Corpus,
        layout: &Layout,
        plan: &Plan<'_>,
        terms: &[usize],
        values: &mut [f32],
    ) {
        for (at, slot) in corpus.slots.iter().enumerate() {
            let segment = &*slot.segment;
            let start = layout.place(at, 0);
            let tools = start..start + segment.docs.len();
            let values = &mut values[tools.clone()];
            let best = &mut self.best[tools];
            for &term in terms {
                let lists = plan
                    .choices(term)
                    .filter_map(|choice| Some((segment.postings(plan.id(choice, at)?), choice)))
                    .map(|(list, choice)| (list, Posting::scale(plan.choice(choice).factor)));
                let several = lists.clone().nth(1).is_some();
                for (list, factor) in lists.clone() {
                    for posting in list {
                        let doc = posting.doc as usize;
                        let worth = factor * f32::from(posting.worth);
                        if several {
                            best[doc] = best[doc].max(worth);
                        } else {
                            values[doc] += worth;
                        }
                    }
                }
                if several {
                    for posting in lists.flat_map(|(list, _)| list) {
                        let doc = posting.doc as usize;
                        values[doc] += std::mem::take(&mut best[doc]);
                    }
                }
            }
        }
    }
}
