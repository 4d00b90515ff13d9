//! From bytes to a document: finds the sections, reads each entry, loses only the bad ones.

use std::{collections::HashMap, sync::Arc};

use super::{
    Dialect, aside, detect,
    draft::Draft,
    finding::{Finding, Findings, Path},
    shape::{Section, Step},
};
use crate::{
    diagnostic::{Diagnostic, Problem, Severity, printable},
    document::{Document, Entry, ReadOptions},
    name::ServerName,
    text::{self, Cursor, Format, Member, Node, Relaxed, SyntaxError},
};

/// Reads one file's bytes. Always gives a document; what went wrong is inside.
///
/// ```
/// use mcp_config::{ReadOptions, read};
/// let text = br#"{ "mcpServers": { "time": { "command": "mcp-time" }, "bad": { "args": 3 } } }"#;
/// let document = read(text, &ReadOptions::new(".mcp.json"));
/// assert!(document.get("time").is_some());
/// assert_eq!(
///     document.diagnostics[0].to_string(),
///     ".mcp.json:1:71: error: server `bad`: found a number for `args`, expected an array of strings",
/// );
/// ```
pub fn read(bytes: &[u8], options: &ReadOptions<'_>) -> Document {
    let mut document = Document::empty(options.file);
    match decode(bytes, options) {
        Ok(text) => read_text(text, options, &mut document),
        Err(diagnostic) => document.diagnostics.push(*diagnostic),
    }
    document
}

/// The text of a file, without a byte-order mark.
fn decode<'b>(bytes: &'b [u8], options: &ReadOptions<'_>) -> Result<&'b str, Box<Diagnostic>> {
    let fault = |problem, found| Diagnostic::of_file(options.file, Severity::Error, problem, found);
    if bytes.len() > options.max_bytes {
        let fault = fault(Problem::Unreadable, format!("{} bytes", bytes.len()));
        return Err(Box::new(fault.expected(format!("at most {} bytes", options.max_bytes))));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let found = format!("the byte 0x{:02X}", bytes[error.valid_up_to()]);
        let mut fault = fault(Problem::Syntax, found).expected("UTF-8 text");
        fault.place.position =
            std::str::from_utf8(good).ok().map(|good| Cursor::new(good).at(good.len()));
        Box::new(fault)
    })
}

/// Turns text into a tree; JSON also tells where it was not strict.
pub(crate) fn parse(text: &str, format: Format) -> Result<(Node<'_>, Relaxed), SyntaxError> {
    match format {
        Format::Json => text::parse_json(text),
        #[cfg(feature = "toml")]
        Format::Toml => text::parse_toml(text).map(|node| (node, Relaxed::default())),
        #[cfg(feature = "yaml")]
        Format::Yaml => text::parse_yaml(text).map(|node| (node, Relaxed::default())),
        #[cfg(not(all(feature = "toml", feature = "yaml")))]
        _ => Err(SyntaxError {
            offset: 0,
            found: "a format this build leaves out".to_owned(),
            expected: "JSON (the features `toml` and `yaml` add the others)",
        }),
    }
}

fn read_text(text: &str, options: &ReadOptions<'_>, document: &mut Document) {
    // An empty file is what `touch` leaves, and what some tools start from.
    if text.trim().is_empty() {
        document.dialect = options.dialect;
        return;
    }
    let mut findings = Findings::new(text, &document.file);
    let format = options.dialect.map_or_else(|| detect::format(options.file), Dialect::format);
    match parse(text, format) {
        Ok((root, relaxed)) => {
            let project = options.project_key();
            let mut reader = Reader { document, findings: &mut findings, project };
            reader.root(&root, relaxed, options);
        }
        Err(SyntaxError { offset, found, expected }) => {
            findings.add(Finding::error(Problem::Syntax, offset).found(found).expected(expected));
        }
    }
    document.diagnostics = findings.finish();
}

/// The entry is not used; why has been added to the findings.
pub(crate) struct Dropped;

pub(crate) struct Reader<'r, 't> {
    pub(crate) document: &'r mut Document,
    pub(crate) findings: &'r mut Findings<'t>,
    pub(crate) project: Option<String>,
}

impl Reader<'_, '_> {
    fn root(&mut self, root: &Node<'_>, relaxed: Relaxed, options: &ReadOptions<'_>) {
        let detected = options.dialect.or_else(|| detect::dialect(options.file, root));
        let Some(dialect) = detected else {
            let finding = Finding::error(Problem::UnknownDialect, root.span.start);
            self.findings.add(finding.found(detect::keys_seen(root)).expected(detect::CONTAINERS));
            return;
        };
        self.document.dialect = Some(dialect);
        if root.members().is_none() {
            self.findings.add(Finding::wrong(root, &Path::Root, "an object"));
            return;
        }
        self.note_relaxed(dialect, relaxed);
        for section in dialect.shape().sections {
            self.section(root, section, dialect);
        }
        self.findings.about(None);
        aside::read(self, root, dialect);
    }

    fn note_relaxed(&mut self, dialect: Dialect, relaxed: Relaxed) {
        let shape = dialect.shape();
        let found = [(relaxed.comment, "a comment"), (relaxed.trailing_comma, "a trailing comma")];
        for (offset, found) in found {
            if let Some(offset) = offset.filter(|_| !shape.comments) {
                let finding = Finding::warning(Problem::RelaxedSyntax, offset).found(found);
                let hint = format!("{} itself refuses a file with one", shape.title);
                self.findings.add(finding.expected("strict JSON").hint(hint));
            }
        }
    }

