//! What is wrong or worth knowing about a file, and exactly where.

use std::{borrow::Cow, fmt, sync::Arc};

/// A line and a column, both counted from one; columns count characters, as editors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// A place in a document: the file, the position, and the JSON pointer of the value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Place {
    /// The path or label of the document.
    pub file: Arc<str>,
    /// Where the value (or its key) begins; absent when the file could not be read at all.
    pub position: Option<Position>,
    /// RFC 6901 pointer to the value, also for TOML and YAML; empty for the whole document.
    pub pointer: String,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A repository chooses the names of its files.
        out.write_str(&escaped(&self.file))?;
        match self.position {
            Some(Position { line, column }) => write!(out, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Something was read in a way its author may not have meant, or is worth knowing.
    Hint,
    /// The value was used, but the tool this file belongs to would refuse or ignore it.
    Warning,
    /// The entry (or, for a syntax error, the file) was not used.
    Error,
}

/// What kind of problem it is, for hosts that sort or filter; the text is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be read: permissions, a directory, a loop of links, too large.
    Unreadable,
    /// Not UTF-8, or not well-formed JSON, TOML or YAML.
    Syntax,
    /// Well-formed, but no dialect we know.
    UnknownDialect,
    /// Comments or trailing commas in a file whose own tool refuses them.
    RelaxedSyntax,
    /// A value of the wrong type or out of range.
    WrongType,
    /// A field the dialect does not have; kept.
    UnknownField,
    /// The same key twice in one object; the last one counts.
    DuplicateKey,
    /// A server name we will not carry.
    BadName,
    /// Neither or both of `command` and `url`, or a `type` that contradicts them.
    BadTransport,
    /// The server belongs to the tool itself and can't be run elsewhere.
    NotPortable,
    /// The spelling or place is another tool's, and was understood.
    Foreign,
    /// A committed file tried to approve its own servers, or a lower scope to write policy.
    Ignored,
    /// There was more to say than there is room for.
    Omitted,
    /// A cloud provider failed, or its answer is stale.
    Provider,
}

/// One finding. Printed as `file:line:column: error: found …, expected …`.
///
/// Values of environment variables, headers and secrets never appear in one: messages name keys
/// and types, not contents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Where.
    pub place: Place,
    /// How bad.
    pub severity: Severity,
    /// Which kind.
    pub problem: Problem,
    /// The server concerned, as its key is written, when it is about one.
    pub server: Option<String>,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
    /// What to do about it, when we have a guess.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An empty text where `expected` should be.
    pub(crate) fn nothing_there(expected: &'static str) -> Self {
        Self::of_file(expected, Severity::Error, Problem::Syntax, "nothing").expected(expected)
    }

    /// Something about a document as a whole.
    pub(crate) fn of_file(
        file: &str,
        severity: Severity,
        problem: Problem,
        found: impl Into<String>,
    ) -> Self {
        Self {
            place: Place { file: file.into(), position: None, pointer: String::new() },
            severity,
            problem,
            server: None,
            found: found.into(),
            expected: String::new(),
            hint: None,
        }
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into();
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Without a source: it says all there is.
impl std::error::Error for Diagnostic {}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "note",
        };
        write!(out, "{}: {severity}: ", self.place)?;
        if let Some(server) = &self.server {
            write!(out, "server `{}`: ", printable(server))?;
        }
        write!(out, "found {}", self.found)?;
        if !self.expected.is_empty() {
            write!(out, ", expected {}", self.expected)?;
        }
        match &self.hint {
            Some(hint) => write!(out, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Text from a file, made safe to show: control and invisible characters escaped, cut at 60.
pub(crate) fn printable(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => escaped(&text[..end]).into_owned() + "…",
        None => escaped(text).into_owned(),
    }
}

/// The same at full length, for what is of no use in part, such as paths.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let unsafe_to_show = |c: char| c.is_control() || crate::name::is_invisible(c);
    if !text.contains(unsafe_to_show) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        if unsafe_to_show(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}
