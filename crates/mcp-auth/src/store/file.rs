//! Secrets in one file that only its owner can read.
//!
//! They are not encrypted: a key derived from facts that every program on the machine can read protects
//! nothing, and would only look as if it did. What protects them is mode 0600 in a folder of mode 0700.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mcp_transport::BoxFuture;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::{Key, SecretStore, StoreError, off_thread};
use crate::{
    event::{AuthEvent, OnEvent},
    lock::FileLock,
    secret::Secret,
};

const NAME: &str = "secrets.json";
const LOCK: &str = "secrets.lock";
/// More than this was not written by us.
const LARGEST: u64 = 4 << 20;
/// A login with the longest tokens we take is shorter.
const LARGEST_SECRET: usize = 64 << 10;
/// A change takes a millisecond; whoever holds the lock this long is stuck.
const LOCK_LIMIT: Duration = Duration::from_secs(20);

type Entries = BTreeMap<Key, Secret>;

/// Keeps secrets in `secrets.json` in a folder of their own, unencrypted, readable by their owner only.
///
/// Changes are made under a lock between processes, by writing a new file and renaming it over the old
/// one: a crash or a full disk leaves the old file as it was.
#[derive(Clone, Debug)]
pub struct FileStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    on_event: OnEvent,
    /// How bytes reach the disk. Tests put a full one here.
    write: fn(&mut File, &[u8]) -> io::Result<()>,
}

impl FileStore {
    /// The store in `folder`, which is created when something is kept.
    pub fn new(folder: impl Into<PathBuf>, on_event: OnEvent) -> Self {
        let write = |file: &mut File, bytes: &[u8]| file.write_all(bytes);
        Self { inner: Arc::new(Inner { folder: folder.into(), on_event, write }) }
    }

    /// Where the secrets are.
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
                let before = entries.insert(key, secret.clone());
                ((), before != Some(secret))
            })
        }))
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (inner, key) = (self.inner.clone(), key.clone());
        Box::pin(off_thread(move || {
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
    /// What the file holds. Needs no lock, since a rename is atomic.
    fn read(&self) -> Result<Entries, StoreError> {
        match load(&self.folder.join(NAME))? {
            Loaded::Entries(entries) => Ok(entries),
            Loaded::Newer => Err(NEWER),
            // Whoever moves it must be alone, and must look again: it may have been mended meanwhile.
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

    /// Reads, changes and writes under the lock. `change` tells whether there is anything to write.
    fn change<T>(&self, change: impl FnOnce(&mut Entries) -> (T, bool)) -> Result<T, StoreError> {
        let _lock = self.lock()?;
        let mut entries = self.read_locked()?;
        let (result, is_changed) = change(&mut entries);
        if is_changed {
            self.save(&entries)?;
        }
        Ok(result)
    }

    fn lock(&self) -> Result<FileLock, StoreError> {
        private_folder(&self.folder).map_err(StoreError::io("create the folder for secrets"))?;
        FileLock::acquire_blocking(&self.folder.join(LOCK), LOCK_LIMIT)
            .map_err(StoreError::io("lock the secrets"))?
            .ok_or(StoreError::Busy)
    }

    fn save(&self, entries: &Entries) -> Result<(), StoreError> {
        let text = Zeroizing::new(to_text(entries));
        // It would be taken for damaged when it is read again.
        if u64::try_from(text.len()).is_ok_and(|length| length > LARGEST) {
            return Err(StoreError::TooLarge);
        }
        replace(&self.folder.join(NAME), |file| (self.write)(file, text.as_bytes()))
            .map_err(StoreError::io("write the secrets"))
    }
}

enum Loaded {
    Entries(Entries),
    Damaged,
    /// A later version of ourselves wrote it.
    Newer,
}

/// It works for whoever wrote it, so it is neither moved nor overwritten.
const NEWER: StoreError = StoreError::Unsupported("read what a newer version of it wrote");

fn load(path: &Path) -> Result<Loaded, StoreError> {
    let failed = || StoreError::io("read the secrets");
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Loaded::Entries(Entries::new()));
        }
        Err(error) => return Err(failed()(error)),
    };
    // A link here was planted: we always rename a real file into place.
    if !about.is_file() || about.len() > LARGEST {
        return Ok(Loaded::Damaged);
    }
    let mut bytes = Zeroizing::new(Vec::new());
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
    let kept = path.with_extension(format!("json.damaged-{}", now.as_micros()));
    fs::rename(path, &kept).map_err(StoreError::io("set the damaged secrets aside"))?;
    Ok(kept)
}

/// Creates the folder for its owner only, and makes it so if others can look inside.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    if !folder.is_dir() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Writes a new file beside `path`, waits until it is on disk, and renames it into place.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("new-{}-{count}", process::id()));
    // Left by a process with our id that died half way: its name is ours to take.
    let _ = fs::remove_file(&temporary);
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&temporary).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
        return done;
    }
    // The rename itself is on disk only when the folder is.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
