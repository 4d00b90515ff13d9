//! Approvals on disk: per user, never in the repository they are about.

use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value as Json, json};

use super::{Approvals, Decision, Fingerprint};
use crate::{
    edit::EditError,
    file::{Access, FileError, read_limited, update},
};

/// The file one user's approvals are kept in.
#[derive(Clone, Debug)]
pub struct ApprovalStore {
    path: PathBuf,
}

/// Why approvals could not be read or written. Until they can, nothing is approved.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApprovalError {
    /// The file is inside the project it would approve, where a repository could bring it along.
    InsideProject(PathBuf),
    /// The file can't be read.
    Unreadable(PathBuf, std::io::Error),
    /// The file is not what we wrote.
    Malformed(PathBuf),
    /// The file can't be changed.
    File(FileError),
}

impl fmt::Display for ApprovalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsideProject(path) => {
                write!(out, "approvals can't be kept inside the project: {}", path.display())
            }
            Self::Unreadable(path, _) => {
                write!(out, "could not read approvals from {}", path.display())
            }
            Self::Malformed(path) => write!(out, "{} holds no approvals", path.display()),
            Self::File(_) => out.write_str("could not keep the approval"),
        }
    }
}

impl Error for ApprovalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreadable(_, error) => Some(error),
            Self::File(error) => Some(error),
            Self::InsideProject(_) | Self::Malformed(_) => None,
        }
    }
}

const ACCESS: Access = Access { lock_timeout: Duration::from_secs(10), max_bytes: 16 << 20 };

impl ApprovalStore {
    /// The store at `path`, which belongs somewhere under the user's own configuration.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// What has been decided so far. No file means nothing has.
    pub fn load(&self) -> Result<Approvals, ApprovalError> {
        let bytes = read_limited(&self.path, ACCESS.max_bytes)
            .map_err(|error| ApprovalError::Unreadable(self.path.clone(), error))?;
        bytes.map_or_else(
            || Ok(Approvals::default()),
            |bytes| decode(&bytes).ok_or_else(|| ApprovalError::Malformed(self.path.clone())),
        )
    }

    /// Changes what is decided about servers of `project`. Decisions other processes made
    /// meanwhile stay.
    pub fn update(
        &self,
        project: &Path,
        mut change: impl FnMut(&mut Approvals),
    ) -> Result<Approvals, ApprovalError> {
        self.refuse_inside(project)?;
        let mut now = Approvals::default();
        let result = update(&self.path, ACCESS, &mut |old| {
            let malformed = || EditError::Unreadable("not a file of approvals".to_owned());
            let mut approvals = match old {
                Some(bytes) => decode(bytes).ok_or_else(malformed)?,
                None => Approvals::default(),
            };
            change(&mut approvals);
            now = approvals.clone();
            Ok(encode(&approvals).into_bytes())
        });
        match result {
            Ok(()) => Ok(now),
            Err(FileError::Edit(path, _)) => Err(ApprovalError::Malformed(path)),
            Err(error) => Err(ApprovalError::File(error)),
        }
    }

    fn refuse_inside(&self, project: &Path) -> Result<(), ApprovalError> {
        let real = |path: &Path| {
            // The file itself may not exist yet; its nearest folder that does decides.
            path.ancestors().find_map(|folder| folder.canonicalize().ok())
        };
        let inside = match (real(&self.path), project.canonicalize()) {
            (Some(path), Ok(project)) => path.starts_with(project),
            _ => self.path.starts_with(project) && !project.as_os_str().is_empty(),
        };
        if inside { Err(ApprovalError::InsideProject(self.path.clone())) } else { Ok(()) }
    }
}

fn encode(approvals: &Approvals) -> String {
    let projects = approvals.decisions.iter().map(|(project, servers)| {
        let servers = servers.iter().map(|(name, decision)| {
            let Decision { fingerprint, approved } = decision;
            (name.clone(), json!({ "fingerprint": fingerprint.to_string(), "approved": approved }))
        });
        (project.clone(), Json::Object(servers.collect()))
    });
    let root = json!({ "version": 1, "projects": Json::Object(projects.collect()) });
    format!("{root:#}\n")
}

fn decode(bytes: &[u8]) -> Option<Approvals> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Some(Approvals::default());
    }
    let root: Json = serde_json::from_slice(bytes).ok()?;
    if root.get("version")? != 1 {
        return None;
    }
    let mut approvals = Approvals::default();
    for (project, servers) in root.get("projects")?.as_object()? {
        let kept = approvals.decisions.entry(project.clone()).or_default();
        for (name, decision) in servers.as_object()? {
            let fingerprint = Fingerprint::from_hex(decision.get("fingerprint")?.as_str()?)?;
            let approved = decision.get("approved")?.as_bool()?;
            kept.insert(name.clone(), Decision { fingerprint, approved });
        }
    }
    Some(approvals)
}
