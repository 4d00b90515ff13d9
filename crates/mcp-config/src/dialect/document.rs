//! The content of one file: its servers and its other settings.

use std::{path::Path, sync::Arc};

use super::{catalogue::Dialect, custom_tool::CustomEntry, path::escape_pointer};
use crate::{
    diagnostic::{Diagnostic, Place},
    model::{HostSettings, Scope, ServerConfig},
    policy::PolicyPart,
};

/// One server and its location in a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The server.
    pub config: ServerConfig,
    /// Its location.
    pub place: Place,
    /// The dialect of the file.
    pub dialect: Dialect,
    /// Its scope, if the file determines it (`projects` in `~/.claude.json` is local).
    pub scope: Option<Scope>,
}

/// Everything read from one file.
///
/// Reading never fails as a whole: problems are in `diagnostics`, and the rest is usable.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Document {
    /// Its path or label.
    pub file: Arc<str>,
    /// The dialect; `None` if the file was not parsed.
    pub dialect: Option<Dialect>,
    /// Its servers, in the file's order.
    pub entries: Vec<Arc<Entry>>,
    /// Its custom tools, in the file's order.
    pub custom_tools: Vec<Arc<CustomEntry>>,
    /// Settings for the host.
    pub host: HostSettings,
    /// Its part of the policy.
    pub policy: PolicyPart,
    /// Values its servers ask the user for (`${input:id}`).
    pub inputs: Vec<Input>,
    /// Servers it disables, in this file or in others.
    pub switched_off: Vec<NamedServer>,
    /// Servers it approves by name: another tool's approvals, which are not bound to content.
    pub approved: NamedApprovals,
    /// Problems and hints.
    pub diagnostics: Vec<Diagnostic>,
}

impl Document {
    /// A document without content.
    pub fn empty(file: &str) -> Self {
        Self {
            file: file.into(),
            dialect: None,
            entries: Vec::new(),
            custom_tools: Vec::new(),
            host: HostSettings::default(),
            policy: PolicyPart::default(),
            inputs: Vec::new(),
            switched_off: Vec::new(),
            approved: NamedApprovals::default(),
            diagnostics: Vec::new(),
        }
    }

    /// A document of servers that the host holds as values, such as dynamic servers or those of a provider.
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

    /// The server called `name`.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().map(|entry| &**entry).find(|entry| entry.config.name.as_str() == name)
    }
}

/// Options for reading a file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReadOptions<'a> {
    /// The path or label, for messages and for detecting the dialect.
    pub file: &'a str,
    /// The dialect; detected if `None`.
    pub dialect: Option<Dialect>,
    /// The current project, for files with settings per project.
    pub project: Option<&'a Path>,
    /// The size limit, in bytes. Default: 16 MiB.
    pub max_bytes: usize,
}

impl<'a> ReadOptions<'a> {
    /// Options that detect the dialect of `file`, without a project.
    pub fn new(file: &'a str) -> Self {
        Self { file, dialect: None, project: None, max_bytes: 16 << 20 }
    }

    /// Sets the dialect.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the current project.
    #[must_use]
    pub fn with_project(mut self, project: &'a Path) -> Self {
        self.project = Some(project);
        self
    }

    /// Sets the size limit, in bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The project's path as files write it: without a trailing slash.
    pub(crate) fn project_key(&self) -> Option<String> {
        self.project.map(|path| path.components().as_path().to_string_lossy().into_owned())
    }
}

/// A name from a list, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedServer {
    /// The name as listed.
    pub name: String,
    /// Its location.
    pub place: Place,
    /// The scope it is limited to, if any.
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

/// A value that the user enters: VS Code's `inputs`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// The id used in `${input:id}`.
    pub id: String,
    /// The text of the question.
    pub description: Option<String>,
    /// Whether the input must not be shown.
    pub password: bool,
    /// The default value.
    pub default: Option<String>,
    /// The values to choose from, if it is a choice.
    pub options: Vec<String>,
}
