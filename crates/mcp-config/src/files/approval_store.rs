//! Stores approvals on disk, per user and never in the repository they apply to.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
    time::Duration,
};

use mcp_safe::fs::{private_folder, read_private};

use super::{
    error::FileError,
    update::{Access, update},
};
use crate::{
    diagnostic::{Diagnostic, Problem, Severity},
    edit::EditError,
    resolve::{Approvals, Layers},
};

/// The file with one user's approvals.
#[derive(Clone, Debug)]
pub struct ApprovalStore {
    path: PathBuf,
}

/// Why approvals could not be read or written. Until that is fixed, nothing is approved.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApprovalError {
    /// The file is inside the project it would approve, so the repository may have supplied it.
    InsideProject(PathBuf),
    /// Another user owns the file or its folder, or can write to it, and may have planted it.
    NotPrivate(PathBuf, std::io::Error),
    /// The file can't be read.
    Unreadable(PathBuf, std::io::Error),
    /// The file does not contain approvals.
    Malformed(PathBuf),
    /// The file can't be changed.
    File(FileError),
}

impl fmt::Display for ApprovalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsideProject(path) => {
                write!(out, "approvals inside the project are ignored: {}", path.display())
            }
            Self::NotPrivate(path, why) => write!(
                out,
                "approvals in {} are ignored: {why}; check its content, then run \
                 `chmod 600` on it and `chmod 700` on its folder",
                path.display()
            ),
            Self::Unreadable(path, _) => {
                write!(out, "could not read approvals from {}", path.display())
            }
            Self::Malformed(path) => write!(out, "{} is not a file of approvals", path.display()),
            Self::File(_) => out.write_str("could not save the approval"),
        }
    }
}

impl Error for ApprovalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreadable(_, error) => Some(error),
            Self::File(error) => Some(error),
            Self::InsideProject(_) | Self::NotPrivate(..) | Self::Malformed(_) => None,
        }
    }
}

const ACCESS: Access = Access { lock_timeout: Duration::from_secs(10), max_bytes: 16 << 20 };

impl ApprovalStore {
    /// Creates a store at `path`, which should be in the user's configuration folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Loads the decisions so far, for use in `project`. A missing file means no decisions.
    ///
    /// A file inside the project, owned by another user, or accessible to others is an error.
    pub fn load(&self, project: &Path) -> Result<Approvals, ApprovalError> {
        self.refuse_inside(project)?;
        let bytes = self.read()?;
        let approvals = Approvals::decode(&bytes.unwrap_or_default());
        approvals.ok_or_else(|| ApprovalError::Malformed(self.path.clone()))
    }

    /// Loads the approvals of `layers` for its project. If loading fails, nothing is approved and the
    /// resolution's diagnostics give the reason.
    pub fn load_into(&self, layers: &mut Layers) {
        match self.load(&layers.project) {
            Ok(approvals) => layers.approvals = approvals,
            Err(error) => {
                layers.approvals = Approvals::new();
                let file = self.path.to_string_lossy();
                let found = Diagnostic::of_file(
                    &file,
                    Severity::Error,
                    Problem::Unreadable,
                    error.to_string(),
                );
                layers.diagnostics.push(found.hint("servers of the project need approval"));
            }
        }
    }

    /// Anybody can compute the fingerprint of an entry, so an approval is worth only as much as the protection of its
    /// file.
    fn read(&self) -> Result<Option<Vec<u8>>, ApprovalError> {
        read_private(&self.path, ACCESS.max_bytes).map_err(|error| unreadable(&self.path, error))
    }

    /// Changes the decisions about servers of `project`. Concurrent decisions of other processes are
    /// preserved.
    pub fn update(
        &self,
        project: &Path,
        mut change: impl FnMut(&mut Approvals),
    ) -> Result<Approvals, ApprovalError> {
        self.refuse_inside(project)?;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let failed =
                |error| FileError::Io("make private the folder of", self.path.clone(), error);
            private_folder(folder).map_err(failed).map_err(ApprovalError::File)?;
        }
        // Never add a decision to a file that another user may have planted.
        self.read()?;
        let mut now = Approvals::default();
        let result = update(&self.path, ACCESS, &mut |old| {
            let malformed = || EditError::Unreadable("not a file of approvals".to_owned());
            let mut approvals = Approvals::decode(old.unwrap_or_default()).ok_or_else(malformed)?;
            change(&mut approvals);
            now = approvals.clone();
            Ok(approvals.encode().into_bytes())
        });
        match result {
            Ok(()) => Ok(now),
            Err(FileError::Edit(path, _)) => Err(ApprovalError::Malformed(path)),
            Err(error) => Err(ApprovalError::File(error)),
        }
    }

    fn refuse_inside(&self, project: &Path) -> Result<(), ApprovalError> {
        let real = |path: &Path| {
            // The file may not exist yet, so check its nearest existing folder.
            path.ancestors().find_map(|folder| folder.canonicalize().ok())
        };
        let inside = match (real(&self.path), project.canonicalize()) {
            (Some(path), Ok(project)) => path.starts_with(project),
            _ => self.path.starts_with(project) && !project.as_os_str().is_empty(),
        };
        if inside { Err(ApprovalError::InsideProject(self.path.clone())) } else { Ok(()) }
    }
}

fn unreadable(path: &Path, error: io::Error) -> ApprovalError {
    match error.kind() {
        // An error from the operating system has a code; an error from our own check has none.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            ApprovalError::NotPrivate(path.to_owned(), error)
        }
        _ => ApprovalError::Unreadable(path.to_owned(), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_denied_is_distinguished_from_file_not_private() {
        const EACCES: i32 = 13;
        let path = Path::new("approvals.json");
        let of_system = io::Error::from_raw_os_error(EACCES);
        assert!(matches!(unreadable(path, of_system), ApprovalError::Unreadable(..)));
        let of_ours = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(matches!(unreadable(path, of_ours), ApprovalError::NotPrivate(..)));
        let other = io::Error::from(io::ErrorKind::InvalidData);
        assert!(matches!(unreadable(path, other), ApprovalError::Unreadable(..)));
    }
}
