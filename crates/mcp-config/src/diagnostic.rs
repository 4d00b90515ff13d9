//! Problems and hints found in configuration files, with their exact position.

use std::{fmt, sync::Arc};

use mcp_safe::text::{cut, escape};

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
    /// Where the value (or its key) begins; `None` if the file could not be read.
    pub position: Option<Position>,
    /// [RFC 6901](https://www.rfc-editor.org/rfc/rfc6901) pointer to the value, also for TOML and YAML; empty for the whole document.
    pub pointer: String,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The file name comes from a repository and is not trusted.
        out.write_str(&escape(&self.file))?;
        match self.position {
            Some(Position { line, column }) => write!(out, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Information: the value may not have been read as its author intended.
    Hint,
    /// The value was used, but the tool this file belongs to would refuse or ignore it.
    Warning,
    /// The entry (or, for a syntax error, the file) was not used.
    Error,
}

/// The kind of problem, for hosts that sort or filter. The message text is for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be read: permissions, a directory, a symlink loop, too large.
    Unreadable,
    /// Not UTF-8, or not well-formed JSON, TOML or YAML.
    Syntax,
    /// Well-formed, but not a known dialect.
    UnknownDialect,
    /// Comments or trailing commas in a file of a tool that rejects them.
    RelaxedSyntax,
    /// A value of the wrong type or out of range.
    WrongType,
    /// A field that the dialect does not have; preserved.
    UnknownField,
    /// The same key twice in one object; the last one is used.
    DuplicateKey,
    /// An invalid server name.
    BadName,
    /// Neither or both of `command` and `url`, or a `type` that contradicts them.
    BadTransport,
    /// The server runs only inside the tool that the file belongs to.
    NotPortable,
    /// The syntax or location of another tool, which was accepted.
    Foreign,
    /// A committed file tried to approve its own servers, or a lower scope to set policy.
    Ignored,
    /// More diagnostics than are kept.
    Omitted,
    /// A cloud provider failed, or its response is stale.
    Provider,
}

/// One problem or hint. Printed as `file:line:column: error: found …, expected …`.
///
/// Messages name keys and types, never values of environment variables, headers and secrets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The location in the file.
    pub place: Place,
    /// The severity.
    pub severity: Severity,
    /// The kind of problem.
    pub problem: Problem,
    /// The key of the server concerned, if the problem is in an entry.
    pub server: Option<String>,
    /// The value found.
    pub found: String,
    /// The value expected.
    pub expected: String,
    /// A suggested fix, if there is one.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A diagnostic about a whole document.
    pub(crate) fn of_file(
        file: &str,
        severity: Severity,
        problem: Problem,
        found: impl Into<String>,
    ) -> Self {
        let place = Place { file: file.into(), position: None, pointer: String::new() };
        Self { place, ..Self::new(severity, problem, found) }
    }

    /// A diagnostic whose place is filled in later.
    pub(crate) fn new(severity: Severity, problem: Problem, found: impl Into<String>) -> Self {
        let (file, pointer, expected) = Default::default();
        let place = Place { file, position: None, pointer };
        Self { place, severity, problem, server: None, found: found.into(), expected, hint: None }
    }

    /// The message without the place: the values found and expected, and the hint.
    pub fn message(&self) -> String {
        let mut text = format!("found {}", self.found);
        if !self.expected.is_empty() {
            text.extend([", expected ", &self.expected]);
        }
        if let Some(hint) = &self.hint {
            text.extend([" (", hint, ")"]);
        }
        text
    }

    pub(crate) fn error(problem: Problem, found: impl Into<String>) -> Self {
        Self::new(Severity::Error, problem, found)
    }

    pub(crate) fn warning(problem: Problem, found: impl Into<String>) -> Self {
        Self::new(Severity::Warning, problem, found)
    }

    pub(crate) fn note(problem: Problem, found: impl Into<String>) -> Self {
        Self::new(Severity::Hint, problem, found)
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

/// Has no `source`: the message is complete.
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
        out.write_str(&self.message())
    }
}

/// Text from a file, safe to print: hidden characters are escaped, and it is cut after 60 characters.
pub(crate) fn printable(text: &str) -> String {
    escape(&cut(text, 61, "…")).into_owned()
}
