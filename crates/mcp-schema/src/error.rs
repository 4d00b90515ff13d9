//! The reasons why a schema or an instance is not validated.

use std::{error, fmt};

use crate::limits::{MAX_DEPTH, MAX_PATHS, MAX_PATTERNS};

/// Why a schema, or an instance against it, is not validated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotChecked {
    /// More than 50,000 paths lead through the references and branches of the schema.
    TooManyPaths,
    /// The schema has more than 256 patterns.
    TooManyPatterns,
    /// Subschemas or references nest too deeply, in the schema or together with the instance.
    TooDeep,
    /// A subschema applies to the same instance again without end.
    Endless,
    /// This reference leaves the document, names an anchor, or does not resolve.
    Reference(String),
    /// The schema uses this keyword, which has an unbounded cost.
    Keyword(&'static str),
    /// The schema does not compile, for this reason.
    Invalid(String),
    /// The instance would take more than this many steps.
    TooManySteps(u64),
}

impl fmt::Display for NotChecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyPaths => {
                write!(
                    f,
                    "the schema has more than {MAX_PATHS} paths through references and branches"
                )
            }
            Self::TooManyPatterns => write!(f, "the schema has more than {MAX_PATTERNS} patterns"),
            Self::TooDeep => {
                write!(f, "subschemas and references nest more than {MAX_DEPTH} levels deep")
            }
            Self::Endless => f.write_str("a subschema refers to itself without end"),
            Self::Reference(target) => {
                write!(f, "the reference `{target}` has no target within the schema")
            }
            Self::Keyword(keyword) => write!(f, "the keyword `{keyword}` is not supported"),
            Self::Invalid(reason) => write!(f, "the schema does not compile: {reason}"),
            Self::TooManySteps(budget) => write!(f, "checking would take more than {budget} steps"),
        }
    }
}

impl error::Error for NotChecked {}
