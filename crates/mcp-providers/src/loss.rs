//! The losses of a projection: parts of a definition that an API does not support.

use std::fmt;

/// One part of a tool's definition that was changed or removed for an API.
///
/// The server still validates arguments against its own definition: a loss means that the model knows less
/// than the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The location, as a JSON pointer into the input schema. Empty for the whole schema and for the tool.
    pub at: String,
    /// The lost part.
    pub lost: Lost,
}

/// The kinds of [`Loss`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The API does not support this keyword.
    Keyword(String),
    /// The value of this keyword is not valid in JSON Schema.
    Malformed(String),
    /// This reference leaves the document or has no target.
    Reference(String),
    /// This reference leads back to itself; the inner occurrence accepts anything of its type.
    Recursion(String),
    /// The schema is larger than the projection allows; parts from here on accept anything.
    Budget,
    /// Alternatives at the top (`oneOf`, `anyOf`) were merged: the combinations of properties are lost.
    Alternatives(String),
    /// The API does not support a property of this name.
    Property(String),
    /// The server accepts further properties, the API does not.
    FurtherProperties,
    /// The server accepts a value of any type, the API only text, numbers and booleans.
    AnyValue,
    /// Strict mode was requested and is not possible.
    Strict(NotStrict),
    /// The input schema is not an object schema; a schema without properties replaces it.
    NotAnObject,
    /// The API does not support this name; the definition has another one.
    Name(String),
    /// The description is longer than the API allows and was truncated. The number is its length in characters.
    Description(usize),
    /// The API allows at most this many tools in one request.
    TooMany(usize),
}

/// Why a schema cannot be used in strict mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotStrict {
    /// An object takes properties of any name.
    OpenObject,
    /// A value has no type.
    Untyped,
    /// A keyword is not supported in strict mode.
    Unsupported,
    /// There are more properties, levels, enum values or characters than strict mode allows.
    TooLarge,
}

impl Lost {
    /// Its name in JSON and logs, such as `further_properties`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Lost::Keyword(_) => "keyword",
            Lost::Malformed(_) => "malformed",
            Lost::Reference(_) => "reference",
            Lost::Recursion(_) => "recursion",
            Lost::Budget => "budget",
            Lost::Alternatives(_) => "alternatives",
            Lost::Property(_) => "property",
            Lost::FurtherProperties => "further_properties",
            Lost::AnyValue => "any_value",
            Lost::Strict(_) => "strict",
            Lost::NotAnObject => "not_an_object",
            Lost::Name(_) => "name",
            Lost::Description(_) => "description",
            Lost::TooMany(_) => "too_many",
        }
    }
}

impl Loss {
    pub(crate) fn of_tool(lost: Lost) -> Self {
        Self { at: String::new(), lost }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.at.is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        self.lost.fmt(f)
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Keyword(word) => write!(f, "the keyword `{word}` is not supported"),
            Lost::Malformed(word) => write!(f, "the value of `{word}` is not valid JSON Schema"),
            Lost::Reference(to) => write!(f, "the reference `{to}` cannot be followed"),
            Lost::Recursion(to) => write!(f, "the reference `{to}` is recursive"),
            Lost::Budget => f.write_str("the schema is too large"),
            Lost::Alternatives(word) => write!(f, "the alternatives of `{word}` were merged"),
            Lost::Property(name) => write!(f, "the property name `{name}` is not supported"),
            Lost::FurtherProperties => f.write_str("further properties are not supported"),
            Lost::AnyValue => f.write_str("only text, numbers and booleans are supported"),
            Lost::Strict(why) => write!(f, "strict mode is not possible: {why}"),
            Lost::NotAnObject => f.write_str("the input schema is not an object schema"),
            Lost::Name(name) => write!(f, "the name `{name}` is not supported"),
            Lost::Description(chars) => write!(f, "the description of {chars} characters was cut"),
            Lost::TooMany(most) => write!(f, "a request takes at most {most} tools"),
        }
    }
}

impl fmt::Display for NotStrict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotStrict::OpenObject => "an object takes properties of any name",
            NotStrict::Untyped => "a value has no type",
            NotStrict::Unsupported => "a keyword is not supported",
            NotStrict::TooLarge => "the schema is too large",
        })
    }
}
