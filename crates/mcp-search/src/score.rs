//! Adding up what the words of a query are worth in every tool.

use crate::{index::Index, plan::Plan, segment::Posting};

/// Where the tools of each slot lie when all tools of an index stand in one row.
#[derive(Debug)]
pub(crate) struct Layout {
    starts: Vec<usize>,
    pub total: usize,
}

impl Layout {
    pub(crate) fn new(index: &Index) -> Self {
        let mut starts = Vec::with_capacity(index.slots.len());
        let mut total = 0;
        for slot in &index.slots {
            starts.push(total);
            total += slot.segment.docs.len();
        }
        Self { starts, total }
    }

    pub(crate) fn start(&self, slot: usize) -> usize {
        self.starts[slot]
    }

    pub(crate) fn place(&self, slot: usize, doc: u32) -> usize {
        self.starts[slot] + doc as usize
    }
}

/// A buffer for adding, so that several passes share it.
#[derive(Debug)]
pub(crate) struct Adder {
    /// Best worth so far of the word at hand; all zero between words.
    best: Vec<f32>,
}

impl Adder {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { best: vec![0.0; layout.total] }
    }

    /// Adds the worth of `terms` to `values`. Of a word and its stand-ins the best counts.
    pub(crate) fn add(
        &mut self,
        index: &Index,
        layout: &Layout,
        plan: &Plan<'_>,
        terms: &[usize],
        values: &mut [f32],
    ) {
        for (at, slot) in index.slots.iter().enumerate() {
            let segment = &*slot.segment;
            let tools = layout.start(at)..layout.start(at) + segment.docs.len();
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
