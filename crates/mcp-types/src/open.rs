//! Objects that keep their unknown members.
//!
//! Every object of the protocol is extensible: newer servers send members that this version does not define, and a
//! host must be able to pass them on. `#[serde(flatten)]` would buffer each object twice; the [`open!`] macro
//! generates a loop that does not.

use std::{borrow::Cow, fmt};

use mcp_jsonrpc::{ObjectWriter, RawJson};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap,
};

/// The unknown members of an object, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra(Vec<(String, RawJson)>);

impl Extra {
    /// The member `name`, if present.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Iterates over all members.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Adds a member.
    pub fn push(&mut self, name: impl Into<String>, value: RawJson) {
        self.0.push((name.into(), value));
    }

    /// Whether the object had only known members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An object parsed member by member, with [`Slots`](Self::Slots) for the members read so far.
pub(crate) trait Open: Sized {
    type Slots: Default;
    /// The required members, in order.
    type Required;
    /// An object with only the required members.
    fn of(required: Self::Required) -> Self;
    fn member<'de, A: MapAccess<'de>>(
        slots: &mut Self::Slots,
        key: Cow<'de, str>,
        map: &mut A,
    ) -> Result<(), A::Error>;
    fn finish<E: de::Error>(slots: Self::Slots) -> Result<Self, E>;
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// A member's name, borrowed if possible.
pub(crate) struct Key<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }
            #[inline]
            fn visit_borrowed_str<E: de::Error>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }
            fn visit_str<E: de::Error>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.into())))
            }
            fn visit_string<E: de::Error>(self, key: String) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key)))
            }
        }
        deserializer.deserialize_identifier(KeyVisitor)
    }
}

/// Parses a whole object.
pub(crate) struct OpenVisitor<T>(pub(crate) std::marker::PhantomData<T>);

impl<'de, T: Open> Visitor<'de> for OpenVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut slots = T::Slots::default();
        while let Some(Key(key)) = map.next_key()? {
            T::member(&mut slots, key, &mut map)?;
        }
        T::finish(slots)
    }
}

/// `{"type":"object"}`.
pub(crate) fn any_object() -> RawJson {
    let mut schema = ObjectWriter::new();
    schema.string("type", "object").raw("properties", &RawJson::empty_object());
    schema.finish()
}

/// Defines objects with their wire names. Kinds of members:
/// `required` must be present; `optional` is an `Option`, for which null means absent; `lenient` uses its default if
/// absent or null; `nullable` is an `Option<RawJson>` that distinguishes null from absent; `schema` is a `RawJson`
/// that defaults to the schema of any object.
macro_rules! open {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $kind:ident $field:ident: $type:ty = $key:literal,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        $vis struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// Unknown members.
            pub extra: $crate::open::Extra,
        }

        impl $crate::open::Open for $name {
            type Slots = ($(Option<$type>,)* $crate::open::Extra,);

            open!(@of [] [] $($kind $field: $type,)*);

            #[inline]
            fn member<'de, A: serde::de::MapAccess<'de>>(
                slots: &mut Self::Slots,
                key: std::borrow::Cow<'de, str>,
                map: &mut A,
            ) -> Result<(), A::Error> {
                let ($($field,)* extra,) = slots;
                match &*key {
                    $($key => *$field = open!(@read $kind map),)*
                    _ => extra.push(key, map.next_value()?),
                }
                Ok(())
            }

            fn finish<E: serde::de::Error>(slots: Self::Slots) -> Result<Self, E> {
                let ($($field,)* extra,) = slots;
                Ok(Self { $($field: open!(@take $kind $field $key),)* extra })
            }

            fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $(open!(@write $kind map $key self.$field);)*
                for (key, value) in self.extra.iter() {
                    map.serialize_entry(key, value)?;
                }
                Ok(())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let visitor = $crate::open::OpenVisitor(std::marker::PhantomData);
                deserializer.deserialize_map(visitor)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $crate::open::Open::write(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    )*};
    (@of [$($name:ident: $of:ty,)*] $set:tt required $field:ident: $type:ty, $($rest:tt)*) => {
        open!(@of [$($name: $of,)* $field: $type,] $set $($rest)*);
    };
    (@of $required:tt [$($set:tt)*] schema $field:ident: $type:ty, $($rest:tt)*) => {
        open!(@of $required [$($set)* $field: $crate::open::any_object(),] $($rest)*);
    };
    (@of $required:tt [$($set:tt)*] $kind:ident $field:ident: $type:ty, $($rest:tt)*) => {
        open!(@of $required [$($set)* $field: Default::default(),] $($rest)*);
    };
    (@of [$($name:ident: $type:ty,)*] [$($set:tt)*]) => {
        type Required = ($($type,)*);

        fn of(($($name,)*): Self::Required) -> Self {
            Self { $($name,)* $($set)* extra: Default::default() }
        }
    };
    (@read required $map:ident) => { Some($map.next_value()?) };
    (@read optional $map:ident) => { Some($map.next_value()?) };
    (@read lenient $map:ident) => { $map.next_value()? };
    (@read schema $map:ident) => { $map.next_value()? };
    (@read nullable $map:ident) => { Some(Some($map.next_value()?)) };
    (@take required $field:ident $key:literal) => {
        match $field {
            Some(value) => value,
            None => return Err(E::custom(concat!("`", $key, "` is missing"))),
        }
    };
    (@take schema $field:ident $key:literal) => {
        $field.unwrap_or_else($crate::open::any_object)
    };
    (@take $kind:ident $field:ident $key:literal) => { $field.unwrap_or_default() };
    (@write optional $map:ident $key:literal $value:expr) => {
        if let Some(value) = &$value {
            $map.serialize_entry($key, value)?;
        }
    };
    (@write nullable $map:ident $key:literal $value:expr) => {
        open!(@write optional $map $key $value)
    };
    (@write $kind:ident $map:ident $key:literal $value:expr) => {
        $map.serialize_entry($key, &$value)?;
    };
}
pub(crate) use open;
