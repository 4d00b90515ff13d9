//! The id that a request and its response share.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::json::{RawJson, Scanner, write_integer, write_string};

/// The id of a request: an integer or a string, told apart (`1` is not `"1"`).
///
/// ```
/// use mcp_jsonrpc::RequestId;
///
/// assert_ne!(RequestId::from(1), RequestId::from("1"));
/// assert_eq!(RequestId::from(7).to_string(), "7");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Integer(i64),
    /// An integer beyond 64 bits, as it was written: it only has to be sent back.
    Huge(Arc<str>),
    Text(Arc<str>),
}

impl RequestId {
    /// The id as an integer, if it is one that fits.
    pub fn as_integer(&self) -> Option<i64> {
        match self.0 {
            Repr::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// The id as a string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Reads the text of a value.
    pub(crate) fn read(value: &str) -> Option<Self> {
        match value.as_bytes().first()? {
            b'"' => Scanner::new(value).string().ok().map(|text| Self::from(&*text)),
            _ => Self::from_number(value),
        }
    }

    /// Reads a number token. Fractions and exponents are not valid ids.
    pub(crate) fn from_number(token: &str) -> Option<Self> {
        if let Ok(number) = token.parse() {
            return Some(Self(Repr::Integer(number)));
        }
        let digits = token.strip_prefix('-').unwrap_or(token);
        let is_integer = digits.bytes().all(|b| b.is_ascii_digit()) && digits.len() <= 64;
        is_integer.then(|| Self(Repr::Huge(token.into())))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Integer(number) => write_integer(*number, out),
            Repr::Huge(digits) => out.extend_from_slice(digits.as_bytes()),
            Repr::Text(text) => write_string(text, out),
        }
    }
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self(Repr::Integer(number))
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Integer(number) => number.fmt(f),
            Repr::Huge(digits) => digits.fmt(f),
            Repr::Text(text) => write!(f, "{text:?}"),
        }
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Integer(number) => serializer.serialize_i64(*number),
            Repr::Text(text) => serializer.serialize_str(text),
            Repr::Huge(digits) => {
                RawJson::trusted(digits.as_bytes().to_vec()).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        Self::read(raw.as_str()).ok_or_else(|| de::Error::custom("expected a string or an integer"))
    }
}