    /// Follows `steps` from `root` and hands the node found, with its path, to `then`.
    pub(crate) fn follow<'n, 'a>(
        &mut self,
        node: &'n Node<'a>,
        steps: &[Step],
        path: &Path<'_>,
        then: &mut dyn FnMut(&mut Self, &'n Node<'a>, &Path<'_>),
    ) {
        let [step, rest @ ..] = steps else { return then(self, node, path) };
        let key = match step {
            Step::Key(key) => (*key).to_owned(),
            Step::Project => match &self.project {
                Some(project) => project.clone(),
                None => return,
            },
        };
        if let Some(next) = node.get(&key) {
            self.follow(next, rest, &path.key(&key), then);
        }
    }

    fn section(&mut self, root: &Node<'_>, section: &Section, dialect: Dialect) {
        self.follow(root, section.path, &Path::Root, &mut |reader, node, path| {
            reader.findings.about(None);
            if let Some(members) = node.members() {
                reader.members(members, path, section, dialect);
            } else if let Some(items) = node.items() {
                reader.items(items, path, section, dialect);
            } else {
                reader.findings.add(Finding::wrong(node, path, "an object of servers"));
            }
        });
    }

    fn members(
        &mut self,
        members: &[Member<'_>],
        path: &Path<'_>,
        section: &Section,
        dialect: Dialect,
    ) {
        self.document.entries.reserve(members.len());
        let stale = self.stale(members, path);
        for (index, member) in members.iter().enumerate() {
            let aside = dialect == Dialect::Flat
                && (member.key.starts_with('$') || member.value.members().is_none());
            if aside || stale.binary_search(&index).is_ok() {
                continue;
            }
            let path = path.key(&member.key);
            let entry = EntryAt { key: &member.key, offset: member.key_span.start, path: &path };
            self.entry(&entry, &member.value, section, dialect);
        }
    }

    /// Servers as an array of objects with a `name`, as device management delivers them.
    fn items(&mut self, items: &[Node<'_>], path: &Path<'_>, section: &Section, dialect: Dialect) {
        for (index, item) in items.iter().enumerate() {
            let path = Path::Index(path, index);
            self.findings.about(None);
            match item.get("name").and_then(Node::as_str) {
                Some(key) => {
                    let entry = EntryAt { key, offset: item.span.start, path: &path };
                    self.entry(&entry, item, section, dialect);
                }
                None => self.findings.add(
                    Finding::error(Problem::BadName, item.span.start)
                        .at(&path)
                        .found("a server without a `name`")
                        .expected("a string"),
                ),
            }
        }
    }

    fn entry(&mut self, at: &EntryAt<'_>, node: &Node<'_>, section: &Section, dialect: Dialect) {
        let place = self.findings.place_of_entry(at.offset, at.path.pointer());
        self.findings.about(Some(at.key));
        let name = match at.key.parse::<ServerName>() {
            Ok(name) => name,
            Err(error) => {
                let finding = Finding::error(Problem::BadName, at.offset).at(at.path);
                let expected = "1 to 64 characters without `/`, `\\` or control characters";
                self.findings.add(finding.found(error.to_string()).expected(expected));
                return;
            }
        };
        let Some(members) = node.members() else {
            self.findings.add(Finding::wrong(node, at.path, "an object"));
            return;
        };
        let stale = self.stale(members, at.path);
        let mut draft = Draft::new(name, dialect.shape());
        for (index, member) in members.iter().enumerate() {
            if stale.binary_search(&index).is_ok() {
                continue;
            }
            if draft.member(self.findings, member, at.path).is_err() {
                return;
            }
        }
        if let Ok(config) = draft.finish(self.findings, at.offset, at.path) {
            self.document.entries.push(Arc::new(Entry {
                config,
                place,
                dialect,
                scope: section.scope,
            }));
        }
    }

    /// The members that a later one of the same key replaces, in order; each is reported.
    fn stale(&mut self, members: &[Member<'_>], path: &Path<'_>) -> Vec<usize> {
        let stale: Vec<usize> = if members.len() <= 16 {
            // Small objects, nearly all of them, are compared without allocating.
            let repeated = |i: &usize| members[i + 1..].iter().any(|m| m.key == members[*i].key);
            (0..members.len()).filter(repeated).collect()
        } else {
            let last: HashMap<&str, usize> =
                members.iter().enumerate().map(|(i, m)| (&*m.key, i)).collect();
            (0..members.len()).filter(|i| last[&*members[*i].key] != *i).collect()
        };
        for index in &stale {
            let member = &members[*index];
            let finding = Finding::warning(Problem::DuplicateKey, member.key_span.start);
            let found = format!("`{}` a first time", printable(&member.key));
            self.findings.add(
                finding
                    .at(&path.key(&member.key))
                    .found(found)
                    .expected("each key once")
                    .hint("the last one counts"),
            );
        }
        stale
    }
}

struct EntryAt<'p> {
    key: &'p str,
    offset: usize,
    path: &'p Path<'p>,
}
