//! A configuration file on disk: read it, change it, lose nobody's change.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

mod atomic;

pub(crate) use self::atomic::{Access, read_limited, update};
use crate::{
    diagnostic::Severity,
    dialect::Dialect,
    document::{Document, Entry, ReadOptions},
    edit::{Edit, EditError, edit_in_scope},
    model::ServerConfig,
    scope::Scope,
};

/// A file to read and to change.
///
/// A change takes a lock other processes of ours respect, is applied to the text as it is at that
/// moment, and replaces the file in one step, its permissions kept. If a program that knows no lock
/// writes meanwhile, the change is applied again to what that program wrote; only one that writes
/// in the microseconds between our last look and the replacement can still lose its own.
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
    /// Where it is.
    pub path: PathBuf,
    /// Its dialect, when it is not to be detected. A new file without one is our own format.
    pub dialect: Option<Dialect>,
    /// The project at hand, for files that keep settings per project.
    pub project: Option<PathBuf>,
    /// The section meant, in files that hold servers of more than one scope.
    pub scope: Option<Scope>,
    /// How long to wait for another process's change. 10 s.
    pub lock_timeout: Duration,
    /// The largest file read, in bytes. 16 MiB.
    pub max_bytes: usize,
}

/// Why a file could not be changed. It is as it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system said no, to the action named here.
    Io(&'static str, PathBuf, io::Error),
    /// Another process held the lock for too long.
    Busy(PathBuf),
    /// Somebody else kept writing to the file.
    Contended(PathBuf),
    /// The change itself can't be made.
    Edit(PathBuf, EditError),
}

impl FileError {
    /// Whether trying again later may help.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Contended(_))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(action, path, _) => write!(out, "could not {action} {}", path.display()),
            Self::Busy(path) => write!(out, "another process is changing {}", path.display()),
            Self::Contended(path) => write!(out, "{} keeps changing", path.display()),
            Self::Edit(path, _) => write!(out, "could not change {}", path.display()),
        }
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(_, _, error) => Some(error),
            Self::Edit(_, error) => Some(error),
            Self::Busy(_) | Self::Contended(_) => None,
        }
    }
}

impl ConfigFile {
    /// The file at `path`, its dialect detected.
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

    /// Reads it. A file that does not exist is an empty document; one that can't be read is a
    /// document with a diagnostic.
    pub fn read(&self) -> Document {
        self.read_existing().unwrap_or_else(|| Document::empty(&self.path.to_string_lossy()))
    }

    /// Reads it, if it exists.
    pub(crate) fn read_existing(&self) -> Option<Document> {
        let label = self.path.to_string_lossy();
        match read_limited(&self.path, self.max_bytes) {
            Ok(Some(bytes)) => Some(crate::read(&bytes, &self.options(&label))),
            Ok(None) => None,
            Err(error) => Some(atomic::unreadable(&label, &error)),
        }
    }

    fn options<'a>(&'a self, label: &'a str) -> ReadOptions<'a> {
        let mut options = ReadOptions::new(label);
        options.dialect = self.dialect;
        options.project = self.project.as_deref();
        options.max_bytes = self.max_bytes;
        options
    }

    /// Adds `server`, or brings the one of its name to this configuration.
    pub fn add(&self, server: &ServerConfig) -> Result<(), FileError> {
        self.apply(&[Edit::Put(Box::new(server.clone()))])
    }

    /// Removes the server called `name`.
    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        self.apply(&[Edit::Remove(name.to_owned())])
    }

    /// Switches the server called `name` on or off.
    pub fn enable(&self, name: &str, on: bool) -> Result<(), FileError> {
        self.apply(&[Edit::Enable(name.to_owned(), on)])
    }

    /// Moves the server called `name` to another file, and so to another scope.
    ///
    /// It is added there before it is removed here: whatever happens in between, it exists.
    pub fn move_to(&self, name: &str, target: &Self) -> Result<(), FileError> {
        let document = self.read();
        // Only local servers have a section of their own; the others stand where the file's do.
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

    /// Makes several changes in one step: all of them, or none.
    pub fn apply(&self, edits: &[Edit]) -> Result<(), FileError> {
        let label = self.path.to_string_lossy();
        let mut options = self.options(&label);
        let access = Access { lock_timeout: self.lock_timeout, max_bytes: self.max_bytes };
        update(&self.path, access, &mut |old| {
            let text = match old {
                Some(bytes) => std::str::from_utf8(bytes).map_err(|_| {
                    let why = crate::read(bytes, &options).diagnostics;
                    EditError::Unreadable(why.first().map(ToString::to_string).unwrap_or_default())
                })?,
                None => "",
            };
            refuse_broken(text, &options)?;
            if text.trim().is_empty() {
                options.dialect.get_or_insert_with(|| guess_dialect(&self.path));
            }
            let changed = edits.iter().try_fold(text.to_owned(), |text, edit| {
                edit_in_scope(&text, &options, edit, self.scope)
            })?;
            Ok(changed.into_bytes())
        })
    }
}

/// A file with a syntax error is not ours to repair by guessing.
fn refuse_broken(text: &str, options: &ReadOptions<'_>) -> Result<(), EditError> {
    let document = crate::read(text.as_bytes(), options);
    let broken = document.dialect.is_none().then(|| {
        document.diagnostics.into_iter().find(|diagnostic| diagnostic.severity == Severity::Error)
    });
    match broken.flatten() {
        Some(diagnostic) => Err(EditError::Unreadable(diagnostic.to_string())),
        None => Ok(()),
    }
}

/// What a file that does not exist yet is going to be, by its name.
fn guess_dialect(path: &Path) -> Dialect {
    crate::dialect::of_new_file(&path.to_string_lossy())
}
