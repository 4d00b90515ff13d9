//! Collects diagnostics while reading and converts offsets to lines and columns.

use std::{collections::HashMap, sync::Arc};

use super::path::Path;
use crate::{
    diagnostic::{Diagnostic, Place, Problem, Severity, printable},
    format::{Cursor, Member, Node, SyntaxError},
};

/// A value of the wrong type, the most common problem.
pub(super) fn wrong(node: &Node<'_>, path: &Path<'_>, expected: &str) -> Diagnostic {
    let found = format!("{} for `{}`", node.kind(), path.shown());
    Diagnostic::error(Problem::WrongType, found).expected(expected)
}

/// Limits the memory for diagnostics of a file full of mistakes. Errors are counted separately, so warnings
/// cannot crowd them out.
const MAX_FINDINGS: usize = 1000;

/// Collects diagnostics with positions.
pub(crate) struct Findings<'t> {
    cursor: Cursor<'t>,
    file: Arc<str>,
    /// The key of the current entry; one buffer is reused for all entries.
    server: String,
    in_server: bool,
    list: Vec<Diagnostic>,
    errors: usize,
    /// The number of diagnostics over the limit.
    dropped: usize,
    /// The length of the text.
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

    /// Sets the entry that the following diagnostics are about, or none.
    pub(crate) fn about(&mut self, key: Option<&str>) {
        self.in_server = key.is_some();
        self.server.clear();
        self.server.push_str(key.unwrap_or_default());
    }

    /// The place where an entry begins; all diagnostics about the entry come after it.
    pub(crate) fn place_of_entry(&mut self, offset: usize, pointer: String) -> Place {
        let place = self.place(offset, pointer);
        self.cursor.mark();
        place
    }

    pub(crate) fn place(&mut self, offset: usize, pointer: String) -> Place {
        Place { file: Arc::clone(&self.file), position: Some(self.cursor.at(offset)), pointer }
    }

    /// Whether a diagnostic of this severity would only be counted, so that its message need not be built.
    pub(crate) fn is_full(&self, severity: Severity) -> bool {
        let others = self.list.len() - self.errors;
        MAX_FINDINGS <= if severity == Severity::Error { self.errors } else { others }
    }

    /// Adds a diagnostic about the value at `path`, which begins at `offset`.
    pub(crate) fn add(&mut self, offset: usize, path: &Path<'_>, mut finding: Diagnostic) {
        if self.is_full(finding.severity) {
            self.dropped += 1;
            return;
        }
        self.errors += usize::from(finding.severity == Severity::Error);
        finding.place = self.place(offset, path.pointer());
        finding.server = self.in_server.then(|| self.server.clone());
        self.list.push(finding);
    }

    pub(crate) fn wrong(&mut self, node: &Node<'_>, path: &Path<'_>, expected: &str) {
        self.add(node.span.start, path, wrong(node, path, expected));
    }

    pub(crate) fn syntax(&mut self, error: SyntaxError) {
        let SyntaxError { offset, found, expected } = error;
        let finding = Diagnostic::error(Problem::Syntax, found).expected(expected);
        self.add(offset, &Path::Root, finding);
    }

    /// All diagnostics; the last one has the number of those omitted.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        if self.dropped > 0 {
            let place = self.place(self.end, String::new());
            let found = format!("{} more findings", self.dropped);
            let more = Diagnostic::note(Problem::Omitted, found).hint("not listed");
            self.list.push(Diagnostic { place, ..more });
        }
        self.list
    }
}

/// Marks an entry as unusable; the reason has been added to the diagnostics.
pub(crate) struct Dropped;

/// The members that a later member with the same key replaces, in order. Each is reported.
pub(super) fn replaced_members(
    findings: &mut Findings<'_>,
    members: &[Member<'_>],
    path: &Path<'_>,
) -> Vec<usize> {
    let replaced: Vec<usize> = if members.len() <= 16 {
        // Nearly all objects are small and are compared without allocating.
        let repeated = |i: &usize| members[i + 1..].iter().any(|m| m.key == members[*i].key);
        (0..members.len()).filter(repeated).collect()
    } else {
        let last: HashMap<&str, usize> =
            members.iter().enumerate().map(|(i, m)| (&*m.key, i)).collect();
        (0..members.len()).filter(|i| last[&*members[*i].key] != *i).collect()
    };
    for index in &replaced {
        let member = &members[*index];
        let found = format!("`{}` a first time", printable(&member.key));
        let finding = Diagnostic::warning(Problem::DuplicateKey, found);
        let finding = finding.expected("each key once").hint("the last one counts");
        findings.add(member.key_span.start, &path.key(&member.key), finding);
    }
    replaced
}
