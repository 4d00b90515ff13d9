//! A serde deserializer that reads a value once, straight into its type.
//!
//! It exists beside `serde_json`'s for three reasons: [`RawJson`] members become slices of the
//! message instead of copies, skipping what nobody asked for runs at memory speed, and an error
//! names the member it happened in.

use std::borrow::Cow;

use serde::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use crate::{raw::RAW_TOKEN, scan::Scanner, shape::ShapeError, skip::MAX_DEPTH};

/// Reads one value from `text`, all of it.
pub(crate) fn from_str<'de, T: de::Deserialize<'de>>(text: &'de str) -> Result<T, ShapeError> {
    let mut decoder = Decoder { scanner: Scanner::new(text), depth: 0 };
    let value = T::deserialize(&mut decoder)?;
    decoder.scanner.expect_end()?;
    Ok(value)
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

    fn visit_number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ShapeError> {
        let text = self.scanner.number()?;
        if let Ok(number) = text.parse::<u64>() {
            visitor.visit_u64(number)
        } else if let Ok(number) = text.parse::<i64>() {
            visitor.visit_i64(number)
        } else {
            match text.parse::<f64>() {
                Ok(number) if number.is_finite() => visitor.visit_f64(number),
                _ => Err(ShapeError::new("a number too large to represent")),
            }
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

    fn sequence<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ShapeError> {
        self.scanner.expect(b'[', "an array")?;
        self.nested(|decoder| {
            let mut elements = Elements { decoder, next: 0, done: false };
            let value = visitor.visit_seq(&mut elements)?;
            elements.finish()?;
            Ok(value)
        })
    }

    fn mapping<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ShapeError> {
        self.scanner.expect(b'{', "an object")?;
        self.nested(|decoder| {
            let mut members = Members { decoder, key_at: 0, first: true, done: false };
            let value = visitor.visit_map(&mut members)?;
            members.finish()?;
            Ok(value)
        })
    }
}

/// Numbers where text or anything else stands get an error that says so.
macro_rules! numbers {
    ($expected:literal: $($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
            match self.scanner.peek() {
                Some(b'-' | b'0'..=b'9') => self.visit_number(visitor),
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
            _ => self.visit_number(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        match self.scanner.peek() {
            Some(b't') => self.scanner.literal("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.scanner.literal("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(self.scanner.unexpected("a boolean")),
        }
    }

    numbers! { "a whole number":
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }
    numbers! { "a number": deserialize_f32 deserialize_f64 }

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
                let value = self.nested(|decoder| visitor.visit_enum(Tagged { decoder }))?;
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

struct Elements<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    next: usize,
    done: bool,
}

impl Elements<'_, '_> {
    /// A visitor that stopped early, such as a tuple's, must have been at the end.
    fn finish(self) -> Result<(), ShapeError> {
        if self.done { Ok(()) } else { self.decoder.scanner.expect(b']', "the end of the array") }
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = ShapeError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ShapeError> {
        if self.done {
            return Ok(None);
        }
        let scanner = &mut self.decoder.scanner;
        match scanner.peek() {
            Some(b']') => {
                scanner.bump();
                self.done = true;
                return Ok(None);
            }
            Some(b',') if self.next > 0 => scanner.bump(),
            _ if self.next == 0 => {}
            _ => return Err(scanner.unexpected("a comma or the end of the array")),
        }
        let index = self.next;
        self.next += 1;
        match seed.deserialize(&mut *self.decoder) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(error.inside_element(index)),
        }
    }
}

struct Members<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    /// Where the last name stands, for errors in its value.
    key_at: usize,
    first: bool,
    done: bool,
}

impl Members<'_, '_> {
    fn finish(self) -> Result<(), ShapeError> {
        if self.done { Ok(()) } else { self.decoder.scanner.expect(b'}', "the end of the object") }
    }
}

impl<'de> MapAccess<'de> for &mut Members<'_, 'de> {
    type Error = ShapeError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ShapeError> {
        if self.done {
            return Ok(None);
        }
        let scanner = &mut self.decoder.scanner;
        match scanner.peek() {
            Some(b'}') => {
                scanner.bump();
                self.done = true;
                return Ok(None);
            }
            Some(b',') if !self.first => scanner.bump(),
            _ if self.first => {}
            _ => return Err(scanner.unexpected("a comma or the end of the object")),
        }
        self.first = false;
        self.key_at = scanner.at();
        seed.deserialize(Key(scanner.key()?)).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ShapeError> {
        match seed.deserialize(&mut *self.decoder) {
            Ok(value) => Ok(value),
            Err(error) => {
                let name = self.decoder.scanner.back_at(self.key_at).string();
                Err(error.inside_member(&name.unwrap_or_default()))
            }
        }
    }
}

/// A member's name. Maps keyed by numbers get to parse it.
struct Key<'de>(Cow<'de, str>);

macro_rules! numeric_keys {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(ShapeError::new("expected a number as the member's name")),
            }
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Key<'de> {
    type Error = ShapeError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        Decoder::visit_string(self.0, visitor)
    }

    numeric_keys! {
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32
        deserialize_i64 visit_i64 deserialize_u8 visit_u8 deserialize_u16 visit_u16
        deserialize_u32 visit_u32 deserialize_u64 visit_u64
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        visitor.visit_enum(self.0.as_ref().into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// `{"Variant": value}`, past its opening brace.
struct Tagged<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
}

impl<'de> EnumAccess<'de> for Tagged<'_, 'de> {
    type Error = ShapeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), ShapeError> {
        let key = self.decoder.scanner.key()?;
        Ok((seed.deserialize(Key(key))?, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'_, 'de> {
    type Error = ShapeError;

    fn unit_variant(self) -> Result<(), ShapeError> {
        de::Deserialize::deserialize(self.decoder)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, ShapeError> {
        seed.deserialize(self.decoder)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        self.decoder.sequence(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        self.decoder.mapping(visitor)
    }
}
