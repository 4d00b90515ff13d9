//! Edits of a file, the operations on its text, and their errors.

use std::{borrow::Cow, error::Error, fmt};

use serde_json::Value as Json;

use crate::{
    diagnostic::{Diagnostic, Severity},
    dialect::{Dialect, Document},
    format::SyntaxError,
    model::ServerConfig,
};

/// One edit of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Edit {
    /// Adds a server, or updates the one with its name to this configuration. Unknown fields of an existing
    /// entry are preserved.
    Put(Box<ServerConfig>),
    /// Removes a server.
    Remove(String),
    /// Enables or disables a server.
    Enable(String, bool),
}

/// Why an edit failed. The text is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditError {
    /// The file can't be parsed as its dialect; the first diagnostic.
    Unreadable(String),
    /// The file has no server with this name.
    NotFound(String),
    /// The dialect does not support these settings.
    Inexpressible(Dialect, Vec<&'static str>),
    /// The dialect stores this setting per project, and no project was given.
    NoProject,
    /// The text cannot be edited in place without rewriting it, for this reason.
    Awkward(&'static str),
}

impl fmt::Display for EditError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(finding) => {
                write!(out, "can't change a file that can't be read: {finding}")
            }
            Self::NotFound(name) => write!(out, "no server `{name}` in this file"),
            Self::Inexpressible(dialect, fields) => {
                write!(out, "a {dialect} file does not support {}", fields.join(", "))
            }
            Self::NoProject => {
                out.write_str("this file stores the setting per project, and no project was given")
            }
            Self::Awkward(why) => write!(out, "can't change this text in place: {why}"),
        }
    }
}

impl Error for EditError {}

impl EditError {
    /// The error for a `document` that could not be parsed, with its first diagnostic.
    pub(crate) fn unreadable(document: &Document) -> Self {
        let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
        let error = document.diagnostics.iter().find(is_error);
        Self::Unreadable(error.map(ToString::to_string).unwrap_or_default())
    }
}

impl From<SyntaxError> for EditError {
    fn from(error: SyntaxError) -> Self {
        Self::Unreadable(format!("found {}, expected {}", error.found, error.expected))
    }
}

/// One operation on the text. Each is applied to the result of the previous one, so spans are never stale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// Sets the value at a path, creating missing objects.
    Set(Vec<String>, NewValue),
    /// Removes the member at a path, if it exists.
    Remove(Vec<String>),
}

/// A value to write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NewValue {
    Value(Json),
    /// An object whose members keep their order.
    Entry(Vec<(String, NewValue)>),
}

impl NewValue {
    pub(crate) fn entry(members: Vec<(String, Json)>) -> Self {
        Self::Entry(members.into_iter().map(|(key, value)| (key, Self::Value(value))).collect())
    }

    /// Wraps the value in nested objects with these `keys`.
    pub(crate) fn nested(self, keys: &[String]) -> Self {
        keys.iter().rev().fold(self, |inner, key| Self::Entry(vec![(key.clone(), inner)]))
    }

    /// The members, if it is a non-empty object.
    pub(crate) fn members(&self) -> Option<Vec<(&str, Cow<'_, Self>)>> {
        let members: Vec<_> = match self {
            Self::Entry(members) => {
                members.iter().map(|(key, value)| (key.as_str(), Cow::Borrowed(value))).collect()
            }
            Self::Value(Json::Object(members)) => {
                let owned = |value: &Json| Cow::Owned(Self::Value(value.clone()));
                members.iter().map(|(key, value)| (key.as_str(), owned(value))).collect()
            }
            Self::Value(_) => return None,
        };
        Some(members).filter(|members| !members.is_empty())
    }

    /// Converts to plain JSON, without the order of members.
    pub(crate) fn into_json(self) -> Json {
        match self {
            Self::Value(value) => value,
            Self::Entry(members) => Json::Object(
                members.into_iter().map(|(key, value)| (key, value.into_json())).collect(),
            ),
        }
    }
}
