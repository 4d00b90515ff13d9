//! What was asked for, taken apart.

use std::{fmt, sync::Arc};

use regex::{Regex, RegexBuilder};

use crate::{action::Actions, tokenize::start_of};

mod clauses;
mod parse;
mod words;

/// Longest regular expression, in characters.
const LONGEST_PATTERN: usize = 200;
/// Most memory one compiled regular expression may take, in bytes.
const PATTERN_SIZE: usize = 1 << 20;
/// How much of a query is read. Nobody types more; a document pasted as a query says what it is
/// about at its start.
const LONGEST_QUERY: usize = 8 << 10;

/// A query, ready to be put to any index.
///
/// [`Query::parse`] reads the query language, in which plain words are plain words:
///
/// | written | means |
/// |---|---|
/// | `open a bug report` | tools that are about this, best first |
/// | `+slack send` | `slack` must occur |
/// | `"pull request"` | the words must occur side by side, if any tool has them so |
/// | `server:github issues` | only tools of this server |
/// | `select:read_file,github/create_issue` | exactly these tools, by id or name |
///
/// [`Query::regex`] is a regular expression instead.
#[derive(Clone, Debug)]
pub struct Query {
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Words(Words),
    Select(Vec<String>),
    Pattern { pattern: Regex, words: Words },
}

/// A query in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// Distinct stems in the order they were first said.
    pub terms: Vec<Term>,
    /// The words in order, as places in `terms`; `None` where a pair can't span.
    pub order: Vec<Option<usize>>,
    /// Where the text says several things: the terms of each.
    pub clauses: Vec<Vec<usize>>,
    /// Words written together in the query, and neighbours that a name may write together.
    pub compounds: Vec<String>,
    /// Words side by side in quotes.
    pub phrases: Vec<Phrase>,
    /// Keys of the servers the answer is limited to; no limit when empty.
    pub servers: Vec<String>,
    /// Keys of words that look like a tool's name, and of the query as a whole.
    pub names: Vec<String>,
    pub actions: Actions,
}

/// Words that stand side by side.
#[derive(Clone, Debug)]
pub(crate) struct Phrase {
    pub stems: Vec<String>,
    /// Written with a `+`: no tool without it is an answer.
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

/// Why a regular expression can't be used. Both are for whoever wrote the pattern to fix.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// It is longer than 200 characters.
    TooLong,
    /// It is not a regular expression, or one too large to compile; the text says where.
    Invalid(String),
}

impl Query {
    /// Reads the query language. Every text is a query: what is not understood as an operator is
    /// words, and only the first 8 KiB are read.
    ///
    /// ```
    /// use mcp_search::Query;
    ///
    /// let query = Query::parse("server:github +issue open");
    /// ```
    pub fn parse(text: &str) -> Self {
        Self { kind: parse::parse(start_of(text, LONGEST_QUERY)) }
    }

    /// A regular expression over all fields, in time linear in the text. It ignores case unless it
    /// says `(?-i)`. Tools whose name matches come first.
    ///
    /// # Errors
    ///
    /// When the pattern is longer than 200 characters, is not valid, or compiles to more than 1 MiB.
    ///
    /// ```
    /// use mcp_search::{PatternError, Query};
    ///
    /// assert!(Query::regex("browser_(click|hover)").is_ok());
    /// assert!(matches!(Query::regex("("), Err(PatternError::Invalid(_))));
    /// ```
    pub fn regex(pattern: &str) -> Result<Self, PatternError> {
        if pattern.chars().nth(LONGEST_PATTERN).is_some() {
            return Err(PatternError::TooLong);
        }
        let compiled = RegexBuilder::new(pattern)
            .case_insensitive(true)
            .size_limit(PATTERN_SIZE)
            .dfa_size_limit(PATTERN_SIZE)
            .nest_limit(50)
            .build()
            .map_err(|error| PatternError::Invalid(error.to_string()))?;
        let words = words::read(&words::literals(pattern), &[]);
        Ok(Self { kind: Kind::Pattern { pattern: compiled, words } })
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => {
                write!(f, "regular expression is longer than {LONGEST_PATTERN} characters")
            }
            Self::Invalid(reason) => write!(f, "not a usable regular expression: {reason}"),
        }
    }
}

impl std::error::Error for PatternError {}
