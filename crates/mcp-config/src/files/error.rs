//! Errors of changes to a file.

use std::{error::Error, fmt, io, path::PathBuf};

use crate::edit::EditError;

/// Why a file could not be changed. The file is unchanged.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// An I/O error, with the action that failed.
    Io(&'static str, PathBuf, io::Error),
    /// Another process held the lock for too long.
    Busy(PathBuf),
    /// Another program changed the file on every attempt.
    Contended(PathBuf),
    /// The edit cannot be applied.
    Edit(PathBuf, EditError),
}

impl FileError {
    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Contended(_))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(action, path, _) => write!(out, "could not {action} {}", path.display()),
            Self::Busy(path) => write!(out, "another process is changing {}", path.display()),
            Self::Contended(path) => {
                write!(out, "another program keeps changing {}", path.display())
            }
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
