//! The outcome of a call: not a Rust error, but always content that a model can read.

use std::{fmt, path::PathBuf, time::Duration};

use mcp_jsonrpc::{Delivery, RawJson};
use mcp_types::{Content, StructuredError};
use serde::{Serialize, de::DeserializeOwned};

/// The outcome of a call.
///
/// ```
/// use mcp_tool::ToolOutcome;
///
/// let outcome = ToolOutcome::text("42");
/// assert!(!outcome.is_error);
/// assert_eq!(outcome.text_content(), "42");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// Content for the model: text, images, audio, resources.
    pub content: Vec<Content>,
    /// Structured content for programs. Not repeated in `content` unless the text says more.
    pub structured: Option<RawJson>,
    /// Whether the call failed. The content says how.
    pub is_error: bool,
    /// Why the call failed, if not in the tool itself.
    pub failure: Option<Failure>,
    /// Changes made to the call or its result.
    pub notes: Vec<Note>,
    /// The `_meta` of the result: an object, for the host and not for the model.
    pub meta: Option<RawJson>,
}

/// Why a call failed outside of its tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// Whether the tool may have run, and so whether a retry is safe.
    pub delivery: Delivery,
    /// The capabilities that the owner of the call would have to declare, as the server sent them: an object.
    pub missing: Option<RawJson>,
}

impl Failure {
    /// The name of a delivery in JSON and logs, such as `not_sent`.
    ///
    /// ```
    /// use mcp_tool::{Delivery, Failure};
    ///
    /// assert_eq!(Failure::delivery_name(Delivery::NotSent), "not_sent");
    /// ```
    pub fn delivery_name(delivery: Delivery) -> &'static str {
        match delivery {
            Delivery::NotSent => "not_sent",
            Delivery::Unknown => "unknown",
            Delivery::Executed => "executed",
        }
    }
}

/// The kind of a failure outside of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The server is unavailable.
    Unavailable,
    /// The user has to log in.
    Auth,
    /// The call timed out.
    TimedOut,
    /// The arguments do not match the input schema.
    InvalidArguments,
    /// The server returned a JSON-RPC error.
    Rejected,
    /// The result does not match the output schema, or is malformed.
    InvalidResult,
    /// A rule, a hook or the user denied the call.
    Denied,
    /// Plan mode: the call waits for review.
    Queued,
    /// The tool's definition has changed since this handle was created.
    DefinitionChanged,
    /// The tool does not exist.
    NotFound,
    /// The caller cancelled the call.
    Cancelled,
    /// The result is too large.
    TooLarge,
    /// An internal error.
    Internal,
}

impl FailureKind {
    /// The name in JSON and logs, such as `invalid_arguments`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Auth => "auth",
            Self::TimedOut => "timed_out",
            Self::InvalidArguments => "invalid_arguments",
            Self::Rejected => "rejected",
            Self::InvalidResult => "invalid_result",
            Self::Denied => "denied",
            Self::Queued => "queued",
            Self::DefinitionChanged => "definition_changed",
            Self::NotFound => "not_found",
            Self::Cancelled => "cancelled",
            Self::TooLarge => "too_large",
            Self::Internal => "internal",
        }
    }
}

/// A change made to a call or its result, which a host may want to show.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// The text was truncated.
    Truncated {
        /// The original number of characters.
        chars: usize,
        /// The file with the whole text, if it was kept.
        kept_in: Option<PathBuf>,
    },
    /// The arguments did not match the schema exactly, and were corrected.
    Repaired {
        /// The corrections, as `path: from → to`.
        changes: Vec<String>,
    },
    /// The call was retried.
    Retried {
        /// The number of failed attempts.
        failures: u32,
        /// The total time between attempts.
        waited: Duration,
    },
    /// A secret in the result was redacted.
    Redacted,
    /// The tool's definition has changed since the turn began; the call used the old one.
    DefinitionChanged,
    /// The result does not match the output schema.
    OutputMismatch {
        /// The first violation.
        problem: String,
    },
    /// The arguments or the result were not validated, because the schema or the validation exceeds a limit.
    Unchecked {
        /// Which of them, and which limit.
        reason: String,
    },
}

