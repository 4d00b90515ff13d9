//! What comes of a call: never an error of Rust, always something a model can read.

use std::{fmt, path::PathBuf, time::Duration};

use mcp_client::{Content, Delivery, RawJson};

/// What a call came to.
///
/// ```
/// use mcp_bridge::ToolOutcome;
///
/// let outcome = ToolOutcome::text("42");
/// assert!(!outcome.is_error);
/// assert_eq!(outcome.text_content(), "42");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// For the model: text, pictures, sounds, resources.
    pub content: Vec<Content>,
    /// For programs, where the tool gives any. Not repeated in `content` unless its text says more.
    pub structured: Option<RawJson>,
    /// The tool, or the way to it, failed. The content says how.
    pub is_error: bool,
    /// Why, if it was not the tool itself that failed.
    pub failure: Option<Failure>,
    /// What was done to the call or its result on the way.
    pub notes: Vec<Note>,
}

/// Why a call has no result of its tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// Whether the tool may have run all the same: whether trying again is safe.
    pub delivery: Delivery,
    /// What the owner of the call would have to offer first, as its server put it: an object of
    /// capabilities.
    pub missing: Option<RawJson>,
}

/// What went wrong on the way to a tool or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// Its server is not there.
    Unavailable,
    /// The user has to log in first.
    Auth,
    /// Its time was up.
    TimedOut,
    /// The arguments do not fit its schema.
    InvalidArguments,
    /// The server answered with a protocol error.
    Rejected,
    /// The result does not fit its schema, or is no result at all.
    InvalidResult,
    /// A rule, a hook or the user said no.
    Denied,
    /// Plan mode: it waits for review.
    Queued,
    /// The tool is not what it was when this handle was given out.
    DefinitionChanged,
    /// There is no such tool.
    NotFound,
    /// The caller gave it up.
    Cancelled,
    /// The result is larger than is accepted.
    TooLarge,
    /// Something here broke.
    Internal,
}

/// Something that was done on the way, which a host may want to show.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// Text was cut.
    Truncated {
        /// How many characters there were.
        chars: usize,
        /// Where the whole is, if it was kept.
        kept_in: Option<PathBuf>,
    },
    /// Arguments were not quite what the schema wants, and were changed.
    Repaired {
        /// Where and what, as `path: from → to`.
        changes: Vec<String>,
    },
    /// It took more than one try.
    Retried {
        /// How many failed.
        failures: u32,
        /// How long the waiting between them took.
        waited: Duration,
    },
    /// The result carried something that looks like a credential, which was taken out.
    Redacted,
    /// The result does not fit the schema its server published.
    OutputMismatch {
        /// The first of the violations.
        problem: String,
    },
}

impl ToolOutcome {
    /// A result of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            structured: None,
            is_error: false,
            failure: None,
            notes: Vec::new(),
        }
    }

    /// A tool that ran and failed; the text says how.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// A call that did not come to its tool's own end.
    pub fn failed(kind: FailureKind, delivery: Delivery, text: impl Into<String>) -> Self {
        Self { failure: Some(Failure { kind, delivery, missing: None }), ..Self::error(text) }
    }

    /// The text blocks, joined by newlines.
    pub fn text_content(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }

    /// Why it failed on the way, if it did.
    pub fn failure_kind(&self) -> Option<FailureKind> {
        self.failure.as_ref().map(|failure| failure.kind)
    }
}

/// The text, for logs and terminals.
impl fmt::Display for ToolOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text_content())
    }
}
