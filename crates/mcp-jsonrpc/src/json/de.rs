//! A serde deserializer that reads a value once, straight into its type.
//!
//! It exists beside `serde_json`'s because it reads escaped text and lists of tools in half to two thirds of the time
//! (ARCHITECTURE.md has the figures), because an error names the member it happened in, and because a lone surrogate
//! does not fail a message. Responses that are small or have no escapes are read no faster.

mod access;

use std::borrow::Cow;

use serde::de::{self, IntoDeserializer, Visitor, value::MapAccessDeserializer};

use self::access::{Elements, Members};
use super::{
    error::ShapeError,
    parse::{Scanner, skip::MAX_DEPTH},
};

/// The name of a newtype that is read from the text of its value. Its visitor gets the text as a borrowed string.
pub(super) const RAW_TOKEN: &str = "$mcp_jsonrpc::RawJson";
/// The same for a value that may nest more deeply than [`MAX_DEPTH`].
pub(super) const DEEP_TOKEN: &str = "$mcp_jsonrpc::DeepJson";

/// Reads one value from `text`, all of it.
pub(crate) fn from_str<'de, T: de::Deserialize<'de>>(text: &'de str) -> Result<T, ShapeError> {
    let mut decoder = Decoder { scanner: Scanner::new(text), depth: 0 };
    let value = T::deserialize(&mut decoder)?;
    decoder.scanner.expect_end()?;
    Ok(value)
}

/// Reads an object and passes each member to `read` by name.
pub(crate) fn members<'de>(
    text: &'de str,
    mut read: impl FnMut(&str, Value<'_, 'de>) -> Result<(), ShapeError>,
) -> Result<(), ShapeError> {
    let mut decoder = Decoder { scanner: Scanner::new(text), depth: 1 };
    decoder.scanner.expect(b'{', "an object")?;
    let mut first = true;
    while decoder.scanner.next_item(&mut first, b'}', "a comma or the end of the object")? {
        let name = decoder.scanner.key()?;
        read(&name, Value(&mut decoder))?;
    }
    decoder.scanner.expect_end()
}

/// The value of a member that is being read. It must be read or skipped, and can be only once.
pub(crate) struct Value<'a, 'de>(&'a mut Decoder<'de>);

impl<'de> Value<'_, 'de> {
    #[inline]
    pub(crate) fn decode<T: de::Deserialize<'de>>(self) -> Result<T, ShapeError> {
        T::deserialize(self.0)
    }

    /// The value's text, which is thereby checked.
    pub(crate) fn text(self) -> Result<&'de str, ShapeError> {
        self.0.scanner.skip_value()
    }
}

struct Decoder<'de> {
    scanner: Scanner<'de>,
    depth: u32,
}

impl<'de> Decoder<'de> {
    #[inline]
    fn visit_string<V: Visitor<'de>>(
        text: Cow<'de, str>,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        match text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn visit_integer<V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, ShapeError> {
        if let Ok(number) = text.parse::<u64>() {
            visitor.visit_u64(number)
        } else if let Ok(number) = text.parse::<i64>() {
            visitor.visit_i64(number)
        } else {
            Self::visit_float(text, visitor)
        }
    }

    fn visit_wide_integer<V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, ShapeError> {
        if let Ok(number) = text.parse::<i128>() {
            visitor.visit_i128(number)
        } else if let Ok(number) = text.parse::<u128>() {
            visitor.visit_u128(number)
        } else {
            Self::visit_float(text, visitor)
        }
    }

    fn visit_float<V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, ShapeError> {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => visitor.visit_f64(number),
            _ => Err(ShapeError::new("a number too large to represent")),
        }
    }

    /// Runs `read` one level deeper. The bound keeps a hostile value from exhausting the call stack.
    fn nested<R>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<R, ShapeError>,
    ) -> Result<R, ShapeError> {
        if self.depth >= MAX_DEPTH {
            return Err(ShapeError::syntax("values nested too deeply", self.scanner.at()));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// The same error, located in the member that begins at `name_at`.
    #[cold]
    fn inside(&self, name_at: usize, error: ShapeError) -> ShapeError {
        let name = self.scanner.back_at(name_at).string();
        error.inside_member(&name.unwrap_or_default())
    }

    fn sequence<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ShapeError> {
        self.scanner.expect(b'[', "an array")?;
        self.nested(|decoder| {
            let mut elements = Elements::new(decoder);
            let value = visitor.visit_seq(&mut elements)?;
            elements.finish()?;
            Ok(value)
        })
    }

    fn mapping<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ShapeError> {
        self.object(|members| visitor.visit_map(members))
    }

    fn object<R>(
        &mut self,
        read: impl FnOnce(&mut Members<'_, 'de>) -> Result<R, ShapeError>,
    ) -> Result<R, ShapeError> {
        self.scanner.expect(b'{', "an object")?;
        self.nested(|decoder| {
            let mut members = Members::new(decoder);
            let value = read(&mut members)?;
            members.finish()?;
            Ok(value)
        })
    }
}

/// Numbers where text or anything else stands get an error that says so.
macro_rules! numbers {
    ($expected:literal $visit:ident: $($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
            match self.scanner.peek() {
                Some(b'-' | b'0'..=b'9') => Decoder::$visit(self.scanner.number()?, visitor),
                _ => Err(self.scanner.unexpected($expected)),
            }
        }
    )*};
}

