//! The user's permanent approvals, and the pinned hashes of definitions.

mod file;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use mcp_safe::fs::{Lock, create_folder, replace};

use super::binding::Binding;

/// The interval between checks for changes by other processes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait for the lock of the file.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
/// The maximum number of pins, because a server may publish new names with every list.
const MOST_PINS: usize = 20_000;

/// The tools that the user approved permanently, each bound to its server and to its definition at that time.
///
/// Stored in memory or in a file. The file must be outside the project, belong to the user, and not be writable by others;
/// otherwise it is neither read nor written.
#[derive(Debug, Default)]
pub struct ToolApprovals {
    path: Option<PathBuf>,
    /// The project that must not contain the file.
    project: Option<PathBuf>,
    known: Mutex<Known>,
}

/// The approvals and the state of the file they were read from.
#[derive(Debug, Default)]
struct Known {
    tools: Tools,
    /// The modification time of the file when it was read.
    written: Option<SystemTime>,
    /// When the file was last checked.
    checked: Option<Instant>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tools {
    approved: BTreeMap<Key, Approved>,
    /// The hash of each definition when it was first seen or last accepted.
    pins: BTreeMap<Key, String>,
}

/// A permission and its server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    permission: String,
    /// Empty: any server, as written by earlier versions.
    server: String,
}

impl Key {
    fn new(permission: &str, server: &str) -> Self {
        Self { permission: permission.to_owned(), server: server.to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Approved {
    pub(crate) hash: String,
    pub(crate) definition: String,
}

/// Why approvals could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolApprovalsError {
    /// The file is inside the project, which may have supplied it.
    InsideProject(PathBuf),
    /// The file could not be read, or others can write to it.
    Io(PathBuf, std::io::Error),
    /// The file is malformed.
    Malformed(PathBuf),
}

impl fmt::Display for ToolApprovalsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolApprovalsError::InsideProject(path) => {
                write!(f, "approvals inside the project are ignored: {}", path.display())
            }
            ToolApprovalsError::Io(path, _) => write!(f, "cannot read {}", path.display()),
            ToolApprovalsError::Malformed(path) => {
                write!(f, "{} is not a valid approvals file", path.display())
            }
        }
    }
}

impl std::error::Error for ToolApprovalsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ToolApprovalsError::Io(_, error) => Some(error),
            ToolApprovalsError::InsideProject(_) | ToolApprovalsError::Malformed(_) => None,
        }
    }
}

impl ToolApprovals {
    /// Creates approvals in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads approvals from a file. The file is created on first use. A host with a project uses
    /// [`load_for`](Self::load_for).
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, ToolApprovalsError> {
        Self::open(path.into(), None)
    }

    /// Loads approvals from a file, for use in `project`. A file inside the project is an error.
    pub fn load_for(
        path: impl Into<PathBuf>,
        project: impl Into<PathBuf>,
    ) -> Result<Self, ToolApprovalsError> {
        Self::open(path.into(), Some(project.into()))
    }

    fn open(path: PathBuf, project: Option<PathBuf>) -> Result<Self, ToolApprovalsError> {
        let mut known = Known { written: written(&path), ..Known::default() };
        known.tools = file::read(&path, project.as_deref())?;
        Ok(Self { path: Some(path), project, known: Mutex::new(known) })
    }

    /// Revokes an approval for every server, also for other processes that share the file.
    ///
    /// # Errors
    /// Returns an error if the file could not be written. The change then applies to this process only.
    pub fn revoke(&self, permission: &str) -> std::io::Result<()> {
        self.change(|tools| tools.approved.retain(|key, _| key.permission != permission))
    }

    /// The permissions of all approvals.
    pub fn permissions(&self) -> Vec<String> {
        let mut all: Vec<_> =
            self.lock().tools.approved.keys().map(|key| key.permission.clone()).collect();
        all.dedup();
        all
    }

    /// The approval of this permission for this server.
    pub(crate) fn approved(&self, permission: &str, server: &Binding) -> Option<Approved> {
        let mut known = self.lock();
        self.reload_if_changed(&mut known);
        let approved = &known.tools.approved;
        if approved.is_empty() {
            return None;
        }
        let bound = approved.get(&Key::new(permission, &server.key));
        let unbound = || approved.get(&Key::new(permission, "")).filter(|_| server.takes_unbound);
        bound.or_else(unbound).cloned()
    }

    /// Records an approval. Blocks while the file is written.
    pub(crate) fn approve(&self, permission: &str, server: &Binding, hash: &str, definition: &str) {
        let key = Key::new(permission, &server.key);
        let entry = Approved { hash: hash.into(), definition: definition.into() };
        let change = |tools: &mut Tools| {
            tools.pins.insert(key.clone(), hash.to_owned());
            tools.approved.insert(key, entry);
        };
        if let Err(error) = self.change(change) {
            tracing::warn!(%error, "could not write the approvals file");
        }
    }

    /// Whether a definition differs from the pinned one.
    pub(crate) fn differs_from_pin(&self, permission: &str, server: &Binding, hash: &str) -> bool {
        let key = Key::new(permission, &server.key);
        self.lock().tools.pins.get(&key).is_some_and(|pin| pin != hash)
    }

    /// Pins definitions, given as permission and hash, in memory. Returns whether [`save`](Self::save) has
    /// something to write.
    pub(crate) fn pin(&self, server: &Binding, tools: &[(String, String)]) -> bool {
        let mut known = self.lock();
        let pins = &mut known.tools.pins;
        let mut is_new = false;
        for (permission, hash) in tools {
            let key = Key::new(permission, &server.key);
            if pins.get(&key) != Some(hash) && (pins.len() < MOST_PINS || pins.contains_key(&key)) {
                pins.insert(key, hash.clone());
                is_new = true;
            }
        }
        is_new && self.path.is_some()
    }

    /// Writes the pins to the file. Blocks.
    pub(crate) fn save(&self) -> std::io::Result<()> {
        let pins = self.lock().tools.pins.clone();
        self.change(|tools| tools.pins.extend(pins))
    }

    /// Applies a change to the current content of the file, so that approvals and revocations of other
    /// processes are preserved.
    fn change(&self, change: impl FnOnce(&mut Tools)) -> std::io::Result<()> {
        let Some(path) = &self.path else {
            change(&mut self.lock().tools);
            return Ok(());
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)?;
        }
        // The file lock is taken before the mutex, which every call needs. If it is not available in time, the
        // change is made anyway, because the user is waiting.
        let _held = Lock::acquire(&path.with_extension("lock"), LOCK_TIMEOUT).ok();
        let mut known = self.lock();
        let now = match file::read(path, self.project.as_deref()) {
            Ok(now) => now,
            // Never add an approval to a file that the project or another user may have supplied.
            Err(error) => {
                change(&mut known.tools);
                return Err(std::io::Error::other(error));
            }
        };
        known.tools = now;
        change(&mut known.tools);
        replace(path, file::encode(&known.tools).as_bytes())?;
        known.written = written(path);
        Ok(())
    }

    /// Reloads the file if another process has changed it.
    fn reload_if_changed(&self, known: &mut Known) {
        let Some(path) = &self.path else { return };
        if known.checked.is_some_and(|checked| checked.elapsed() < CHECK_INTERVAL) {
            return;
        }
        known.checked = Some(Instant::now());
        let now = written(path);
        if now != known.written
            && let Ok(tools) = file::read(path, self.project.as_deref())
        {
            (known.tools, known.written) = (tools, now);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}
