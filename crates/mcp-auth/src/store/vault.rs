//! A secret store together with the locks around its entries.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use mcp_safe::fs::{Lock, private_folder};
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
    time::Instant,
};

#[cfg(feature = "keyring")]
use super::{chain::ChainStore, keyring::KeyringStore};
use super::{
    error::StoreError,
    file::FileStore,
    interface::{SecretStore, StoreMode},
    key::Key,
    memory::MemoryStore,
    needs_auth::NeedsAuth,
};
use crate::event::{AuthEvent, OnEvent};

/// Renewing a token takes a round trip or two. A process that holds a lock this long is stuck.
const LOCK_LIMIT: Duration = Duration::from_secs(60);
/// The pause between two tries for a lock: short at first, because most are held for a millisecond.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The secrets of a host, the locks around them, and the list of servers that require a login. Shared by all
/// credentials of the host.
///
/// ```no_run
/// # async fn example() -> Result<(), mcp_auth::store::StoreError> {
/// use mcp_auth::{OnEvent, store::{StoreMode, Vault}};
///
/// let folder = std::path::Path::new("state/auth");
/// let vault = Vault::open(StoreMode::Auto, folder, OnEvent::default()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Vault {
    store: Arc<dyn SecretStore>,
    folder: Option<PathBuf>,
    needs_auth: NeedsAuth,
    in_process: Mutex<HashMap<Key, Weak<AsyncMutex<()>>>>,
    on_event: OnEvent,
}

/// An exclusive lock on one entry, in this process and between processes.
#[derive(Debug)]
pub(crate) struct VaultLock {
    _here: OwnedMutexGuard<()>,
    _everywhere: Option<Lock>,
}

impl Vault {
    /// Opens the store selected by `mode`. `Auto` probes the keyring for a few seconds; if that fails, it uses the
    /// file in `folder` and reports an event.
    pub async fn open(
        mode: StoreMode,
        folder: &Path,
        on_event: OnEvent,
    ) -> Result<Self, StoreError> {
        let file = FileStore::new(folder, on_event.clone());
        let store: Arc<dyn SecretStore> = match mode {
            StoreMode::Memory => return Ok(Self::in_memory(on_event)),
            StoreMode::File => Arc::new(file),
            StoreMode::Keyring => keyring_with(file).await?,
            StoreMode::Auto => match keyring_with(file.clone()).await {
                Ok(both) => both,
                Err(why) => {
                    let reason = why.to_string();
                    on_event.tell(&AuthEvent::KeyringUnavailable { reason, file: file.path() });
                    Arc::new(file)
                }
            },
        };
        Ok(Self::over(store, Some(folder.to_owned()), on_event))
    }

    /// Creates a vault in memory. Its secrets are lost when the process ends.
    pub fn in_memory(on_event: OnEvent) -> Self {
        Self::over(Arc::new(MemoryStore::new()), None, on_event)
    }

    /// Creates a vault with any store. Locks and the list of servers that require a login are in `folder`, or in
    /// this process only if it is `None`.
    pub fn over(store: Arc<dyn SecretStore>, folder: Option<PathBuf>, on_event: OnEvent) -> Self {
        let needs_auth = NeedsAuth::new(folder.as_deref());
        Self { store, folder, needs_auth, in_process: Mutex::default(), on_event }
    }

    /// Returns the secret store.
    pub fn store(&self) -> &Arc<dyn SecretStore> {
        &self.store
    }

    /// Returns the list of servers that require a login.
    pub fn needs_auth(&self) -> &NeedsAuth {
        &self.needs_auth
    }

    #[cfg_attr(
        not(feature = "oauth"),
        allow(dead_code, reason = "only OAuth logins report events")
    )]
    pub(crate) fn on_event(&self) -> &OnEvent {
        &self.on_event
    }

    /// Locks one entry, waiting for other tasks and processes.
    #[cfg_attr(not(feature = "oauth"), allow(dead_code, reason = "only OAuth logins lock entries"))]
    pub(crate) async fn lock(&self, key: &Key) -> Result<VaultLock, StoreError> {
        let here = self.in_process(key);
        let here = tokio::time::timeout(LOCK_LIMIT, here.lock_owned())
            .await
            .map_err(|_| StoreError::Busy)?;
        let everywhere = match &self.folder {
            None => None,
            Some(folder) => {
                let folder = folder.join("locks");
                private_folder(&folder).map_err(StoreError::io("create the folder for locks"))?;
                let path = folder.join(key.file_name()).with_extension("lock");
                let lock =
                    acquire(&path, LOCK_LIMIT).await.map_err(StoreError::io("lock a login"))?;
                Some(lock.ok_or(StoreError::Busy)?)
            }
        };
        Ok(VaultLock { _here: here, _everywhere: everywhere })
    }

    fn in_process(&self, key: &Key) -> Arc<AsyncMutex<()>> {
        let mut locks = self.in_process.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(AsyncMutex::new(()));
        locks.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }
}

/// Waits for a lock between processes without holding a thread. `None` when `limit` has passed.
///
/// # Cancel safety
/// Dropped while waiting, it holds no lock.
async fn acquire(path: &Path, limit: Duration) -> io::Result<Option<Lock>> {
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        // Opening and trying take microseconds and never block.
        if let Some(lock) = Lock::try_acquire(path)? {
            return Ok(Some(lock));
        }
        if began.elapsed() >= limit {
            return Ok(None);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Returns the keyring chained with the file, if the keyring works.
#[cfg(feature = "keyring")]
async fn keyring_with(file: FileStore) -> Result<Arc<dyn SecretStore>, StoreError> {
    let keyring = KeyringStore::platform().await?;
    keyring.probe().await?;
    Ok(Arc::new(ChainStore::new(Arc::new(keyring), Arc::new(file))))
}

#[cfg(not(feature = "keyring"))]
#[expect(clippy::unused_async, reason = "same signature as with the keyring feature")]
async fn keyring_with(_: FileStore) -> Result<Arc<dyn SecretStore>, StoreError> {
    Err(StoreError::Unavailable("this program was built without keyring support"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[tokio::test]
    async fn store_mode_selects_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let open = |mode| Vault::open(mode, folder.path(), OnEvent::default());
        let key = Key::named("x");
        let file = open(StoreMode::File).await.unwrap();
        file.store().set(&key, Secret::new("1")).await.unwrap();
        assert!(folder.path().join("secrets.json").exists());
        let memory = open(StoreMode::Memory).await.unwrap();
        assert_eq!(memory.store().get(&key).await.unwrap(), None);
    }

    #[tokio::test]
    async fn vault_lock_excludes_other_vaults_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Vault::open(StoreMode::File, folder.path(), OnEvent::default());
        let (one, two) = (open().await.unwrap(), open().await.unwrap());
        let (key, other) = (Key::named("x"), Key::named("y"));
        let held = one.lock(&key).await.unwrap();
        let _other = two.lock(&other).await.unwrap();
        let waiting = tokio::time::timeout(Duration::from_millis(30), two.lock(&key)).await;
        assert!(waiting.is_err());
        drop(held);
        two.lock(&key).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_vault_lock_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let _held = Lock::try_acquire(&path).unwrap().unwrap();
        assert!(acquire(&path, Duration::from_secs(60)).await.unwrap().is_none());
    }
}
