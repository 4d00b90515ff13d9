//! Secrets in the keyring of the operating system or the Linux kernel.
//!
//! Opening a keyring proves nothing: a locked one opens and fails at the first write. It is therefore
//! [probed](KeyringStore::probe) with a whole round trip. Every call runs on a separate thread with a time limit,
//! because a desktop may show a prompt that the user does not see.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use keyring_core::{CredentialStore, Error};
use mcp_transport::BoxFuture;
use tokio::sync::oneshot;

use super::{error::StoreError, interface::SecretStore, key::Key};
use crate::secret::Secret;

/// The service name of our entries in the keyring.
const SERVICE: &str = "mcp-auth";
/// Long enough for the user to type a password, short enough to notice that the prompt is ignored.
const LIMIT: Duration = Duration::from_secs(60);
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// Limits the threads that a keyring which does not respond can block, one per call.
const MOST_CALLS: usize = 64;

/// A [`SecretStore`] in a keyring.
#[derive(Clone)]
pub struct KeyringStore {
    open: Arc<Open>,
    service: String,
    limit: Duration,
}

/// Opens the keyring on the thread that is about to use it.
type Open = dyn Fn() -> Result<Arc<CredentialStore>, StoreError> + Send + Sync;

impl KeyringStore {
    /// Opens the keyring of the operating system: Secret Service, Keychain, Credential Manager.
    ///
    /// The result of the first call applies for the life of the process.
    #[cfg(feature = "keyring")]
    pub async fn platform() -> Result<Self, StoreError> {
        let open = || super::platform::open().map_err(translate);
        Ok(Self::over(timely(PROBE_LIMIT, open).await?))
    }

    /// Opens the Linux kernel's keyring, which is in memory and cleared by a reboot.
    #[cfg(all(feature = "keyutils", target_os = "linux"))]
    pub async fn keyutils() -> Result<Self, StoreError> {
        use linux_keyutils_keyring_store::Store;
        // The first use of a store creates the session keyring of a process without one. That store holds the id
        // of another keyring and is denied access; the next one works, on the threads that share the new keyring.
        let open = || {
            for _ in 0..3 {
                let store: Arc<CredentialStore> =
                    Store::new().map_err(|error| translate(&error))?;
                let entry = store.build(SERVICE, "trial", None);
                match entry.and_then(|entry| entry.get_password()) {
                    Err(Error::NoStorageAccess(_)) => {}
                    _ => return Ok(store),
                }
            }
            Err(StoreError::Locked)
        };
        timely(PROBE_LIMIT, open).await?;
        Ok(Self { open: Arc::new(open), service: SERVICE.to_owned(), limit: LIMIT })
    }

    /// Uses any keyring of `keyring-core`.
    pub fn over(store: Arc<CredentialStore>) -> Self {
        let open = Arc::new(move || Ok(store.clone()));
        Self { open, service: SERVICE.to_owned(), limit: LIMIT }
    }

    /// Uses another service name, which separates the entries from those of other hosts.
    #[must_use]
    pub fn for_service(mut self, service: impl Into<String>) -> Self {
        self.service = service.into();
        self
    }

    /// Sets the time limit of each call. Default 1 minute.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Checks that the keyring works by writing, reading and deleting a secret within a few seconds.
    pub async fn probe(&self) -> Result<(), StoreError> {
        // Concurrent probes must not delete each other's entry. A process id is not unique enough: containers that
        // share a keyring may all run as process 1.
        let random = RandomState::new().build_hasher().finish();
        self.probe_at(&Key::named(format!("probe-{random:016x}"))).await
    }

    async fn probe_at(&self, key: &Key) -> Result<(), StoreError> {
        let probe = self.clone().with_limit(self.limit.min(PROBE_LIMIT));
        let written = Secret::new("probe");
        probe.set(key, written.clone()).await?;
        let read = probe.get(key).await;
        probe.delete(key).await?;
        match read? {
            Some(read) if read == written => Ok(()),
            _ => Err(StoreError::Unavailable("it returned a different value than was written")),
        }
    }

    fn entry(&self, key: &Key) -> Result<keyring_core::Entry, StoreError> {
        let store = (self.open)()?;
        store.build(&self.service, &key.to_line(), None).map_err(|error| translate(&error))
    }
}

impl fmt::Debug for KeyringStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyringStore").field("service", &self.service).finish_non_exhaustive()
    }
}

impl SecretStore for KeyringStore {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
        let (this, key) = (self.clone(), key.clone());
        Box::pin(timely(self.limit, move || match this.entry(&key)?.get_password() {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(translate(&error)),
        }))
    }

    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
        let (this, key) = (self.clone(), key.clone());
        Box::pin(timely(self.limit, move || {
            this.entry(&key)?.set_password(secret.expose()).map_err(|error| translate(&error))
        }))
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (this, key) = (self.clone(), key.clone());
        Box::pin(timely(self.limit, move || match this.entry(&key)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(translate(&error)),
        }))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        let this = self.clone();
        Box::pin(timely(self.limit, move || {
            let wanted = HashMap::from([("service", this.service.as_str())]);
            let entries = (this.open)()?.search(&wanted).map_err(|error| translate(&error))?;
            let line = |entry: keyring_core::Entry| {
                // Some stores return the name with the entry, others among its attributes.
                let name = entry.get_specifiers().map(|(_, user)| user);
                name.or_else(|| entry.get_attributes().ok()?.remove("username"))
            };
            let mut keys: Vec<Key> =
                entries.into_iter().filter_map(|entry| Key::from_line(&line(entry)?)).collect();
            keys.sort();
            Ok(keys)
        }))
    }
}

