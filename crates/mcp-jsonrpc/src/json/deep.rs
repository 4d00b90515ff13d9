//! JSON that may nest too deeply for its readers.

use std::fmt;

use serde::{Deserialize, Deserializer, de, de::DeserializeOwned};

use super::{
    backing::Backing,
    de::{self as decoder, DEEP_TOKEN},
    error::ShapeError,
    parse::Scanner,
    raw::RawJson,
};

/// One well-formed JSON value, however deeply it nests.
///
/// A [`RawJson`] that nests too deeply fails the value that contains it. Where one bad entry must
/// fail alone, read the entries as `DeepJson` first, and then convert each to its type.
///
/// Only the deserializer of this crate supports it.
///
/// ```
/// use mcp_jsonrpc::{DeepJson, RawJson, wire::Reply};
///
/// let deep = "[".repeat(500) + &"]".repeat(500);
/// let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"result":[{{"name":"a","x":{deep}}},{{"name":"b"}}]}}"#);
/// let reply = Reply::recognize(&frame.into()).expect("the usual form");
/// assert!(reply.clone().decode::<Vec<RawJson>>().is_err());
/// let entries: Vec<DeepJson> = reply.decode()?;
/// assert!(entries[0].decode::<RawJson>().is_err() && entries[1].decode::<RawJson>().is_ok());
/// assert_eq!(entries[0].get("name").unwrap().as_str(), r#""a""#);
/// # Ok::<(), mcp_jsonrpc::Failure>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct DeepJson(Box<str>);

impl DeepJson {
    /// Reads the value as a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ShapeError> {
        let text = bytes::Bytes::copy_from_slice(self.0.as_bytes());
        let _scope = Backing::enter(&text);
        decoder::from_str(std::str::from_utf8(&text).unwrap_or_default())
    }

    /// The member `name` of an object, unless it nests too deeply itself.
    pub fn get(&self, name: &str) -> Option<RawJson> {
        let mut scanner = Scanner::new(&self.0);
        scanner.expect(b'{', "an object").ok()?;
        let mut found = None;
        while let Ok(key) = scanner.key() {
            let value = scanner.skip_deep_value().ok()?;
            if key == name {
                found = RawJson::parse(value.to_owned()).ok();
            }
            if !scanner.eat(b',') {
                break;
            }
        }
        found
    }
}

/// The length only: values may be secret, and logs are forever.
impl fmt::Debug for DeepJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeepJson({} bytes)", self.0.len())
    }
}

impl<'de> Deserialize<'de> for DeepJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(DEEP_TOKEN, DeepVisitor)
    }
}

struct DeepVisitor;

impl<'de> de::Visitor<'de> for DeepVisitor {
    type Value = DeepJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<DeepJson, E> {
        Ok(DeepJson(text.into()))
    }
}
