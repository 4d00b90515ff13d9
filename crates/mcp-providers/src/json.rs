//! A JSON tree that keeps the order of members and the text of numbers.
//!
//! Models fill in properties in the order of the schema, and a cached prompt must not change by a byte, so
//! `serde_json::Value`, which sorts members, is not used here.

use std::collections::HashMap;

use mcp_jsonrpc::RawJson;
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};

/// One JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// `null`, a boolean or a number, as its text.
    Scalar(RawJson),
    String(String),
    Array(Vec<Json>),
    Object(Object),
}

/// The members of an object in their order. A repeated name keeps its last value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object(Vec<(String, Json)>);

impl Json {
    /// Converts `raw`. Its parser has limited the depth.
    pub(crate) fn read(raw: &RawJson) -> Self {
        match raw.as_bytes().first() {
            Some(b'{') => Json::Object(
                raw.members().map(|(name, value)| (name, Json::read(&value))).collect(),
            ),
            Some(b'[') => {
                let items: Vec<RawJson> = raw.decode().unwrap_or_default();
                Json::Array(items.iter().map(Json::read).collect())
            }
            Some(b'"') => Json::String(raw.decode().unwrap_or_default()),
            _ => Json::Scalar(raw.clone()),
        }
    }

    pub(crate) fn raw(&self) -> RawJson {
        RawJson::encode(self).unwrap_or_else(|_| RawJson::null())
    }

    pub(crate) fn null() -> Self {
        Json::Scalar(RawJson::null())
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Scalar(raw) => raw.as_str().parse().ok(),
            _ => None,
        }
    }

    /// The value of a number. A number that is too large for `f64` is infinite.
    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            Json::Scalar(raw) => raw.as_str().parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Json::Scalar(raw) if raw.is_null())
    }

    /// The member `name` of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.as_object()?.get(name)
    }

    /// The JSON Schema type of this value.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Json::Scalar(raw) => match raw.as_str() {
                "null" => "null",
                "true" | "false" => "boolean",
                number if number.contains(['.', 'e', 'E']) => "number",
                _ => "integer",
            },
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }
}

impl Object {
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.0.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Replaces the member in place, or appends it.
    pub(crate) fn set(&mut self, name: impl Into<String>, value: impl Into<Json>) -> &mut Self {
        let name = name.into();
        match self.get_mut(&name) {
            Some(old) => *old = value.into(),
            None => self.0.push((name, value.into())),
        }
        self
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Json> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut list: Vec<(String, Json)> = Vec::new();
        for (name, value) in members {
            if let Some(&place) = places.get(&name) {
                list[place].1 = value;
            } else {
                places.insert(name.clone(), list.len());
                list.push((name, value));
            }
        }
        Self(list)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Json::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Json::String(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Scalar(RawJson::encode(&value).unwrap_or_else(|_| RawJson::null()))
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Json::Scalar(RawJson::encode(&value).unwrap_or_else(|_| RawJson::null()))
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Json::Array(items)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Json::Object(object)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Scalar(raw) => raw.serialize(serializer),
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Json::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.0.len()))?;
                object.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
        }
    }
}

/// Writes an object: `object! { "type" => "text", "text" => text }`.
macro_rules! object {
    ($($name:literal => $value:expr),* $(,)?) => {{
        #[allow(unused_mut, reason = "an empty object is not changed")]
        let mut object = $crate::json::Object::default();
        $(object.set($name, $value);)*
        object
    }};
}
pub(crate) use object;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_numbers_survive_a_round_trip() {
        let text = r#"{"z":1.50,"a":[1e400,"\u00e9",null,true],"m":{}}"#;
        let json = Json::read(&RawJson::parse(text).unwrap());
        assert_eq!(json.raw().as_str(), r#"{"z":1.50,"a":[1e400,"é",null,true],"m":{}}"#);
        assert_eq!(json.get("z").unwrap().type_name(), "number");
    }

    #[test]
    fn a_repeated_member_keeps_its_last_value() {
        let json = Json::read(&RawJson::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap());
        assert_eq!(json.raw().as_str(), r#"{"a":3,"b":2}"#);
    }
}
