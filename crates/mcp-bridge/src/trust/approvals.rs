//! What the user has approved for good, and what it was then.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value, json};

use crate::folder::{lock_beside, replace_private};

/// How often to look whether another process has changed the file.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long to wait for another process that changes it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Tools the user has approved for good: each with the definition it had then.
///
/// Kept in memory, or in a file of the user's own.
#[derive(Debug, Default)]
pub struct ToolApprovals {
    path: Option<PathBuf>,
    known: Mutex<Known>,
}

/// What is approved, and which file that was read from.
#[derive(Debug, Default)]
struct Known {
    approved: BTreeMap<String, Approved>,
    /// When the file was changed last, as it was when it was read.
    written: Option<SystemTime>,
    /// When it was last looked at.
    looked: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Approved {
    hash: String,
    definition: String,
}

/// Why approvals could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolApprovalsError {
    /// The file could not be read.
    Io(PathBuf, std::io::Error),
    /// The file is not what was written.
    Malformed(PathBuf),
}

impl fmt::Display for ToolApprovalsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolApprovalsError::Io(path, _) => write!(f, "cannot read {}", path.display()),
            ToolApprovalsError::Malformed(path) => {
                write!(f, "{} is not a file of approvals", path.display())
            }
        }
    }
}

impl std::error::Error for ToolApprovalsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ToolApprovalsError::Io(_, error) => Some(error),
            ToolApprovalsError::Malformed(_) => None,
        }
    }
}

/// How a tool stands to what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Never,
    /// As it is now.
    Approved,
    /// As it was then, which is this.
    Changed(String),
}

impl ToolApprovals {
    /// In memory only.
    pub fn new() -> Self {
        Self::default()
    }

    /// In a file, which is made when first needed.
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, ToolApprovalsError> {
        let path = path.into();
        let mut known = Known { written: written(&path), ..Known::default() };
        known.approved = read(&path)?;
        Ok(Self { path: Some(path), known: Mutex::new(known) })
    }

    /// Takes an approval back, also from other processes that share the file.
    ///
    /// # Errors
    /// When that could not be written down: it then holds for this process alone.
    pub fn revoke(&self, permission: &str) -> std::io::Result<()> {
        self.change(|approved| drop(approved.remove(permission)))
    }

    /// The permissions of everything that is approved.
    pub fn permissions(&self) -> Vec<String> {
        self.lock().approved.keys().cloned().collect()
    }

    pub(crate) fn standing(&self, permission: &str, hash: &str) -> Standing {
        let mut known = self.lock();
        self.look_again(&mut known);
        match known.approved.get(permission) {
            None => Standing::Never,
            Some(approved) if approved.hash == hash => Standing::Approved,
            Some(approved) => Standing::Changed(approved.definition.clone()),
        }
    }

    /// Remembers what was approved. Blocks for as long as a small file takes.
    pub(crate) fn approve(&self, permission: &str, hash: &str, definition: &str) {
        let entry = Approved { hash: hash.into(), definition: definition.into() };
        if let Err(error) = self.change(|all| drop(all.insert(permission.into(), entry))) {
            tracing::warn!(%error, "approvals could not be kept");
        }
    }

    /// Makes one change, to what stands in the file now: what another process approved stays, and what it
    /// took back does not come back.
    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Approved>)) -> std::io::Result<()> {
        let Some(path) = &self.path else {
            change(&mut self.lock().approved);
            return Ok(());
        };
        // Before our own, which every call needs. If it cannot be had, the change is made all the same: the
        // user is waiting.
        let _held = lock_beside(path, PATIENCE).ok();
        let mut known = self.lock();
        if let Ok(now) = read(path) {
            known.approved = now;
        }
        change(&mut known.approved);
        replace_private(path, encode(&known.approved).as_bytes())?;
        known.written = written(path);
        Ok(())
    }

    /// Takes up what another process has changed, now and then.
    fn look_again(&self, known: &mut Known) {
        let Some(path) = &self.path else { return };
        if known.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return;
        }
        known.looked = Some(Instant::now());
        let now = written(path);
        if now != known.written
            && let Ok(approved) = read(path)
        {
            (known.approved, known.written) = (approved, now);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

fn encode(approved: &BTreeMap<String, Approved>) -> String {
    let entry = |a: &Approved| json!({"hash": a.hash, "definition": a.definition});
    let all: serde_json::Map<_, _> = approved.iter().map(|(k, a)| (k.clone(), entry(a))).collect();
    Value::Object(all).to_string()
}

fn read(path: &Path) -> Result<BTreeMap<String, Approved>, ToolApprovalsError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(ToolApprovalsError::Io(path.to_owned(), error)),
    };
    let malformed = || ToolApprovalsError::Malformed(path.to_owned());
    let Ok(Value::Object(entries)) = serde_json::from_str(&text) else { return Err(malformed()) };
    let field = |entry: &Value, name: &str| entry.get(name)?.as_str().map(str::to_owned);
    let mut approved = BTreeMap::new();
    for (permission, entry) in entries {
        let (hash, definition) = (field(&entry, "hash"), field(&entry, "definition"));
        let (Some(hash), Some(definition)) = (hash, definition) else { return Err(malformed()) };
        approved.insert(permission, Approved { hash, definition });
    }
    Ok(approved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_outlives_the_host_and_not_the_definition() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        ToolApprovals::load(&path).unwrap().approve("mcp:a:b", "h1", "{\"x\":1}");
        let again = ToolApprovals::load(&path).unwrap();
        assert_eq!(again.standing("mcp:a:b", "h1"), Standing::Approved);
        assert_eq!(again.standing("mcp:a:b", "h2"), Standing::Changed("{\"x\":1}".into()));
        assert_eq!(again.standing("mcp:a:c", "h1"), Standing::Never);
        again.revoke("mcp:a:b").unwrap();
        assert_eq!(ToolApprovals::load(&path).unwrap().permissions().len(), 0);
        fs::write(&path, "[]").unwrap();
        assert!(matches!(ToolApprovals::load(&path), Err(ToolApprovalsError::Malformed(_))));
    }

    #[test]
    fn two_processes_keep_each_others_decisions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approved.json");
        let (one, other) =
            (ToolApprovals::load(&path).unwrap(), ToolApprovals::load(&path).unwrap());
        one.approve("mcp:a:b", "h", "{}");
        other.approve("mcp:c:d", "h", "{}");
        assert_eq!(ToolApprovals::load(&path).unwrap().permissions(), ["mcp:a:b", "mcp:c:d"]);
        // What was taken back elsewhere must not come back with our next change.
        other.revoke("mcp:a:b").unwrap();
        one.lock().looked = None;
        assert_eq!(one.standing("mcp:a:b", "h"), Standing::Never, "it is seen here too");
        one.approve("mcp:e:f", "h", "{}");
        assert_eq!(one.permissions(), ["mcp:c:d", "mcp:e:f"]);
        assert_eq!(ToolApprovals::load(&path).unwrap().permissions(), one.permissions());
    }
}
