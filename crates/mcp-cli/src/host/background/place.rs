//! The socket, lock and log of a background host, and the setting that lets commands start one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use mcp_safe::fs::{create_folder, private_folder, replace};
use sha2::{Digest as _, Sha256};

use crate::host::config::Config;

/// The files of the host for one user, project and set of configuration files.
#[derive(Clone, Debug)]
pub(crate) struct HostPlace {
    folder: PathBuf,
    key: String,
}

impl HostPlace {
    /// Returns the place for this configuration. `None` without a state folder.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let mut hash = Sha256::new();
        let files = config.files();
        for path in std::iter::once(&config.project).chain(&files) {
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update([0]);
        }
        hash.update(config.spec().unwrap_or_default());
        let key = format!("{:x}", hash.finalize());
        let folder = config.places.state.as_ref()?.join("hosts");
        // Keep it short: the path of a Unix socket is limited to about 100 bytes.
        Some(Self { folder, key: key[..16].to_owned() })
    }

    /// Returns the places of all hosts of this user that left a socket.
    pub(crate) fn all(state: &Path) -> Vec<Self> {
        let folder = state.join("hosts");
        let files = fs::read_dir(&folder).into_iter().flatten().flatten();
        let key = |path: PathBuf| {
            let is_socket = path.extension().is_some_and(|extension| extension == "sock");
            is_socket.then(|| path.file_stem()?.to_str().map(str::to_owned)).flatten()
        };
        let mut keys: Vec<String> = files.filter_map(|entry| key(entry.path())).collect();
        keys.sort();
        keys.into_iter().map(|key| Self { folder: folder.clone(), key }).collect()
    }

    /// Identifies the project and its set of configuration files.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(format!("{}.sock", self.key))
    }

    /// The lock file, held for as long as the host runs.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.key))
    }

    /// The log file with the host's stderr. The previous log ends in `.1`.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.key))
    }

    /// Creates the folder with access for this user only.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        if let Some(state) = self.folder.parent() {
            create_folder(state)?;
        }
        private_folder(&self.folder)
    }
}

/// Whether commands start a host when they need one.
pub(crate) fn is_automatic(state: &Path) -> bool {
    state.join(AUTOMATIC).exists()
}

/// Sets whether commands start a host when they need one.
pub(crate) fn set_automatic(state: &Path, on: bool) -> io::Result<()> {
    let file = state.join(AUTOMATIC);
    if on {
        create_folder(state)?;
        return replace(&file, b"");
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

const AUTOMATIC: &str = "host-auto";
