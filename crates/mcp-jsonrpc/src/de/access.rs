//! What serde walks through: elements, members, names and variants.

use std::borrow::Cow;

use serde::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use super::Decoder;
use crate::{scan::Scanner, shape::ShapeError};

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

    /// A visitor that stopped early, such as a tuple's, must have been at the end.
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
            Err(error) => Err(self.decoder.inside(self.key_at, error)),
        }
    }
}

/// `{"Variant": value}`, past its opening brace.
pub(super) struct Tagged<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    /// Where the variant's name stands, for errors in its value.
    name_at: usize,
}

impl<'a, 'de> Tagged<'a, 'de> {
    pub(super) fn new(decoder: &'a mut Decoder<'de>) -> Self {
        decoder.scanner.peek();
        let name_at = decoder.scanner.at();
        Self { decoder, name_at }
    }

    fn value<T>(
        self,
        read: impl FnOnce(&mut Decoder<'de>) -> Result<T, ShapeError>,
    ) -> Result<T, ShapeError> {
        read(self.decoder).map_err(|error| self.decoder.inside(self.name_at, error))
    }
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
        self.value(|decoder| de::Deserialize::deserialize(decoder))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, ShapeError> {
        self.value(|decoder| seed.deserialize(decoder))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        self.value(|decoder| decoder.sequence(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        self.value(|decoder| decoder.mapping(visitor))
    }
}

/// A member's name. Maps keyed by numbers get to parse it.
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
