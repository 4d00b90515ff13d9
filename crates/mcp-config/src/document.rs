//! One file, read: its servers and everything else it says about servers.

use std::{path::Path, sync::Arc};

use crate::{
    custom::CustomEntry,
    diagnostic::{Diagnostic, Place},
    dialect::Dialect,
    model::ServerConfig,
    policy::PolicyPart,
    scope::Scope,
};

/// One server as one file has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The server.
    pub config: ServerConfig,
    /// Where it stands.
    pub place: Place,
    /// In which dialect.
    pub dialect: Dialect,
    /// Its scope, when the file itself says so (`projects` in `~/.claude.json` is local).
    pub scope: Option<Scope>,
}

/// Everything read from one file.
///
/// Reading never fails as a whole: what was not understood is in `diagnostics`, and the rest is
/// here.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Document {
    /// Its path or label.
    pub file: Arc<str>,
    /// What it was read as; `None` when it was not read.
    pub dialect: Option<Dialect>,
    /// Its servers, in the file's order.
    pub entries: Vec<Arc<Entry>>,
    /// Tools it makes of others, in the file's order.
    pub custom_tools: Vec<Arc<CustomEntry>>,
    /// What it allows and forbids.
    pub policy: PolicyPart,
    /// Values its servers ask the user for (`${input:id}`).
    pub inputs: Vec<Input>,
    /// Names it switches off, here or in other files.
    pub switched_off: Vec<NamedServer>,
    /// Names it approves, or all: another tool's approvals, which are not bound to content.
    pub approved: NamedApprovals,
    /// What was wrong or worth saying.
    pub diagnostics: Vec<Diagnostic>,
}

impl Document {
    /// A document with nothing in it.
    pub fn empty(file: &str) -> Self {
        Self {
            file: file.into(),
            dialect: None,
            entries: Vec::new(),
            custom_tools: Vec::new(),
            policy: PolicyPart::default(),
            inputs: Vec::new(),
            switched_off: Vec::new(),
            approved: NamedApprovals::default(),
            diagnostics: Vec::new(),
        }
    }

    /// A document made of servers the host holds as values: dynamic ones, or a provider's.
    pub fn from_servers(label: &str, servers: impl IntoIterator<Item = ServerConfig>) -> Self {
        let mut document = Self::empty(label);
        document.dialect = Some(Dialect::McpJson);
        document.entries = servers
            .into_iter()
            .map(|config| {
                let pointer = format!("/mcpServers/{}", escape_pointer(config.name.as_str()));
                let place = Place { file: Arc::clone(&document.file), position: None, pointer };
                Arc::new(Entry { config, place, dialect: Dialect::McpJson, scope: None })
            })
            .collect();
        document
    }

    /// The server of this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().map(|entry| &**entry).find(|entry| entry.config.name.as_str() == name)
    }
}

/// What reading needs to know besides the bytes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReadOptions<'a> {
    /// The path or label, for messages and for telling dialects apart.
    pub file: &'a str,
    /// The dialect, when it is known; otherwise it is detected.
    pub dialect: Option<Dialect>,
    /// The project at hand, for files that keep settings per project.
    pub project: Option<&'a Path>,
    /// The largest file read, in bytes. 16 MiB.
    pub max_bytes: usize,
}

impl<'a> ReadOptions<'a> {
    /// Detects the dialect of `file` and knows no project.
    pub fn new(file: &'a str) -> Self {
        Self { file, dialect: None, project: None, max_bytes: 16 << 20 }
    }
}

/// A name found in a list, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedServer {
    /// The name as listed.
    pub name: String,
    /// Where.
    pub place: Place,
    /// The scope it is limited to, if it is.
    pub scope: Option<Scope>,
}

/// Approvals by name, as Claude Code keeps them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NamedApprovals {
    /// Every server of the project's `.mcp.json`.
    pub all: bool,
    /// These.
    pub names: Vec<String>,
}

/// A value the user is asked for: VS Code's `inputs`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// What `${input:id}` calls it.
    pub id: String,
    /// The question.
    pub description: Option<String>,
    /// Whether the answer must not be shown.
    pub password: bool,
    /// The answer to offer.
    pub default: Option<String>,
    /// The answers to choose from, if it is a choice.
    pub options: Vec<String>,
}

impl ReadOptions<'_> {
    /// The project as files write it: without a slash at the end.
    pub(crate) fn project_key(&self) -> Option<String> {
        self.project.map(|path| path.components().as_path().to_string_lossy().into_owned())
    }
}

pub(crate) fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
