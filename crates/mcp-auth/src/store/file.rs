//! Secrets in a file that only its owner can read.
//!
//! They are not encrypted: a key derived from facts that every program on the machine can read would give no
//! protection. The file has mode 0600, in a folder of mode 0700.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mcp_safe::fs::{Draft, Lock, private_folder};
use mcp_transport::BoxFuture;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::{error::StoreError, interface::SecretStore, key::Key};
use crate::{
    event::{AuthEvent, OnEvent},
    secret::Secret,
};

const NAME: &str = "secrets.json";
const LOCK: &str = "secrets.lock";
/// The largest file that is read or written. A larger one was not written by this store.
const LARGEST: u64 = 4 << 20;
/// Larger than a login with the longest tokens that are accepted.
const LARGEST_SECRET: usize = 64 << 10;
/// A change takes about a millisecond; a process that holds the lock this long is stuck.
const LOCK_LIMIT: Duration = Duration::from_secs(20);

type Entries = BTreeMap<Key, Secret>;

/// Keeps secrets in `secrets.json`, unencrypted, in a folder that only the owner can read.
///
/// Changes are made under a lock between processes, by writing a new file and renaming it over the old
/// one: a crash or a full disk leaves the old file intact.
#[derive(Clone, Debug)]
pub struct FileStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    on_event: OnEvent,
    /// Writes bytes to the file. Tests replace it to simulate a full disk.
    write: fn(&mut File, &[u8]) -> io::Result<()>,
}

impl FileStore {
    /// Creates a store in `folder`, which is created by the first write.
    pub fn new(folder: impl Into<PathBuf>, on_event: OnEvent) -> Self {
        let write = |file: &mut File, bytes: &[u8]| file.write_all(bytes);
        Self { inner: Arc::new(Inner { folder: folder.into(), on_event, write }) }
    }

    /// Returns the path of the secrets file.
    pub fn path(&self) -> PathBuf {
        self.inner.folder.join(NAME)
    }
}

impl SecretStore for FileStore {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
        let (inner, key) = (self.inner.clone(), key.clone());
        Box::pin(off_thread(move || Ok(inner.read()?.remove(&key))))
    }

    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
        let (inner, key) = (self.inner.clone(), key.clone());
        if secret.expose().len() > LARGEST_SECRET {
            return Box::pin(async { Err(StoreError::TooLarge) });
        }
        Box::pin(off_thread(move || {
            inner.change(|entries| {
                // An unchanged secret is not written again, because every write waits for the disk.
                let before = entries.insert(key, secret.clone());
                ((), before != Some(secret))
            })
        }))
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (inner, key) = (self.inner.clone(), key.clone());
        Box::pin(off_thread(move || {
            // A lock would create the folder, and a logout without a login should leave nothing behind.
            if !inner.folder.join(NAME).exists() {
                return Ok(false);
            }
            inner.change(|entries| {
                let was_there = entries.remove(&key).is_some();
                (was_there, was_there)
            })
        }))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        let inner = self.inner.clone();
        Box::pin(off_thread(move || Ok(inner.read()?.into_keys().collect())))
    }
}

impl Inner {
    /// Reads the entries. Needs no lock, because the file is replaced by an atomic rename.
    fn read(&self) -> Result<Entries, StoreError> {
        match load(&self.folder.join(NAME))? {
            Loaded::Entries(entries) => Ok(entries),
            Loaded::Newer => Err(NEWER),
            // Read again under the lock before moving the file: another process may have replaced it meanwhile.
            Loaded::Damaged => {
                let _lock = self.lock()?;
                self.read_locked()
            }
        }
    }

    fn read_locked(&self) -> Result<Entries, StoreError> {
        let path = self.folder.join(NAME);
        match load(&path)? {
            Loaded::Entries(entries) => Ok(entries),
            Loaded::Newer => Err(NEWER),
            Loaded::Damaged => {
                let kept = set_aside(&path)?;
                self.on_event.tell(&AuthEvent::SecretsSetAside { kept });
                Ok(Entries::new())
            }
        }
    }

