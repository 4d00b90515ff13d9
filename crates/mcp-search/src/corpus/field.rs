//! The fields of a card and their weights.

use std::fmt;

/// A searchable part of a [`Card`](crate::Card).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The tool's name.
    Name,
    /// Its display title.
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

/// The label and weights of a field: its weight, the influence of its length, and its typical
/// length.
pub(crate) struct Shape {
    name: &'static str,
    pub weight: f32,
    pub length_matters: f32,
    pub usual_length: f32,
}

impl Field {
    pub(crate) fn shape(self) -> Shape {
        let (name, weight, length_matters, usual_length) = match self {
            Self::Name => ("name", 4.0, 0.55, 3.0),
            Self::Title => ("title", 2.0, 0.45, 4.0),
            Self::Description => ("description", 1.0, 0.6, 20.0),
            Self::ParamName => ("parameter", 1.0, 0.75, 6.0),
            Self::ParamText => ("parameter description", 0.4, 0.25, 30.0),
            Self::Server => ("server", 2.0, 0.3, 2.0),
            Self::Tag => ("tag", 2.0, 0.3, 3.0),
        };
        Shape { name, weight, length_matters, usual_length }
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

    /// Whether `field` is in the set.
    pub fn contains(self, field: Field) -> bool {
        self.0 & field.bit() != 0
    }

    /// The fields, most significant first.
    pub fn iter(self) -> impl Iterator<Item = Field> {
        FIELDS.into_iter().filter(move |&field| self.contains(field))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shape().name)
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
