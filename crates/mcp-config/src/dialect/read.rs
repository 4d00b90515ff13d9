//! Reads bytes into a document: finds the sections, reads each entry and skips only the invalid ones.

use std::sync::Arc;

use super::{
    catalogue::Dialect,
    detect,
    document::{Document, Entry, ReadOptions},
    draft::Draft,
    finding::{Findings, replaced_members},
    path::{Path, follow},
    shape::{HOST_KEYS, Section},
};
use crate::{
    diagnostic::{Diagnostic, Problem, Severity, printable},
    format::{self, Cursor, Member, Node, Relaxed},
    model::{Scope, ServerConfig, ServerName},
};

/// Reads one file's bytes. Always returns a document; problems are in its diagnostics.
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

/// Reads one server from the JSON of its entry in our own format, without the name.
///
/// # Errors
/// The diagnostics: errors first, then warnings, which may name the cause, such as a misspelled key.
/// Positions refer to `json`.
///
/// ```
/// use mcp_config::dialect::read_server;
///
/// let server = read_server("docs", r#"{"type":"http","url":"https://example.com/mcp"}"#).unwrap();
/// assert_eq!(server.name.as_str(), "docs");
/// let wrong = read_server("docs", r#"{"foo":1}"#).unwrap_err();
/// assert_eq!(wrong[0].message(), "found neither a command nor a URL, expected `command` or `url`");
/// ```
pub fn read_server(name: &str, json: &str) -> Result<ServerConfig, Vec<Diagnostic>> {
    let mut document = Document::empty("the JSON");
    let mut findings = Findings::new(json, &document.file);
    match format::parse_json(json) {
        Ok((node, _)) if node.members().is_none() => {
            let finding = Diagnostic::error(Problem::WrongType, node.kind()).expected("an object");
            findings.add(node.span.start, &Path::Root, finding);
        }
        Ok((node, _)) if holds_servers(&node) => {
            let finding = Diagnostic::error(Problem::BadTransport, "an object of servers");
            let finding = finding.expected("the entry of one server");
            let hint = "leave out the braces and the name around it";
            findings.add(node.span.start, &Path::Root, finding.hint(hint));
        }
        Ok((node, _)) => {
            let (document, findings) = (&mut document, &mut findings);
            let mut reader =
                Reader { document, findings, project: None, dialect: Dialect::McpJson };
            reader.entry(name, node.span.start, &Path::Root, &node, None);
        }
        Err(error) => findings.syntax(error),
    }
    if let Some(entry) = document.get(name) {
        return Ok(entry.config.clone());
    }
    let mut found = findings.finish();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found.retain(|finding| finding.severity > Severity::Hint);
    Err(found)
}