    /// Reads, changes and writes under the lock. `change` also returns whether a write is needed.
    fn change<T>(&self, change: impl FnOnce(&mut Entries) -> (T, bool)) -> Result<T, StoreError> {
        let _lock = self.lock()?;
        let mut entries = self.read_locked()?;
        let (result, is_changed) = change(&mut entries);
        if is_changed {
            self.save(&entries)?;
        }
        Ok(result)
    }

    fn lock(&self) -> Result<Lock, StoreError> {
        private_folder(&self.folder).map_err(StoreError::io("create the folder for secrets"))?;
        Lock::acquire(&self.folder.join(LOCK), LOCK_LIMIT)
            .map_err(StoreError::io("lock the secrets"))?
            .ok_or(StoreError::Busy)
    }

    fn save(&self, entries: &Entries) -> Result<(), StoreError> {
        let text = Zeroizing::new(to_text(entries));
        // A larger file would be treated as damaged by the next read.
        if u64::try_from(text.len()).is_ok_and(|length| length > LARGEST) {
            return Err(StoreError::TooLarge);
        }
        let written = Draft::private(&self.folder.join(NAME)).and_then(|mut draft| {
            (self.write)(draft.file(), text.as_bytes())?;
            draft.commit()
        });
        written.map_err(StoreError::io("write the secrets"))
    }
}

enum Loaded {
    Entries(Entries),
    Damaged,
    /// A newer version of this store wrote the file.
    Newer,
}

/// A file of a newer version is neither moved nor overwritten, because that version still uses it.
const NEWER: StoreError = StoreError::Unsupported("read a file written by a newer version");

fn load(path: &Path) -> Result<Loaded, StoreError> {
    let failed = || StoreError::io("read the secrets");
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Loaded::Entries(Entries::new()));
        }
        Err(error) => return Err(failed()(error)),
    };
    // This store always renames a regular file into place, so a symlink here was planted.
    if !about.is_file() || about.len() > LARGEST {
        return Ok(Loaded::Damaged);
    }
    let mut bytes = Zeroizing::new(Vec::new());
    // `take`: the file may have grown since its size was read.
    match File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes)) {
        Ok(_) => Ok(from_text(&bytes).unwrap_or(Loaded::Damaged)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Loaded::Entries(Entries::new()))
        }
        Err(error) => Err(failed()(error)),
    }
}

fn from_text(bytes: &[u8]) -> Option<Loaded> {
    let Value::Object(mut document) = serde_json::from_slice(bytes).ok()? else { return None };
    match document.get("version").and_then(Value::as_u64)? {
        0 => return None,
        1 => {}
        _ => return Some(Loaded::Newer),
    }
    let Some(Value::Object(entries)) = document.remove("entries") else { return None };
    let entry = |(line, value): (String, Value)| match value {
        Value::String(text) => Some((Key::from_line(&line)?, Secret::new(text))),
        _ => None,
    };
    // One invalid entry makes the file damaged, because a rewrite without it would lose a login silently.
    entries.into_iter().map(entry).collect::<Option<_>>().map(Loaded::Entries)
}

fn to_text(entries: &Entries) -> String {
    let entries: Map<String, Value> = entries
        .iter()
        .map(|(key, secret)| (key.to_line(), Value::String(secret.expose().to_owned())))
        .collect();
    let document = serde_json::json!({ "version": 1, "entries": entries });
    format!("{document:#}\n")
}

fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Kept rather than deleted: the user may still recover the secrets.
    let kept = path.with_extension(format!("json.damaged-{}", now.as_micros()));
    fs::rename(path, &kept).map_err(StoreError::io("move the damaged secrets file"))?;
    Ok(kept)
}

/// Runs `work` on a thread where blocking is allowed.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Unavailable("the worker thread ended early")),
    }
}

#[cfg(test)]
mod tests;
