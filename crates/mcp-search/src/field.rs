//! The fields of a card, and how much a word counts in each.

use std::fmt;

/// A part of a [`Card`](crate::Card) that words are found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The tool's name.
    Name,
    /// Its title for people.
    Title,
    /// Its description.
    Description,
    /// The names of its parameters.
    ParamName,
    /// The descriptions of its parameters.
    ParamText,
    /// The name of its server.
    Server,
    /// Its tags.
    Tag,
}

pub(crate) const FIELDS: [Field; 7] = [
    Field::Name,
    Field::Title,
    Field::Description,
    Field::ParamName,
    Field::ParamText,
    Field::Server,
    Field::Tag,
];

/// How a field counts: its weight, how much its length matters, and the length that is usual.
pub(crate) struct Shape {
    pub weight: f32,
    pub length_matters: f32,
    pub usual_length: f32,
}

impl Field {
    pub(crate) fn shape(self) -> Shape {
        let (weight, length_matters, usual_length) = match self {
            Self::Name => (4.0, 0.55, 3.0),
            Self::Title => (2.0, 0.45, 4.0),
            Self::Description => (1.0, 0.6, 20.0),
            Self::ParamName => (1.0, 0.75, 6.0),
            Self::ParamText => (0.4, 0.25, 30.0),
            Self::Server => (2.0, 0.3, 2.0),
            Self::Tag => (2.0, 0.3, 3.0),
        };
        Shape { weight, length_matters, usual_length }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of fields.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Fields(u8);

impl Fields {
    pub(crate) fn add(&mut self, field: Field) {
        self.0 |= field.bit();
    }

    /// Whether `field` is one of them.
    pub fn contains(self, field: Field) -> bool {
        self.0 & field.bit() != 0
    }

    /// The fields, most telling first.
    pub fn iter(self) -> impl Iterator<Item = Field> {
        FIELDS.into_iter().filter(move |&field| self.contains(field))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "name",
            Self::Title => "title",
            Self::Description => "description",
            Self::ParamName => "parameter",
            Self::ParamText => "parameter description",
            Self::Server => "server",
            Self::Tag => "tag",
        })
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, field) in self.iter().enumerate() {
            write!(f, "{}{field}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
