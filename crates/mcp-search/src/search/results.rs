//! Options and results of a search.

use std::{fmt, sync::Arc};

use crate::{
    card::Card,
    corpus::Corpus,
    rank::{Candidate, Match},
};

/// Limits for the results.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct SearchOptions {
    /// The maximum number of tools. Default 10. `select:` returns up to 64.
    pub limit: usize,
    /// The minimum score, as a share of the best. Default 0.6, which on measured requests halves the
    /// number of returned tools and loses 2 % of the relevant ones.
    pub floor: f32,
}

/// The results of a query.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Results {
    /// The tools found, best first.
    pub hits: Vec<Hit>,
    /// The number of matching tools, including those in `hits`.
    pub matched: usize,
    /// Names of a `select:` query that do not match a tool.
    pub missing: Vec<Missing>,
}

/// A found tool, with an explanation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// The tool.
    pub card: Arc<Card>,
    /// The score. Only the order and the ratio to other hits are meaningful.
    pub score: f32,
    /// Whether the query contains its exact name: such tools always come first.
    pub named: bool,
    /// The contribution of each word of the query, and where it was found.
    pub matches: Vec<Match>,
}

/// A name without a tool, and the ids of tools with similar names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The name in the query.
    pub name: String,
    /// Ids of up to three tools, most similar first.
    pub nearest: Vec<String>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { limit: 10, floor: 0.6 }
    }
}

impl SearchOptions {
    /// Sets the maximum number of tools.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the minimum score, as a share of the best.
    #[must_use]
    pub fn with_floor(mut self, floor: f32) -> Self {
        self.floor = floor;
        self
    }
}

impl Results {
    /// The number of matching tools that are not returned.
    pub fn more(&self) -> usize {
        self.matched - self.hits.len()
    }
}

impl Hit {
    pub(super) fn new(corpus: &Corpus, candidate: &Candidate, matches: Vec<Match>) -> Self {
        let card = Arc::clone(corpus.card(candidate.slot, candidate.doc));
        Self { card, score: candidate.score, named: candidate.named, matches }
    }
}

/// One line for display: the id, the score, and the match of each word.
impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.2}", self.card.id, self.score)?;
        if self.named {
            f.write_str(", called by name")?;
        }
        for found in &self.matches {
            write!(f, "; {found}")?;
        }
        Ok(())
    }
}
