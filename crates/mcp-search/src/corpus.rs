//! The searchable form of all tools: segments of words, and which of their servers are current.

mod build;
mod field;
mod merge;
mod segment;
mod slot;

use std::sync::Arc;

pub use self::field::{Field, Fields};
pub(crate) use self::{
    build::{build, read_part},
    merge::merge,
    segment::{GAP, Posting, Segment, Span},
    slot::Slot,
};
use crate::{card::Card, text::Synonyms};

/// All tools of an index, and the synonyms.
#[derive(Clone)]
pub(crate) struct Corpus {
    pub slots: Vec<Slot>,
    pub synonyms: Arc<Synonyms>,
}

impl Corpus {
    /// The number of current tools.
    pub(crate) fn len(&self) -> usize {
        self.slots.iter().map(Slot::len).sum()
    }

    /// The tool at a position in a slot.
    pub(crate) fn card(&self, slot: usize, doc: u32) -> &Arc<Card> {
        &self.slots[slot].segment.docs[doc as usize].card
    }

    /// Calls `each` with every tool, its slot and its position there.
    pub(crate) fn each_tool(&self, mut each: impl FnMut(usize, u32, &Card)) {
        for (at, slot) in self.slots.iter().enumerate() {
            for (_, span) in slot.spans() {
                for doc in span.docs.clone() {
                    each(at, doc, &slot.segment.docs[doc as usize].card);
                }
            }
        }
    }
}