/// Runs `work` on a new thread and waits at most `limit` for its result.
///
/// The thread itself cannot be stopped: it ends when the keyring responds, and its result is dropped. It is not a
/// thread of the runtime, which would wait for it at shutdown.
async fn timely<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let call = Call::begin().ok_or(StoreError::Unavailable("it does not respond"))?;
    let (answer, answered) = oneshot::channel();
    let thread = thread::Builder::new().name("keyring".to_owned()).spawn(move || {
        let _call = call;
        // The receiver is gone after the time limit.
        let _ = answer.send(work());
    });
    thread.map_err(StoreError::io("start a thread for the keyring"))?;
    match tokio::time::timeout(limit, answered).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(StoreError::Unavailable("the worker thread ended early")),
        Err(_) => Err(StoreError::TimedOut(limit)),
    }
}

/// One call in progress, counted in [`CALLS`].
struct Call;

static CALLS: AtomicUsize = AtomicUsize::new(0);

impl Call {
    fn begin() -> Option<Self> {
        let more = |calls| (calls < MOST_CALLS).then_some(calls + 1);
        CALLS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Replaces errors of the keyring with our own, because some carry the secret that they could not decode.
fn translate(error: &Error) -> StoreError {
    match error {
        Error::NoStorageAccess(_) => StoreError::Locked,
        Error::NoDefaultStore => StoreError::Unavailable("this machine has none"),
        Error::PlatformFailure(_) => StoreError::Unavailable("it cannot be reached"),
        Error::TooLong(..) => StoreError::TooLarge,
        Error::Invalid(what, _) if what == "password" => StoreError::TooLarge,
        Error::NotSupportedByStore(_) => StoreError::Unsupported("do this"),
        Error::Ambiguous(_) => StoreError::Unavailable("several entries have the same name"),
        Error::BadEncoding(_) | Error::BadDataFormat(..) | Error::BadStoreFormat(_) => {
            StoreError::Unavailable("its entry was written by another program")
        }
        _ => StoreError::Unavailable("unknown error"),
    }
}

#[cfg(test)]
mod tests {
    use keyring_core::mock;

    use super::*;

    fn mocked() -> (KeyringStore, Arc<mock::Store>) {
        let store = mock::Store::new().unwrap();
        (KeyringStore::over(store.clone()), store)
    }

    fn break_next(keyring: &KeyringStore, key: &Key, error: Error) {
        let entry = keyring.entry(key).unwrap();
        let credential = entry.as_any().downcast_ref::<mock::Cred>().unwrap();
        credential.set_error(error);
    }

    #[tokio::test]
    async fn keyring_entry_is_found_and_deleted_once() {
        let (keyring, _mock) = mocked();
        let key = Key::new("https://a.test/mcp", "https://as.test", "me");
        assert_eq!(keyring.get(&key).await.unwrap(), None);
        keyring.set(&key, Secret::new("1")).await.unwrap();
        assert_eq!(keyring.get(&key).await.unwrap(), Some(Secret::new("1")));
        assert!(keyring.delete(&key).await.unwrap());
        assert!(!keyring.delete(&key).await.unwrap());
        keyring.probe().await.unwrap();
    }

    #[tokio::test]
    async fn a_locked_keyring_fails_the_probe() {
        let (keyring, _mock) = mocked();
        let probe = Key::named("probe");
        break_next(&keyring, &probe, Error::NoStorageAccess("locked".into()));
        assert!(matches!(keyring.probe_at(&probe).await, Err(StoreError::Locked)));
    }

    #[tokio::test]
    async fn keyring_errors_do_not_show_the_secret() {
        let (keyring, _mock) = mocked();
        let key = Key::named("x");
        for error in
            [Error::BadEncoding(b"canary".to_vec()), Error::BadStoreFormat("canary".into())]
        {
            keyring.set(&key, Secret::new("1")).await.unwrap();
            break_next(&keyring, &key, error);
            let error = keyring.get(&key).await.unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"));
        }
    }

    #[tokio::test]
    async fn keyring_that_does_not_respond_times_out() {
        let (answer, asked) = std::sync::mpsc::channel::<()>();
        let waited = timely(Duration::from_millis(10), move || {
            let _ = asked.recv();
            Ok(())
        });
        assert!(matches!(waited.await, Err(StoreError::TimedOut(_))));
        drop(answer);
    }

    #[test]
    fn keyring_that_does_not_respond_does_not_block_shutdown() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (answer, asked) = std::sync::mpsc::channel::<()>();
        let waited = runtime.block_on(timely(Duration::from_millis(10), move || {
            let _ = asked.recv();
            Ok(())
        }));
        assert!(matches!(waited, Err(StoreError::TimedOut(_))));
        let (ended, end) = std::sync::mpsc::channel();
        let ending = thread::spawn(move || {
            drop(runtime);
            let _ = ended.send(());
        });
        let is_over = end.recv_timeout(Duration::from_secs(10)).is_ok();
        drop(answer);
        ending.join().unwrap();
        assert!(is_over, "the runtime waited for the keyring");
    }
}
