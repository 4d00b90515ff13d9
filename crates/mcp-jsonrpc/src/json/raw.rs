//! A JSON value kept as unparsed text.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    backing::{Backing, slice_of},
    de::{self as decoder, RAW_TOKEN},
    error::ShapeError,
    parse::Scanner,
};

/// One well-formed JSON value, kept as the text it arrived in.
///
/// Params, results and tool schemas are kept like this until they are decoded into a type: byte
/// for byte, with their member order and the spelling of numbers. Cloning only increments a reference count.
///
/// A value that came in a message is a slice of that message and keeps it in memory;
/// [`detached`](Self::detached) makes an independent copy for the values you store.
///
/// In a type that derives its decoding, a `RawJson` cannot stand inside `#[serde(flatten)]`, an
/// untagged or an internally tagged enum: serde has parsed the text before it asks for the value.
///
/// ```
/// use mcp_jsonrpc::RawJson;
///
/// let raw = RawJson::parse(r#"{"name":"echo","size":1.50}"#)?;
/// assert_eq!(raw.get("size").unwrap().as_str(), "1.50");
/// assert_eq!(raw.get("name").unwrap().decode::<String>()?, "echo");
/// # Ok::<(), mcp_jsonrpc::ShapeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Checks that `text` is one JSON value, and keeps it.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, ShapeError> {
        let bytes = text.into();
        let text = std::str::from_utf8(&bytes).map_err(|_| ShapeError::new("not UTF-8"))?;
        let mut scanner = Scanner::new(text);
        let start = {
            scanner.peek();
            scanner.at()
        };
        scanner.skip_value()?;
        let end = scanner.at();
        scanner.expect_end()?;
        Ok(Self(bytes.slice(start..end)))
    }

    /// Writes `value` as JSON.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, ShapeError> {
        match serde_json::to_vec(value) {
            Ok(text) => Ok(Self(text.into())),
            Err(error) => Err(ShapeError::new(error)),
        }
    }

    /// `{}`.
    pub fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// `null`.
    pub fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// A part of `message` that the scanner found to be a value.
    pub(crate) fn scanned(message: &Bytes, value: &str) -> Self {
        Self(slice_of(message, value).unwrap_or_else(|| Bytes::copy_from_slice(value.as_bytes())))
    }

    /// Text written by this crate's own encoders.
    pub(crate) fn trusted(text: Vec<u8>) -> Self {
        Self(text.into())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        // Checked on the way in; a second look costs less than the read that follows it.
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// The JSON text as bytes.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// Reads the value as a `T`, in one pass.
    ///
    /// Members of type [`RawJson`] share this value's memory.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ShapeError> {
        let _scope = Backing::enter(&self.0);
        decoder::from_str(self.as_str())
    }

    /// Whether this is a JSON object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        &*self.0 == b"null"
    }

    /// The member `name` of an object; the last one, if it is there twice.
    pub fn get(&self, name: &str) -> Option<RawJson> {
        let found = self.member_texts().filter(|(key, _)| key == name).last();
        found.map(|(_, value)| RawJson::scanned(&self.0, value))
    }

    /// The members of an object in the order they are written. Nothing for other values.
    pub fn members(&self) -> impl Iterator<Item = (String, RawJson)> {
        self.member_texts().map(|(key, value)| (key.into_owned(), RawJson::scanned(&self.0, value)))
    }

    fn member_texts(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        let mut scanner = Scanner::new(self.as_str());
        let is_object = scanner.eat(b'{');
        std::iter::from_fn(move || {
            scanner.eat(b',');
            // At the end a name would be an error, which costs more than a short object.
            if !is_object || scanner.peek() == Some(b'}') {
                return None;
            }
            Some((scanner.key().ok()?, scanner.skip_value().ok()?))
        })
    }

    /// Copies the value into a new allocation, so that it no longer keeps its message alive.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }
}

/// The length only: values may be secret, and logs are forever.
impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.0.len())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_str(self.as_str()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW_TOKEN, RawVisitor)
    }
}

struct RawVisitor;

impl<'de> de::Visitor<'de> for RawVisitor {
    type Value = RawJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    /// This crate's deserializer passes the text of the value.
    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<RawJson, E> {
        match Backing::slice(text) {
            Some(part) => Ok(RawJson(part)),
            // Not a slice of the message, so it has not been validated yet.
            None => RawJson::parse(text.to_owned()).map_err(E::custom),
        }
    }

    /// Other deserializers use `serde_json`'s raw values.
    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<RawJson, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(RawJson(Bytes::from(Box::<str>::from(raw).into_string())))
    }
}
