//! The forms of a query: words, names, or a pattern.

use std::sync::Arc;

use regex::Regex;

use crate::text::action::Actions;

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Words(Words),
    Select(Vec<String>),
    Pattern { pattern: Regex, words: Words },
}

/// A query in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// Distinct stems in order of first occurrence.
    pub terms: Vec<Term>,
    /// The words in order, as indices into `terms`; `None` where a pair cannot span.
    pub order: Vec<Option<usize>>,
    /// The terms of each clause, if there are several.
    pub clauses: Vec<Vec<usize>>,
    /// Compound words of the query, and adjacent words that a name may join.
    pub compounds: Vec<String>,
    /// Quoted words.
    pub phrases: Vec<Phrase>,
    /// Keys of the servers that results are limited to; empty for no limit.
    pub servers: Vec<String>,
    /// Keys of words that look like a tool's name, and of the query as a whole.
    pub names: Vec<String>,
    pub actions: Actions,
}

/// Adjacent words.
#[derive(Clone, Debug)]
pub(crate) struct Phrase {
    pub stems: Vec<String>,
    /// Written with a `+`: every result must have it.
    pub required: bool,
}

/// One word of a query.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub stem: String,
    pub written: Arc<str>,
    pub weight: f32,
    pub required: bool,
}