impl ToolOutcome {
    /// A text result.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)])
    }

    /// A result with these content blocks.
    pub fn new(content: Vec<Content>) -> Self {
        Self {
            content,
            structured: None,
            is_error: false,
            failure: None,
            notes: Vec::new(),
            meta: None,
        }
    }

    /// A structured result: `value` as structured content, and its JSON as text for the model.
    ///
    /// If `value` cannot be serialized as JSON, such as a map with numbers for keys, the outcome is a
    /// [failure](FailureKind::Internal).
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use mcp_tool::ToolOutcome;
    ///
    /// let outcome = ToolOutcome::structured(&BTreeMap::from([("product", 42)]));
    /// assert_eq!(outcome.text_content(), r#"{"product":42}"#);
    /// let product: BTreeMap<String, u64> = outcome.structured_as()?;
    /// assert_eq!(product["product"], 42);
    /// # Ok::<(), mcp_tool::StructuredError>(())
    /// ```
    pub fn structured<T: Serialize + ?Sized>(value: &T) -> Self {
        match RawJson::encode(value) {
            Ok(raw) => Self { structured: Some(raw.clone()), ..Self::text(raw.as_str()) },
            Err(error) => Self::failed(
                FailureKind::Internal,
                Delivery::Executed,
                format!("the tool's result cannot be serialized as JSON: {error}"),
            ),
        }
    }

    /// A tool that ran and failed with this text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// A call that failed outside of its tool.
    pub fn failed(kind: FailureKind, delivery: Delivery, text: impl Into<String>) -> Self {
        Self { failure: Some(Failure { kind, delivery, missing: None }), ..Self::error(text) }
    }

    /// The text blocks, joined by newlines.
    pub fn text_content(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }

    /// Deserializes the structured content.
    ///
    /// # Errors
    /// See [`StructuredError`]: the call failed, the content is absent, or it has another type.
    pub fn structured_as<T: DeserializeOwned>(&self) -> Result<T, StructuredError> {
        StructuredError::read(self.structured.as_ref(), self.is_error, || self.text_content())
    }

    /// The kind of failure outside of the tool, if any.
    pub fn failure_kind(&self) -> Option<FailureKind> {
        self.failure.as_ref().map(|failure| failure.kind)
    }
}

/// A text result.
impl From<&str> for ToolOutcome {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// A text result.
impl From<String> for ToolOutcome {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// The text, for logs and terminals.
impl fmt::Display for ToolOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text_content())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn structured_content_is_read_back_as_its_type() {
        let outcome = ToolOutcome::structured(&BTreeMap::from([("a", 1)]));
        assert_eq!(outcome.structured.as_ref().unwrap().as_str(), r#"{"a":1}"#);
        assert_eq!(outcome.structured_as::<BTreeMap<String, u8>>().unwrap()["a"], 1);
        let wrong = outcome.structured_as::<BTreeMap<String, bool>>().unwrap_err();
        assert!(matches!(&wrong, StructuredError::Shape(error) if error.path() == "a"), "{wrong}");
    }

    #[test]
    fn absent_structured_content_differs_from_a_failed_call() {
        let absent = ToolOutcome::text("42").structured_as::<u8>().unwrap_err();
        assert_eq!(absent, StructuredError::Absent);
        let failed = ToolOutcome::error("no such city").structured_as::<u8>().unwrap_err();
        assert_eq!(failed.to_string(), "the tool failed: no such city");
    }

    #[test]
    fn value_that_is_not_json_is_an_internal_failure() {
        let outcome = ToolOutcome::structured(&BTreeMap::from([((1, 2), 3)]));
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Internal));
        assert!(outcome.is_error && outcome.structured.is_none());
    }
}
