//! Why a tool was found.

use std::{fmt, sync::Arc};

use crate::{
    field::Fields,
    index::Index,
    plan::{How, Plan},
    query::Words,
    rank::Candidate,
    segment::Posting,
};

/// One word of a query that a tool has.
///
/// The scores of all matches add up to what the words are worth one by one; the rest of a hit's
/// score is what they say together (neighbours, the name, the action, the server).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Match {
    /// The word as the query has it.
    pub word: Arc<str>,
    /// The stem that was found, which is another word's unless `how` is [`How::Said`].
    pub found: Arc<str>,
    /// How the one led to the other.
    pub how: How,
    /// Where it was found.
    pub fields: Fields,
    /// What it is worth.
    pub score: f32,
}

/// Explains the hits of one query, which share their texts.
pub(crate) struct Explainer<'a> {
    index: &'a Index,
    words: &'a Words,
    plan: &'a Plan<'a>,
    /// The stem of each choice, once it was found somewhere.
    stems: Vec<Option<Arc<str>>>,
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(index: &'a Index, words: &'a Words, plan: &'a Plan<'a>) -> Self {
        Self { index, words, plan, stems: Vec::new() }
    }

    /// What each word of the query is worth in a tool, in the order of the query.
    pub(crate) fn matches(&mut self, candidate: &Candidate) -> Vec<Match> {
        let segment = &self.index.slots[candidate.slot].segment;
        let mut matches = Vec::with_capacity(self.plan.len());
        for term in 0..self.plan.len() {
            let found = self.plan.choices(term).filter_map(|at| {
                let posting = segment.posting(self.plan.id(at, candidate.slot)?, candidate.doc)?;
                let factor = Posting::scale(self.plan.choice(at).factor);
                Some((at, posting.fields, factor * f32::from(posting.worth)))
            });
            if let Some((at, fields, score)) = found.max_by(|a, b| a.2.total_cmp(&b.2)) {
                let found = self.stem(at);
                let word = self.words.terms.get(term).map_or(&found, |term| &term.written);
                let (word, how) = (Arc::clone(word), self.plan.choice(at).how);
                matches.push(Match { word, found, how, fields, score });
            }
        }
        matches
    }

    fn stem(&mut self, choice: usize) -> Arc<str> {
        if self.stems.len() <= choice {
            self.stems.resize(choice + 1, None);
        }
        let text = &*self.plan.choice(choice).stem;
        Arc::clone(self.stems[choice].get_or_insert_with(|| Arc::from(text)))
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word)?;
        match self.how {
            How::Synonym => write!(f, " (as {})", self.found)?,
            How::Spelling => write!(f, " (spelt {})", self.found)?,
            How::Compound => f.write_str(" (as one word)")?,
            How::Said | How::Pattern => {}
        }
        write!(f, " in {}", self.fields)
    }
}
