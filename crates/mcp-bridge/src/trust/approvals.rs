//! What the user has approved for good, and what it was then.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};

/// Tools the user has approved for good: each with the definition it had then.
///
/// Kept in memory, or in a file of the user's own.
#[derive(Debug, Default)]
pub struct ToolApprovals {
    path: Option<PathBuf>,
    approved: Mutex<BTreeMap<String, Approved>>,
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
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { path: Some(path), approved: Mutex::default() });
            }
            Err(error) => return Err(ToolApprovalsError::Io(path, error)),
        };
        let Ok(Value::Object(entries)) = serde_json::from_str(&text) else {
            return Err(ToolApprovalsError::Malformed(path));
        };
        let field = |entry: &Value, name: &str| entry.get(name)?.as_str().map(str::to_owned);
        let mut approved = BTreeMap::new();
        for (permission, entry) in &entries {
            let (hash, definition) = (field(entry, "hash"), field(entry, "definition"));
            let (Some(hash), Some(definition)) = (hash, definition) else {
                return Err(ToolApprovalsError::Malformed(path));
            };
            approved.insert(permission.clone(), Approved { hash, definition });
        }
        Ok(Self { path: Some(path), approved: Mutex::new(approved) })
    }

    /// Takes an approval back.
    pub fn revoke(&self, permission: &str) {
        let text = {
            let mut approved = self.lock();
            approved.remove(permission);
            encode(&approved)
        };
        self.save(&text);
    }

    /// The permissions of everything that is approved.
    pub fn permissions(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    pub(crate) fn standing(&self, permission: &str, hash: &str) -> Standing {
        match self.lock().get(permission) {
            None => Standing::Never,
            Some(approved) if approved.hash == hash => Standing::Approved,
            Some(approved) => Standing::Changed(approved.definition.clone()),
        }
    }

    /// Remembers what was approved. Blocks for as long as a small file takes.
    pub(crate) fn approve(&self, permission: &str, hash: &str, definition: &str) {
        let text = {
            let mut approved = self.lock();
            let entry = Approved { hash: hash.into(), definition: definition.into() };
            approved.insert(permission.into(), entry);
            encode(&approved)
        };
        self.save(&text);
    }

    fn save(&self, text: &str) {
        let Some(path) = &self.path else { return };
        if let Err(error) = write(path, text) {
            tracing::warn!(%error, "approvals could not be kept");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Approved>> {
        self.approved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn encode(approved: &BTreeMap<String, Approved>) -> String {
    let entry = |a: &Approved| json!({"hash": a.hash, "definition": a.definition});
    let all: serde_json::Map<_, _> = approved.iter().map(|(k, a)| (k.clone(), entry(a))).collect();
    Value::Object(all).to_string()
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension(format!("{:016x}.tmp", crate::trace::random()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)
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
        again.revoke("mcp:a:b");
        assert_eq!(ToolApprovals::load(&path).unwrap().permissions().len(), 0);
        fs::write(&path, "[]").unwrap();
        assert!(matches!(ToolApprovals::load(&path), Err(ToolApprovalsError::Malformed(_))));
    }
}
