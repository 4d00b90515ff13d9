//! How the reader says what it found, before it is known where that is in lines and columns.

use std::{fmt::Write as _, sync::Arc};

use crate::{
    diagnostic::{Diagnostic, Place, Problem, Severity, printable},
    document::escape_pointer,
    text::{Cursor, Node},
};

/// The way from the root to a value, on the stack until a message wants it as a JSON pointer.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(crate) fn key(&'p self, key: &'p str) -> Self {
        Path::Key(self, key)
    }

    pub(crate) fn pointer(&self) -> String {
        let mut pointer = String::with_capacity(self.length());
        self.write(&mut pointer);
        pointer
    }

    /// About how long the pointer is going to be.
    fn length(&self) -> usize {
        match self {
            Self::Root => 0,
            Self::Key(parent, key) => parent.length() + 1 + key.len(),
            Self::Index(parent, _) => parent.length() + 5,
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(parent, key) => {
                parent.write(out);
                out.push('/');
                if key.contains(['~', '/']) {
                    out.push_str(&escape_pointer(key));
                } else {
                    out.push_str(key);
                }
            }
            Self::Index(parent, index) => {
                parent.write(out);
                // Writing to a string does not fail.
                let _ = write!(out, "/{index}");
            }
        }
    }

    /// The last key, safe to print.
    pub(crate) fn shown(&self) -> String {
        printable(self.name())
    }

    /// The last key as it is written.
    pub(crate) fn name(&self) -> &'p str {
        match self {
            Self::Root => "the file",
            Self::Key(_, key) => key,
            Self::Index(parent, _) => parent.name(),
        }
    }
}

/// One thing to say about a value.
pub(crate) struct Finding {
    severity: Severity,
    problem: Problem,
    offset: usize,
    pointer: String,
    found: String,
    expected: String,
    hint: Option<String>,
}

impl Finding {
    pub(crate) fn new(severity: Severity, problem: Problem, offset: usize) -> Self {
        let (pointer, found, expected) = Default::default();
        Self { severity, problem, offset, pointer, found, expected, hint: None }
    }

    pub(crate) fn error(problem: Problem, offset: usize) -> Self {
        Self::new(Severity::Error, problem, offset)
    }

    pub(crate) fn warning(problem: Problem, offset: usize) -> Self {
        Self::new(Severity::Warning, problem, offset)
    }

    pub(crate) fn note(problem: Problem, offset: usize) -> Self {
        Self::new(Severity::Hint, problem, offset)
    }

    /// A value of the wrong type: the commonest of all.
    pub(crate) fn wrong(node: &Node<'_>, path: &Path<'_>, expected: &str) -> Self {
        Self::error(Problem::WrongType, node.span.start)
            .at(path)
            .found(format!("{} for `{}`", node.kind(), path.shown()))
            .expected(expected)
    }

    pub(crate) fn at(mut self, path: &Path<'_>) -> Self {
        self.pointer = path.pointer();
        self
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = found.into();
        self
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

/// A file made of nothing but mistakes should not take more memory than some screens of them. Errors
/// are counted apart: no number of remarks may hide one.
const MAX_FINDINGS: usize = 1000;

/// Turns findings into diagnostics with positions.
pub(crate) struct Findings<'t> {
    cursor: Cursor<'t>,
    file: Arc<str>,
    /// The key of the entry being read; one buffer for all of them.
    server: String,
    in_server: bool,
    list: Vec<Diagnostic>,
    errors: usize,
    /// How many there was no room for.
    dropped: usize,
    /// Where the text ends.
    end: usize,
}

impl<'t> Findings<'t> {
    pub(crate) fn new(text: &'t str, file: &Arc<str>) -> Self {
        let cursor = Cursor::new(text);
        Self {
            cursor,
            file: Arc::clone(file),
            server: String::new(),
            in_server: false,
            list: Vec::new(),
            errors: 0,
            dropped: 0,
            end: text.len(),
        }
    }

    /// From here on, findings are about the entry called `key`, or about none.
    pub(crate) fn about(&mut self, key: Option<&str>) {
        self.in_server = key.is_some();
        self.server.clear();
        self.server.push_str(key.unwrap_or_default());
    }

    /// The place an entry begins at; everything said about the entry comes after it.
    pub(crate) fn place_of_entry(&mut self, offset: usize, pointer: String) -> Place {
        let place = self.place(offset, pointer);
        self.cursor.mark();
        place
    }

    pub(crate) fn place(&mut self, offset: usize, pointer: String) -> Place {
        Place { file: Arc::clone(&self.file), position: Some(self.cursor.at(offset)), pointer }
    }

    /// Whether a finding of this severity would only be counted, so that its words need no thought.
    pub(crate) fn is_full(&self, severity: Severity) -> bool {
        let others = self.list.len() - self.errors;
        MAX_FINDINGS <= if severity == Severity::Error { self.errors } else { others }
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        if self.is_full(finding.severity) {
            self.dropped += 1;
            return;
        }
        self.errors += usize::from(finding.severity == Severity::Error);
        let Finding { severity, problem, offset, pointer, found, expected, hint } = finding;
        let place = self.place(offset, pointer);
        let server = self.in_server.then(|| self.server.clone());
        self.list.push(Diagnostic { place, severity, problem, server, found, expected, hint });
    }

    /// Everything found; the last one says how many more there were.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        if self.dropped > 0 {
            let place = self.place(self.end, String::new());
            let found = format!("{} more findings", self.dropped);
            let more = Diagnostic::of_file(&self.file, Severity::Hint, Problem::Omitted, found);
            self.list.push(Diagnostic { place, ..more.hint("not listed") });
        }
        self.list
    }
}
