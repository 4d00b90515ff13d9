//! Deserializes arguments that are text on the wire: those of prompts and of URI templates.

use std::{collections::BTreeMap, fmt};

use mcp_jsonrpc::{RawJson, ShapeError};
use serde::{
    Deserializer,
    de::{
        DeserializeOwned, Error as _, IntoDeserializer, Visitor,
        value::{MapDeserializer, StrDeserializer},
    },
    forward_to_deserialize_any,
};

/// Deserializes named texts into an `A`: a struct of text, numbers, booleans, unit enums and options of these; a map
/// of text; or `()`, which ignores them.
pub(super) fn from_texts<A: DeserializeOwned>(
    texts: BTreeMap<String, String>,
) -> Result<A, ShapeError> {
    let members = texts.into_iter().map(|(name, text)| (name.clone(), Text { name, text }));
    A::deserialize(MapDeserializer::new(members))
        // `()` cannot be deserialized from a map.
        .or_else(|error| RawJson::null().decode().map_err(|_| error))
}

/// One argument, parsed according to the type of its field.
struct Text {
    name: String,
    text: String,
}

impl Text {
    fn invalid(&self, expected: &dyn fmt::Display) -> ShapeError {
        ShapeError::custom(format_args!("`{}`: expected {expected}", self.name))
    }
}

impl IntoDeserializer<'_, ShapeError> for Text {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $type:ty: $expected:literal,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
            match self.text.trim().parse::<$type>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(self.invalid(&$expected)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Text {
    type Error = ShapeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        visitor.visit_string(self.text)
    }

    parsed! {
        deserialize_bool visit_bool bool: "`true` or `false`",
        deserialize_i8 visit_i8 i8: "an integer",
        deserialize_i16 visit_i16 i16: "an integer",
        deserialize_i32 visit_i32 i32: "an integer",
        deserialize_i64 visit_i64 i64: "an integer",
        deserialize_u8 visit_u8 u8: "an integer from 0 to 255",
        deserialize_u16 visit_u16 u16: "an integer from 0",
        deserialize_u32 visit_u32 u32: "an integer from 0",
        deserialize_u64 visit_u64 u64: "an integer from 0",
        deserialize_f32 visit_f32 f32: "a number",
        deserialize_f64 visit_f64 f64: "a number",
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        let text: StrDeserializer<'_, ShapeError> = self.text.as_str().into_deserializer();
        visitor.visit_enum(text).map_err(|error| self.invalid(&error))
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Tone {
        Formal,
        Casual,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Everything {
        name: String,
        count: u8,
        ratio: Option<f64>,
        tone: Option<Tone>,
        #[serde(default)]
        loud: bool,
    }

    fn read<A: DeserializeOwned>(texts: &[(&str, &str)]) -> Result<A, String> {
        let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        from_texts(texts.collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_are_read_from_text() {
        let all = [
            ("name", "Ada"),
            ("count", "3"),
            ("ratio", "0.5"),
            ("tone", "casual"),
            ("loud", "true"),
        ];
        let expected = Everything {
            name: "Ada".into(),
            count: 3,
            ratio: Some(0.5),
            tone: Some(Tone::Casual),
            loud: true,
        };
        assert_eq!(read(&all), Ok(expected));
        let few: Everything = read(&[("name", "7"), ("count", "7")]).unwrap();
        assert_eq!((few.name.as_str(), few.ratio, few.tone), ("7", None, None));
        assert_eq!(read::<()>(&[]), Ok(()));
        assert_eq!(read::<()>(&[("ignored", "x")]), Ok(()));
        assert_eq!(read::<BTreeMap<String, String>>(&[("a", "b")]).unwrap()["a"], "b");
    }

    #[test]
    fn invalid_text_arguments_are_named_in_the_error() {
        let wrong = |texts: &[(&str, &str)]| read::<Everything>(texts).unwrap_err();
        let text = wrong(&[("name", "Ada"), ("count", "many")]);
        assert!(text.contains("`count`: expected an integer from 0 to 255"), "{text}");
        let text = wrong(&[("name", "Ada")]);
        assert!(text.contains("`count`"), "{text}");
        let text = wrong(&[("name", "Ada"), ("count", "1"), ("tone", "rude")]);
        assert!(text.contains("`tone`") && text.contains("formal"), "{text}");
    }
}
