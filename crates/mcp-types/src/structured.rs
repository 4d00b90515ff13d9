//! Deserializes structured content.

use std::fmt;

use mcp_jsonrpc::{RawJson, ShapeError};
use serde::de::DeserializeOwned;

/// Why the structured content of a result could not be deserialized.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StructuredError {
    /// The tool failed with this text. Foreign, if it is the tool of a server.
    Failed(String),
    /// The result lacks structured content.
    Absent,
    /// The structured content does not have the requested type.
    Shape(ShapeError),
}

impl StructuredError {
    /// Deserializes the structured content of a result. `text` is the tool's text, for the error if it failed.
    ///
    /// # Errors
    /// See the variants.
    pub fn read<T: DeserializeOwned>(
        structured: Option<&RawJson>,
        is_error: bool,
        text: impl FnOnce() -> String,
    ) -> Result<T, Self> {
        match structured {
            // Structured content of a failed call need not match the output schema.
            _ if is_error => Err(Self::Failed(text())),
            None => Err(Self::Absent),
            Some(raw) => raw.decode().map_err(Self::Shape),
        }
    }
}

impl fmt::Display for StructuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(text) => write!(f, "the tool failed: {text}"),
            Self::Absent => f.write_str("the result has no structured content"),
            Self::Shape(_) => f.write_str("the structured content is not of the expected type"),
        }
    }
}

impl std::error::Error for StructuredError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Shape(error) => Some(error),
            Self::Failed(_) | Self::Absent => None,
        }
    }
}
