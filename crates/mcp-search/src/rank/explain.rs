//! Explains why a tool was found.

use std::{fmt, sync::Arc};

use super::{
    candidate::Candidate,
    plan::{How, Plan},
};
use crate::{
    corpus::{Corpus, Fields, Posting},
    query::Words,
};

/// One word of a query that a tool has.
///
/// The scores of all matches add up to the weights of the single words. The rest of a hit's score
/// comes from their combination (adjacent words, the name, the action, the server).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Match {
    /// The word in the query.
    pub word: Arc<str>,
    /// The stem that was found; of another word unless `how` is [`How::Said`].
    pub found: Arc<str>,
    /// How the word matched.
    pub how: How,
    /// The fields in which it was found.
    pub fields: Fields,
    /// Its contribution to the score.
    pub score: f32,
}

/// Explains the hits of one query and shares their strings.
pub(crate) struct Explainer<'a> {
    corpus: &'a Corpus,
    words: &'a Words,
    plan: &'a Plan<'a>,
    /// The stem of each choice, once it was found in a tool.
    stems: Vec<Option<Arc<str>>>,
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(corpus: &'a Corpus, words: &'a Words, plan: &'a Plan<'a>) -> Self {
        Self { corpus, words, plan, stems: Vec::new() }
    }

    /// The contribution of each word of the query in a tool, in the order of the query.
    pub(crate) fn matches(&mut self, candidate: &Candidate) -> Vec<Match> {
        let segment = &self.corpus.slots[candidate.slot].segment;
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
