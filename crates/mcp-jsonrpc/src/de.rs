//! A serde deserializer that reads a value once, straight into its type.
//!
//! It exists beside `serde_json`'s for three reasons: [`RawJson`] members become slices of the
//! message instead of copies, skipping what nobody asked for runs at memory speed, and an error
//! names the member it happened in.

mod access;

use std::borrow::Cow;

use serde::de::{self, IntoDeserializer, Visitor};

use self::access::{Elements, Members, Tagged};
use crate::{deep::DEEP_TOKEN, raw::RAW_TOKEN, scan::Scanner, shape::ShapeError, skip::MAX_DEPTH};

/// Reads one value from `text`, all of it.
pub(crate) fn from_str<'de, T: de::Deserialize<'de>>(text: &'de str) -> Result<T, ShapeError> {
    let mut decoder = Decoder { scanner: Scanner::new(text), depth: 0 };
    let value = T::deserialize(&mut decoder)?;
    decoder.scanner.expect_end()?;
    Ok(value)
}

/// Reads an object whose members `read` takes one by one, by name.
pub(crate) fn members<'de>(
    text: &'de str,
    mut read: impl FnMut(&str, Value<'_, 'de>) -> Result<(), ShapeError>,
) -> Result<(), ShapeError> {
    let mut decoder = Decoder { scanner: Scanner::new(text), depth: 1 };
    decoder.scanner.expect(b'{', "an object")?;
    let mut first = true;
    while !decoder.scanner.eat(b'}') {
        if !first {
            decoder.scanner.expect(b',', "a comma or the end of the object")?;
        }
        first = false;
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

    /// A number for whoever takes any: whole if it is written so, except for a zero with a sign,
    /// which only a fraction can keep.
    fn visit_number<V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, ShapeError> {
        if text == "-0" {
            Self::visit_float(text, visitor)
        } else {
            Self::visit_integer(text, visitor)
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

    /// Runs `read` one level deeper. The bound keeps a hostile value off our call stack.
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

    /// The same error, in the member whose name stands at `name_at`.
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
        self.scanner.expect(b'{', "an object")?;
        self.nested(|decoder| {
            let mut members = Members::new(decoder);
            let value = visitor.visit_map(&mut members)?;
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

impl<'de> de::Deserializer<'de> for &mut Decoder<'de> {
    type Error = ShapeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        match self.scanner.peek() {
            Some(b'{') => self.mapping(visitor),
            Some(b'[') => self.sequence(visitor),
            Some(b'"') => Decoder::visit_string(self.scanner.string()?, visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            _ => Decoder::visit_number(self.scanner.number()?, visitor),
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
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.deserialize_any(visitor)
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

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        self.deserialize_unit(visitor)
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

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.sequence(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        self.sequence(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        self.sequence(visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.mapping(visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        self.mapping(visitor)
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
                self.scanner.bump();
                let value = self.nested(|decoder| visitor.visit_enum(Tagged::new(decoder)))?;
                self.scanner.expect(b'}', "the end of the object")?;
                Ok(value)
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
