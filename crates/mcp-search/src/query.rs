//! Parsed queries.

mod clauses;
mod kind;
mod parse;
mod words;

use std::fmt;

use mcp_safe::text::prefix;
use regex::RegexBuilder;

pub(crate) use self::kind::{Kind, Phrase, Term, Words};

/// Longest regular expression, in characters.
const LONGEST_PATTERN: usize = 200;
/// The maximum memory of a compiled regular expression, in bytes.
const PATTERN_SIZE: usize = 1 << 20;
/// The part of a query that is read. Typed queries are shorter; for a document pasted as a query, the beginning is
/// enough.
const LONGEST_QUERY: usize = 8 << 10;

/// A parsed query for any index.
///
/// [`Query::parse`] reads the query language; plain words are searched as they are:
///
/// | written | means |
/// |---|---|
/// | `open a bug report` | tools about this topic, best first |
/// | `+slack send` | `slack` must occur |
/// | `"pull request"` | the words must be adjacent, if any tool has them so |
/// | `server:github issues` | only tools of this server |
/// | `select:read_file,github/create_issue` | exactly these tools, by id or name |
///
/// [`Query::regex`] is a regular expression instead.
#[derive(Clone, Debug)]
pub struct Query {
    pub(crate) kind: Kind,
}

/// Why a regular expression is rejected. The author of the pattern has to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// It is longer than 200 characters.
    TooLong,
    /// It is not valid, or too large when compiled; the text explains the error.
    Invalid(String),
}

impl Query {
    /// Parses the query language. Any text is valid: everything that is not an operator is taken as
    /// words. Only the first 8 KiB are read.
    ///
    /// ```
    /// use mcp_search::Query;
    ///
    /// let query = Query::parse("server:github +issue open");
    /// ```
    pub fn parse(text: &str) -> Self {
        Self { kind: parse::parse(prefix(text, LONGEST_QUERY)) }
    }

    /// A regular expression over all fields, matched in linear time. Case is ignored unless it contains
    /// `(?-i)`. Tools with a matching name come first.
    ///
    /// # Errors
    ///
    /// If the pattern is longer than 200 characters, is not valid, or compiles to more than 1 MiB.
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
