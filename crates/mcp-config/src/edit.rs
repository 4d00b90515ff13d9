//! Changing a configuration as text, leaving every byte alone that need not change.
//!
//! An [`Edit`] becomes a few operations on paths ("set this", "remove that"), and each format
//! carries those out in its own text: by spans for JSON and YAML, by its own document for TOML.

use std::{borrow::Cow, error::Error, fmt};

use serde_json::Value as Json;

mod json;
mod plan;
mod proof;
#[cfg(feature = "toml")]
mod toml;
#[cfg(feature = "yaml")]
mod yaml;

use self::plan::Plan;
use crate::{
    dialect::Dialect, document::ReadOptions, model::ServerConfig, scope::Scope, text::Format,
};

/// One change to a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Edit {
    /// Adds a server, or brings the one of its name to this configuration. Fields of an existing
    /// entry that the dialect does not know stay.
    Put(Box<ServerConfig>),
    /// Removes a server.
    Remove(String),
    /// Switches a server on or off.
    Enable(String, bool),
}

/// Why a change was not made. The text is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditError {
    /// The file can't be read as its dialect; the finding says where.
    Unreadable(String),
    /// There is no server of this name in the file.
    NotFound(String),
    /// The dialect has no way to say these settings.
    Inexpressible(Dialect, Vec<&'static str>),
    /// The dialect keeps this per project, and no project was given.
    NoProject,
    /// The text is written in a way this can't be done to without rewriting it.
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
                write!(out, "a {dialect} file has no way to say {}", fields.join(", "))
            }
            Self::NoProject => {
                out.write_str("this file keeps it per project, and no project was given")
            }
            Self::Awkward(why) => write!(out, "can't change this text in place: {why}"),
        }
    }
}

impl Error for EditError {}

/// Applies `edit` to `text`, a file of `options.dialect` (or of the dialect it is detected as).
/// Bytes outside the entry concerned stay as they are.
///
/// ```
/// use mcp_config::{Edit, ReadOptions, edit_text};
/// let text = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }\n  }\n}\n";
/// let off = edit_text(text, &ReadOptions::new(".mcp.json"), &Edit::Enable("a".into(), false))?;
/// assert_eq!(off, text.replace("\"x\" }", "\"x\", \"enabled\": false }"));
/// # Ok::<(), mcp_config::EditError>(())
/// ```
pub fn edit_text(text: &str, options: &ReadOptions<'_>, edit: &Edit) -> Result<String, EditError> {
    edit_in_scope(text, options, edit, None)
}

/// The same for the section of one scope, in files that hold more than one.
pub(crate) fn edit_in_scope(
    text: &str,
    options: &ReadOptions<'_>,
    edit: &Edit,
    scope: Option<Scope>,
) -> Result<String, EditError> {
    let document = crate::read(text.as_bytes(), options);
    let Some(dialect) = document.dialect.or(options.dialect) else {
        let why = document.diagnostics.first().map(ToString::to_string).unwrap_or_default();
        return Err(EditError::Unreadable(why));
    };
    let project = options.project_key();
    let plan = Plan { dialect, project: project.as_deref(), scope };
    let operations = plan.operations(text, edit)?;
    let changed = operations.iter().try_fold(text.to_owned(), |text, operation| {
        carry_out(dialect.format(), &text, operation)
    })?;
    let options = ReadOptions { dialect: Some(dialect), ..*options };
    proof::check(&document, &crate::read(changed.as_bytes(), &options), edit)?;
    Ok(changed)
}

/// One operation on the text. Each is applied to what the last one left, so spans never go stale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// Sets the value at a path, making the objects on the way.
    Set(Vec<String>, Fresh),
    /// Removes the member at a path, if it is there.
    Remove(Vec<String>),
}

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fresh {
    Value(Json),
    /// An object whose members have an order worth keeping.
    Entry(Vec<(String, Fresh)>),
}

impl Fresh {
    pub(crate) fn entry(members: Vec<(String, Json)>) -> Self {
        Self::Entry(members.into_iter().map(|(key, value)| (key, Self::Value(value))).collect())
    }

    /// The value inside the objects that `keys` name.
    pub(crate) fn nested(self, keys: &[String]) -> Self {
        keys.iter().rev().fold(self, |inner, key| Self::Entry(vec![(key.clone(), inner)]))
    }

    /// The members, if it is an object that has any.
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

    /// As one value, its order given up.
    pub(crate) fn into_json(self) -> Json {
        match self {
            Self::Value(value) => value,
            Self::Entry(members) => Json::Object(
                members.into_iter().map(|(key, value)| (key, value.into_json())).collect(),
            ),
        }
    }
}

fn carry_out(format: Format, text: &str, operation: &Operation) -> Result<String, EditError> {
    match format {
        Format::Json => json::apply(text, operation),
        #[cfg(feature = "toml")]
        Format::Toml => toml::apply(text, operation),
        #[cfg(feature = "yaml")]
        Format::Yaml => yaml::apply(text, operation),
        #[cfg(not(all(feature = "toml", feature = "yaml")))]
        _ => Err(EditError::Awkward("this build leaves the format out")),
    }
}
