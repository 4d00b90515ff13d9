//! Elicitation forms: typed fields, and validation of the values.
//!
//! [`ElicitRequest::fields`](crate::ElicitRequest::fields) parses them from the schema.
//!
//! ```
//! use mcp_jsonrpc::RawJson;
//! use mcp_types::{ElicitRequest, form::{FieldKind, FieldValue}};
//!
//! let schema = RawJson::parse(
//!     r#"{"type":"object","required":["email"],"properties":{
//!         "email":{"type":"string","format":"email","title":"Your address"},
//!         "copies":{"type":"integer","minimum":1,"maximum":9,"default":1}}}"#,
//! )?;
//! let request = ElicitRequest::form("Where to?", schema);
//! let fields = request.fields()?;
//! assert_eq!(fields[0].label(), "Your address");
//! assert!(fields[0].check(&"ada@example.com".into()).is_ok());
//! assert_eq!(
//!     fields[0].check(&"nowhere".into()).unwrap_err().to_string(),
//!     "`email` must be an email address",
//! );
//! assert!(matches!(fields[1].kind, FieldKind::Number { is_integer: true, .. }));
//! assert_eq!(fields[1].default, Some(FieldValue::Number(1.0)));
//! assert_eq!(fields[1].parse("3")?, FieldValue::Number(3.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod format;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;

use mcp_jsonrpc::RawJson;
use serde::{Serialize, Serializer};

pub use self::check::{FieldError, FieldProblem};
pub(crate) use self::{check::check_content, read::read_fields};

/// A field of a form.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// The key of its value in the result.
    pub name: String,
    /// The label. Foreign text.
    pub title: Option<String>,
    /// An explanation of the field. Foreign text.
    pub description: Option<String>,
    /// Whether a value is required.
    pub is_required: bool,
    /// The type of its value.
    pub kind: FieldKind,
    /// The initial value.
    pub default: Option<FieldValue>,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Text.
    Text {
        /// The format of the text.
        format: Option<TextFormat>,
        /// The fewest characters.
        min_length: Option<u64>,
        /// The most characters.
        max_length: Option<u64>,
    },
    /// A number.
    Number {
        /// Whether it must be whole.
        is_integer: bool,
        /// The least value.
        minimum: Option<f64>,
        /// The greatest value.
        maximum: Option<f64>,
    },
    /// A boolean.
    Boolean,
    /// One of several choices.
    One(Vec<Choice>),
    /// Any number of several choices.
    Many {
        /// The choices.
        choices: Vec<Choice>,
        /// The fewest to choose.
        min_items: Option<u64>,
        /// The most to choose.
        max_items: Option<u64>,
    },
}

/// The format of a text field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextFormat {
    /// An email address.
    Email,
    /// A URI.
    Uri,
    /// A date, as `2026-07-28`.
    Date,
    /// A date with a time and an offset, as in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339#section-5.6).
    DateTime,
    /// A format that the protocol does not define. Any text is valid.
    Other(String),
}

/// An option of a field with choices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The value in the result.
    pub value: String,
    /// The label. Foreign text.
    pub title: Option<String>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the kinds of values that a form may hold")]
pub enum FieldValue {
    /// Text, or the value of a choice.
    Text(String),
    /// A number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
    /// The values of several choices.
    Many(Vec<String>),
}

impl Field {
    /// The label: the title, or the name.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl Choice {
    /// The label: the title, or the value.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for FieldValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for FieldValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for FieldValue {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<Vec<String>> for FieldValue {
    fn from(values: Vec<String>) -> Self {
        Self::Many(values)
    }
}

/// Whole numbers are serialized without a fraction: `3`, not `3.0`.
impl Serialize for FieldValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Many(values) => values.serialize(serializer),
            Self::Number(number) if is_whole(*number) =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
                serializer.serialize_i64(*number as i64)
            }
            Self::Number(number) => serializer.serialize_f64(*number),
        }
    }
}

/// Whether a number is whole, and small enough for `f64` to represent it exactly.
fn is_whole(number: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    number.fract() == 0.0 && number.abs() <= LARGEST
}

/// Why a form cannot be shown: its schema has a field of an unsupported type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormError {
    /// The name of the field.
    pub field: String,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the form has a field of an unsupported type, `{}`", self.field)
    }
}

impl std::error::Error for FormError {}

/// Why the content of a response does not match its form.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "either the form or a field is invalid")]
pub enum AnswerError {
    /// The form is invalid.
    Form(FormError),
    /// A value is invalid for its field.
    Field(FieldError),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(error) => error.fmt(f),
            Self::Field(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AnswerError {}

/// Parses a value from JSON.
pub(crate) fn value_of(raw: &RawJson) -> Option<FieldValue> {
    if let Ok(text) = raw.decode::<String>() {
        return Some(FieldValue::Text(text));
    }
    if let Ok(value) = raw.decode::<bool>() {
        return Some(FieldValue::Boolean(value));
    }
    if let Ok(number) = raw.decode::<f64>() {
        return Some(FieldValue::Number(number));
    }
    raw.decode::<Vec<String>>().ok().map(FieldValue::Many)
}
