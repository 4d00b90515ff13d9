//! A store together with the locks around what is in it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::{
    Key, SecretStore, StoreError, StoreMode,
    file::{FileStore, private_folder},
    memory::MemoryStore,
};
#[cfg(feature = "keyring")]
use super::{chain::ChainStore, keyring::KeyringStore};
use crate::{
    event::{AuthEvent, OnEvent},
    lock::FileLock,
    needs_auth::NeedsAuth,
};

/// Renewing a token takes a round trip or two. Whoever holds a lock this long is stuck.
const LOCK_LIMIT: Duration = Duration::from_secs(60);

/// Where a host keeps what it knows about its logins: secrets, the locks around them, and which servers
/// want a login. Shared by everything that authenticates.
///
/// ```no_run
/// # async fn example() -> Result<(), mcp_auth::StoreError> {
/// use mcp_auth::{OnEvent, StoreMode, Vault};
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

/// Nobody else changes this entry while it is held.
#[derive(Debug)]
pub(crate) struct VaultLock {
    _here: OwnedMutexGuard<()>,
    _everywhere: Option<FileLock>,
}

impl Vault {
    /// Opens the store that `mode` asks for. In `Auto` that is the keyring when a probe of a few seconds
    /// succeeds, else the file in `folder`, and then an event says so.
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

    /// Nothing outlives the process.
    pub fn in_memory(on_event: OnEvent) -> Self {
        Self::over(Arc::new(MemoryStore::new()), None, on_event)
    }

    /// Any store. Locks and the list of servers that want a login are in `folder`, or in this process
    /// only.
    pub fn over(store: Arc<dyn SecretStore>, folder: Option<PathBuf>, on_event: OnEvent) -> Self {
        let needs_auth = NeedsAuth::new(folder.as_deref());
        Self { store, folder, needs_auth, in_process: Mutex::default(), on_event }
    }

    /// The secrets themselves.
    pub fn store(&self) -> &Arc<dyn SecretStore> {
        &self.store
    }

    /// Which servers are known to want a login.
    pub fn needs_auth(&self) -> &NeedsAuth {
        &self.needs_auth
    }

    #[cfg_attr(
        not(feature = "oauth"),
        allow(dead_code, reason = "only logins change what they keep")
    )]
    pub(crate) fn on_event(&self) -> &OnEvent {
        &self.on_event
    }

    /// Waits until nobody else, in this process or another, works on this entry.
    #[cfg_attr(
        not(feature = "oauth"),
        allow(dead_code, reason = "only logins change what they keep")
    )]
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
                let lock = FileLock::acquire(&path, LOCK_LIMIT)
                    .await
                    .map_err(StoreError::io("lock a login"))?;
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

/// The keyring, if it works, before the file.
#[cfg(feature = "keyring")]
async fn keyring_with(file: FileStore) -> Result<Arc<dyn SecretStore>, StoreError> {
    let keyring = KeyringStore::platform().await?;
    keyring.probe().await?;
    Ok(Arc::new(ChainStore::new(Arc::new(keyring), Arc::new(file))))
}

#[cfg(not(feature = "keyring"))]
#[expect(clippy::unused_async, reason = "it is asked for like the one with a keyring")]
async fn keyring_with(_: FileStore) -> Result<Arc<dyn SecretStore>, StoreError> {
    Err(StoreError::Unavailable("this program was built without it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[tokio::test]
    async fn modes_choose_the_store() {
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
    async fn one_at_a_time_works_on_an_entry() {
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
}
