//! The error for a JSON value of an unexpected shape.

use std::fmt::{self, Write as _};

use serde::de::{self, Expected, Unexpected};

/// A JSON value is malformed, or is not what its reader expected.
///
/// It names the place, so that the author of a server can find it: `tools[3].name: expected a
/// string, found null`. It never quotes the value itself, which may be a secret.
///
/// ```
/// use mcp_jsonrpc::RawJson;
///
/// let raw = RawJson::parse(r#"{"port": "eighty"}"#)?;
/// let error = raw.decode::<std::collections::HashMap<String, u16>>().unwrap_err();
/// assert_eq!(error.to_string(), "port: expected a whole number, found a string");
/// # Ok::<(), mcp_jsonrpc::ShapeError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ShapeError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    path: String,
    problem: String,
}

impl ShapeError {
    pub(crate) fn new(problem: impl fmt::Display) -> Self {
        Self(Box::new(Inner { path: String::new(), problem: problem.to_string() }))
    }

    pub(crate) fn expected(expected: &str, found: &str, at: usize) -> Self {
        let place =
            if found == "the end of the text" { format!(" at byte {at}") } else { String::new() };
        Self::new(format_args!("expected {expected}, found {found}{place}"))
    }

    pub(crate) fn syntax(problem: &str, at: usize) -> Self {
        Self::new(format_args!("not JSON: {problem} at byte {at}"))
    }

    /// Where in the value the problem is, such as `tools[3].name`. Empty for the value itself.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    pub(crate) fn inside_member(self, name: &str) -> Self {
        self.inside(Name(name))
    }

    pub(crate) fn inside_element(self, index: usize) -> Self {
        self.inside(format_args!("[{index}]"))
    }

    fn inside(mut self, place: impl fmt::Display) -> Self {
        let path = &mut self.0.path;
        let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        *path = format!("{place}{separator}{path}");
        self
    }
}

/// A member name from a foreign message, kept short and printable.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for c in characters.by_ref().take(64) {
            f.write_char(if mcp_safe::text::is_hidden(c) { '\u{fffd}' } else { c })?;
        }
        if characters.next().is_some() { f.write_char('…') } else { Ok(()) }
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "{}: ", self.0.path)?;
        }
        f.write_str(&self.0.problem)
    }
}

impl fmt::Debug for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShapeError({self})")
    }
}

impl std::error::Error for ShapeError {}

impl de::Error for ShapeError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new(problem)
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format_args!("expected {expected}, found {}", kind(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format_args!("expected {expected}, found another {}", kind(unexpected)))
    }

    fn unknown_field(field: &str, _expected: &'static [&'static str]) -> Self {
        Self::new("unknown member").inside_member(field)
    }

    fn unknown_variant(_variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format_args!("expected one of {}", expected.join(", ")))
    }
}

/// The kind of a value, without the value.
fn kind(unexpected: Unexpected<'_>) -> &'static str {
    use Unexpected as U;
    match unexpected {
        U::Bool(_) => "boolean",
        U::Unsigned(_) | U::Signed(_) | U::Float(_) => "number",
        U::Char(_) | U::Str(_) => "string",
        U::Unit | U::Option => "null",
        U::Seq => "array",
        U::Map => "object",
        _ => "value",
    }
}