/// Methods that read like another method and ignore the extra hints of serde.
macro_rules! forward {
    ($($method:ident($($known:ty),*) => $same:ident,)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(
            self,
            $(_: $known,)*
            visitor: V,
        ) -> Result<V::Value, ShapeError> {
            self.$same(visitor)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut Decoder<'de> {
    type Error = ShapeError;

    forward! {
        deserialize_string() => deserialize_str,
        deserialize_char() => deserialize_str,
        deserialize_identifier() => deserialize_str,
        deserialize_bytes() => deserialize_any,
        deserialize_byte_buf() => deserialize_any,
        deserialize_unit_struct(&'static str) => deserialize_unit,
        deserialize_seq() => sequence,
        deserialize_tuple(usize) => sequence,
        deserialize_tuple_struct(&'static str, usize) => sequence,
        deserialize_map() => mapping,
        deserialize_struct(&'static str, &'static [&'static str]) => mapping,
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        match self.scanner.peek() {
            Some(b'{') => self.mapping(visitor),
            Some(b'[') => self.sequence(visitor),
            Some(b'"') => Decoder::visit_string(self.scanner.string()?, visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            // Whole if it is written so, except for a zero with a sign, which only a fraction can keep.
            _ => match self.scanner.number()? {
                zero @ "-0" => Decoder::visit_float(zero, visitor),
                number => Decoder::visit_integer(number, visitor),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        match self.scanner.peek() {
            Some(b't') => self.scanner.literal("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.scanner.literal("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(self.scanner.unexpected("a boolean")),
        }
    }

    numbers! { "a whole number" visit_integer:
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }
    numbers! { "a whole number" visit_wide_integer: deserialize_i128 deserialize_u128 }
    numbers! { "a number" visit_float: deserialize_f32 deserialize_f64 }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        Decoder::visit_string(self.scanner.string()?, visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        if self.scanner.peek() == Some(b'n') {
            self.scanner.literal("null")?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        match self.scanner.peek() {
            Some(b'n') => self.scanner.literal("null").and_then(|()| visitor.visit_unit()),
            _ => Err(self.scanner.unexpected("null")),
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        if name == RAW_TOKEN {
            visitor.visit_borrowed_str(self.scanner.skip_value()?)
        } else if name == DEEP_TOKEN {
            visitor.visit_borrowed_str(self.scanner.skip_deep_value()?)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        match self.scanner.peek() {
            Some(b'"') => {
                let variant = self.scanner.string()?;
                visitor.visit_enum(variant.as_ref().into_deserializer())
            }
            Some(b'{') => {
                self.object(|members| visitor.visit_enum(MapAccessDeserializer::new(members)))
            }
            _ => Err(self.scanner.unexpected("a string or an object")),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.scanner.skip_value()?;
        visitor.visit_unit()
    }
}
