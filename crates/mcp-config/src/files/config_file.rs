//! A configuration file on disk, with reads and changes that are safe against concurrent writers.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    error::FileError,
    update::{Access, update},
};
use crate::{
    diagnostic::{Diagnostic, Problem, Severity},
    dialect::{Dialect, Document, Entry, ReadOptions, of_new_file, read},
    edit::{Edit, EditError, edit_in_scope},
    model::{Scope, ServerConfig},
};

/// A configuration file that can be read and changed.
///
/// A change takes a lock that other processes of ours respect, is applied to the current text, and replaces
/// the file atomically with the same permissions. If a program without the lock writes in the meantime, the
/// change is applied again to the new text. Only a write in the microseconds between the last check and the
/// replacement can be lost.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join(".mcp.json");
/// use mcp_config::{ConfigFile, ServerConfig, Stdio, Transport};
/// let file = ConfigFile::new(&path);
/// file.add(&ServerConfig::new("time".parse()?, Transport::Stdio(Stdio::new("mcp-time"))))?;
/// file.enable("time", false)?;
/// assert!(!file.read().get("time").unwrap().config.enabled);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConfigFile {
    /// Its path.
    pub path: PathBuf,
    /// Its dialect; detected if `None`. A new file without one has our own format.
    pub dialect: Option<Dialect>,
    /// The current project, for files with settings per project.
    pub project: Option<PathBuf>,
    /// The scope of the section to edit, in files with several.
    pub scope: Option<Scope>,
    /// How long to wait for another process's change. Default: 10 s.
    pub lock_timeout: Duration,
    /// The size limit, in bytes. Default: 16 MiB.
    pub max_bytes: usize,
}

impl ConfigFile {
    /// The file at `path`, with a detected dialect.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            dialect: None,
            project: None,
            scope: None,
            lock_timeout: Duration::from_secs(10),
            max_bytes: 16 << 20,
        }
    }

    /// Sets the dialect, which disables detection.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the current project.
    #[must_use]
    pub fn with_project(mut self, project: impl Into<PathBuf>) -> Self {
        self.project = Some(project.into());
        self
    }

    /// Sets the scope of the section to edit.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Sets how long to wait for another process's change.
    #[must_use]
    pub fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Sets the size limit, in bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Reads the file. A missing file gives an empty document; an unreadable one gives a document with a
    /// diagnostic.
    pub fn read(&self) -> Document {
        self.read_existing().unwrap_or_else(|| Document::empty(&self.path.to_string_lossy()))
    }

    /// Reads the file, if it exists.
    pub(crate) fn read_existing(&self) -> Option<Document> {
        self.document(mcp_safe::fs::read(&self.path, self.max_bytes))
    }

    /// Reads the file, if it exists, as the user's own: what is in it runs without approval. A file that another user
    /// or the project may have supplied gives a document with a diagnostic.
    pub(crate) fn read_own(&self) -> Option<Document> {
        let read = mcp_safe::fs::read_own(&self.path, self.max_bytes);
        if matches!(read, Ok(Some(_)))
            && self.project.as_deref().is_some_and(|project| is_inside(&self.path, project))
        {
            return Some(refused(&self.path.to_string_lossy(), "a file inside the project"));
        }
        self.document(read)
    }

    fn document(&self, read_bytes: io::Result<Option<Vec<u8>>>) -> Option<Document> {
        let label = self.path.to_string_lossy();
        match read_bytes {
            Ok(Some(bytes)) => Some(read(&bytes, &self.options(&label))),
            Ok(None) => None,
            Err(error) => Some(unreadable(&label, &error)),
        }
    }

    fn options<'a>(&'a self, label: &'a str) -> ReadOptions<'a> {
        let mut options = ReadOptions::new(label);
        options.dialect = self.dialect;
        options.project = self.project.as_deref();
        options.max_bytes = self.max_bytes;
        options
    }

    /// Adds `server`, or updates the one with its name to this configuration.
    pub fn add(&self, server: &ServerConfig) -> Result<(), FileError> {
        self.apply(&[Edit::Put(Box::new(server.clone()))])
    }

    /// Removes the server called `name`.
    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        self.apply(&[Edit::Remove(name.to_owned())])
    }

    /// Enables or disables the server called `name`.
    pub fn enable(&self, name: &str, on: bool) -> Result<(), FileError> {
        self.apply(&[Edit::Enable(name.to_owned(), on)])
    }

    /// Moves the server called `name` to another file, and thereby to another scope.
    ///
    /// It is added to `target` before it is removed here, so an interruption cannot lose it.
    pub fn move_to(&self, name: &str, target: &Self) -> Result<(), FileError> {
        let document = self.read();
        // Only local servers have a separate section.
        let in_scope = |of: Option<Scope>| match self.scope {
            None => true,
            Some(Scope::Local) => of == Some(Scope::Local),
            Some(_) => of.is_none(),
        };
        let wanted =
            |entry: &&Arc<Entry>| entry.config.name.as_str() == name && in_scope(entry.scope);
        let Some(entry) = document.entries.iter().find(wanted) else {
            let missing = EditError::NotFound(name.to_owned());
            return Err(FileError::Edit(self.path.clone(), missing));
        };
        target.add(&entry.config)?;
        self.remove(name)
    }

    /// Applies several edits atomically: all of them or none.
    pub fn apply(&self, edits: &[Edit]) -> Result<(), FileError> {
        let label = self.path.to_string_lossy();
        let mut options = self.options(&label);
        let access = Access { lock_timeout: self.lock_timeout, max_bytes: self.max_bytes };
        update(&self.path, access, &mut |old| {
            let text = match old {
                Some(bytes) => std::str::from_utf8(bytes)
                    .map_err(|_| EditError::unreadable(&read(bytes, &options)))?,
                None => "",
            };
            if text.trim().is_empty() {
                options.dialect.get_or_insert_with(|| of_new_file(&label));
            }
            let changed = edits.iter().try_fold(text.to_owned(), |text, edit| {
                edit_in_scope(&text, &options, edit, self.scope)
            })?;
            Ok(changed.into_bytes())
        })
    }
}