/// Whether an object contains entries, such as a whole file, instead of being one.
fn holds_servers(node: &Node<'_>) -> bool {
    let members = node.members().unwrap_or_default();
    !detect::is_server(node)
        && members
            .iter()
            .any(|member| member.key == "mcpServers" || detect::is_server(&member.value))
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

fn read_text(text: &str, options: &ReadOptions<'_>, document: &mut Document) {
    // `touch` and some tools create empty files.
    if text.trim().is_empty() {
        document.dialect = options.dialect;
        return;
    }
    let mut findings = Findings::new(text, &document.file);
    let format = options.dialect.map_or_else(|| detect::format(options.file), Dialect::format);
    match format::parse(text, format) {
        Ok((root, relaxed)) => {
            let project = options.project_key();
            let project = project.as_deref();
            let detect = || detect::dialect(options.file, &root);
            if let Some(dialect) = options.dialect.or_else(detect) {
                let findings = &mut findings;
                Reader { document, findings, project, dialect }.root(&root, relaxed);
            } else {
                let finding = Diagnostic::error(Problem::UnknownDialect, detect::keys_seen(&root));
                findings.add(root.span.start, &Path::Root, finding.expected(detect::CONTAINERS));
            }
        }
        Err(error) => findings.syntax(error),
    }
    document.diagnostics = findings.finish();
}

/// The reader's state: the document being filled, and the options.
pub(super) struct Reader<'r, 't> {
    pub(super) document: &'r mut Document,
    pub(super) findings: &'r mut Findings<'t>,
    /// The current project, for files with settings per project.
    pub(super) project: Option<&'r str>,
    pub(super) dialect: Dialect,
}

impl Reader<'_, '_> {
    fn root(&mut self, root: &Node<'_>, relaxed: Relaxed) {
        self.document.dialect = Some(self.dialect);
        if root.members().is_none() {
            self.findings.wrong(root, &Path::Root, "an object");
            return;
        }
        self.note_relaxed(relaxed);
        for section in self.dialect.shape().sections {
            self.section(root, section);
        }
        self.findings.about(None);
        self.settings(root);
    }

    fn note_relaxed(&mut self, relaxed: Relaxed) {
        let shape = self.dialect.shape();
        let found = [(relaxed.comment, "a comment"), (relaxed.trailing_comma, "a trailing comma")];
        for (offset, found) in found {
            if let Some(offset) = offset.filter(|_| !shape.comments) {
                let finding = Diagnostic::warning(Problem::RelaxedSyntax, found);
                let hint = format!("{} rejects files with one", shape.title);
                let finding = finding.expected("strict JSON").hint(hint);
                self.findings.add(offset, &Path::Root, finding);
            }
        }
    }

    fn section(&mut self, root: &Node<'_>, section: &Section) {
        follow(root, section.path, self.project, &Path::Root, &mut |node, path| {
            self.findings.about(None);
            if let Some(members) = node.members() {
                self.members(members, path, section.scope);
            } else if let Some(items) = node.items() {
                self.items(items, path, section.scope);
            } else {
                self.findings.wrong(node, path, "an object of servers");
            }
        });
    }

    fn members(&mut self, members: &[Member<'_>], path: &Path<'_>, scope: Option<Scope>) {
        self.document.entries.reserve(members.len());
        let replaced = replaced_members(self.findings, members, path);
        for (index, member) in members.iter().enumerate() {
            if replaced.binary_search(&index).is_ok() {
                continue;
            }
            let path = path.key(&member.key);
            if self.dialect == Dialect::Flat && !detect::is_server(&member.value) {
                self.note_non_server(member, &path);
                continue;
            }
            self.entry(&member.key, member.key_span.start, &path, &member.value, scope);
        }
    }

    /// Reports a member of a flat file that is not a server.
    fn note_non_server(&mut self, member: &Member<'_>, path: &Path<'_>) {
        if member.key.starts_with('$') || HOST_KEYS.contains(&&*member.key) {
            return;
        }
        let found = format!("`{}`, which is not a server", printable(&member.key));
        let finding = Diagnostic::note(Problem::UnknownField, found);
        let finding = finding.expected("`command` or `url`").hint("ignored");
        self.findings.add(member.key_span.start, path, finding);
    }

    /// Reads servers from an array of objects with a `name`, as device management delivers them.
    fn items(&mut self, items: &[Node<'_>], path: &Path<'_>, scope: Option<Scope>) {
        for (index, item) in items.iter().enumerate() {
            let path = Path::Index(path, index);
            self.findings.about(None);
            if let Some(key) = item.get("name").and_then(Node::as_str) {
                self.entry(key, item.span.start, &path, item, scope);
            } else {
                let finding = Diagnostic::error(Problem::BadName, "a server without a `name`");
                self.findings.add(item.span.start, &path, finding.expected("a string"));
            }
        }
    }

    fn entry(
        &mut self,
        key: &str,
        offset: usize,
        path: &Path<'_>,
        node: &Node<'_>,
        scope: Option<Scope>,
    ) {
        let dialect = self.dialect;
        let place = self.findings.place_of_entry(offset, path.pointer());
        self.findings.about(Some(key));
        let name = match key.parse::<ServerName>() {
            Ok(name) => name,
            Err(error) => {
                let finding = Diagnostic::error(Problem::BadName, error.to_string());
                let expected = "1 to 64 characters without `/`, `\\` or control characters";
                self.findings.add(offset, path, finding.expected(expected));
                return;
            }
        };
        let Some(members) = node.members() else {
            self.findings.wrong(node, path, "an object");
            return;
        };
        let replaced = replaced_members(self.findings, members, path);
        let mut draft = Draft::new(name, dialect.shape());
        for (index, member) in members.iter().enumerate() {
            if replaced.binary_search(&index).is_ok() {
                continue;
            }
            if draft.member(self.findings, member, path).is_err() {
                return;
            }
        }
        if let Ok(config) = draft.finish(self.findings, offset, path) {
            self.document.entries.push(Arc::new(Entry { config, place, dialect, scope }));
        }
    }
}
