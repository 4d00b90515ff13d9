//! The elements, members and names that serde visits.

use std::borrow::Cow;

use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::Decoder;
use crate::json::{error::ShapeError, parse::Scanner};

/// The elements of an array, past its opening bracket.
pub(super) struct Elements<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    next: usize,
    done: bool,
}

impl<'a, 'de> Elements<'a, 'de> {
    pub(super) fn new(decoder: &'a mut Decoder<'de>) -> Self {
        Self { decoder, next: 0, done: false }
    }

    /// Fails if a visitor that stopped early, such as a tuple's, left elements unread.
    pub(super) fn finish(self) -> Result<(), ShapeError> {
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
        let mut first = self.next == 0;
        let expected = "a comma or the end of the array";
        if self.done || !self.decoder.scanner.next_item(&mut first, b']', expected)? {
            self.done = true;
            return Ok(None);
        }
        let index = self.next;
        self.next += 1;
        match seed.deserialize(&mut *self.decoder) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(error.inside_element(index)),
        }
    }
}

/// The members of an object, past its opening brace.
pub(super) struct Members<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    /// Where the last name stands, for errors in its value.
    key_at: usize,
    first: bool,
    done: bool,
}

impl<'a, 'de> Members<'a, 'de> {
    pub(super) fn new(decoder: &'a mut Decoder<'de>) -> Self {
        Self { decoder, key_at: 0, first: true, done: false }
    }

    pub(super) fn finish(self) -> Result<(), ShapeError> {
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
        let scanner = &mut self.decoder.scanner;
        let expected = "a comma or the end of the object";
        if self.done || !scanner.next_item(&mut self.first, b'}', expected)? {
            self.done = true;
            return Ok(None);
        }
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
            Err(error) => Err(self.decoder.inside(self.key_at, error)),
        }
    }
}

/// The name of a member. Maps with numbers as keys parse it.
struct Key<'de>(Cow<'de, str>);

macro_rules! parsed_keys {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
            let Cow::Borrowed(text) = self.0 else {
                return Err(ShapeError::new("expected a number as the member's name"));
            };
            let mut decoder = Decoder { scanner: Scanner::new(text), depth: 0 };
            let value = de::Deserializer::$method(&mut decoder, visitor)?;
            decoder.scanner.expect_end()?;
            Ok(value)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Key<'de> {
    type Error = ShapeError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        Decoder::visit_string(self.0, visitor)
    }

    parsed_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_bool
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
        char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