/// Whether a repository at `project` may have brought the file along, as with `XDG_CONFIG_HOME=$PWD/.config`.
/// A project that contains the home directory contains the files of the user as well.
fn is_inside(file: &Path, project: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let project = real(project);
    let has_home = std::env::home_dir().is_some_and(|home| real(&home).starts_with(&project));
    let is_named = !project.as_os_str().is_empty();
    is_named && !has_home && (real(file).starts_with(&project) || file.starts_with(&project))
}

/// An empty document with a diagnostic for a file that is not the user's own.
fn refused(label: &str, found: impl Into<String>) -> Document {
    let mut document = Document::empty(label);
    let fault = Diagnostic::of_file(label, Severity::Error, Problem::Ignored, found);
    let fault = fault.expected("a file that only you can write, outside of the project");
    document.diagnostics.push(fault.hint("nothing in it is used"));
    document
}

/// An empty document with a diagnostic for the error.
fn unreadable(label: &str, error: &io::Error) -> Document {
    // An error of our own check has no code.
    if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return refused(label, format!("a file that others may have written: {error}"));
    }
    let mut document = Document::empty(label);
    let found = match error.kind() {
        io::ErrorKind::PermissionDenied => "a file without read permission".to_owned(),
        io::ErrorKind::IsADirectory => "a directory".to_owned(),
        // The error kind for too many links is not stable yet, so compare the operating system's code.
        _ if error.raw_os_error() == Some(ELOOP) => "a symlink loop".to_owned(),
        _ => error.to_string(),
    };
    let fault = Diagnostic::of_file(label, Severity::Error, Problem::Unreadable, found);
    document.diagnostics.push(fault.expected("a readable file"));
    document
}

const ELOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };
