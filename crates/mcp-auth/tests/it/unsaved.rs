//! Logins with a store that fails or writes late: no token is lost or used twice.

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mcp_auth::{
    AuthEvent, LoginError, Logout, OnEvent, Secret,
    store::{Key, MemoryStore, SecretStore, StoreError, Vault},
};
use mcp_transport::BoxFuture;

use crate::support::{Host, Knob, Reply, SERVER, World, browser};

const TOKEN: &str = "POST https://as.test/token";
const HOUR: Duration = Duration::from_secs(3601);

/// The outcome of a write.
#[derive(Clone, Copy, Debug)]
enum Writes {
    Kept,
    Lost,
    /// Reported as failed, and carried out later by the test.
    Late,
}

#[derive(Debug)]
struct Unreliable {
    inner: MemoryStore,
    writes: Mutex<Writes>,
    late: Mutex<Vec<(Key, Secret)>>,
}

impl Unreliable {
    fn new(writes: Writes) -> Arc<Self> {
        let (inner, late) = (MemoryStore::new(), Mutex::default());
        Arc::new(Self { inner, writes: Mutex::new(writes), late })
    }

    fn turn(&self, writes: Writes) {
        *self.writes.lock().unwrap() = writes;
    }

    async fn carry_out(&self) {
        let late = mem::take(&mut *self.late.lock().unwrap());
        assert!(!late.is_empty());
        for (key, secret) in late {
            self.inner.set(&key, secret).await.unwrap();
        }
    }
}

impl SecretStore for Unreliable {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
        self.inner.get(key)
    }

    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
        let writes = *self.writes.lock().unwrap();
        match writes {
            Writes::Kept => return self.inner.set(key, secret),
            Writes::Lost => {}
            Writes::Late => self.late.lock().unwrap().push((key.clone(), secret)),
        }
        Box::pin(async { Err(StoreError::TimedOut(Duration::from_secs(60))) })
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.delete(key)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        self.inner.list()
    }
}

/// A host with this store that has logged in and cannot prompt the user again.
async fn logged_in(world: &Arc<World>, store: &Arc<Unreliable>) -> Host {
    let vault = Arc::new(Vault::over(store.clone(), None, OnEvent::default()));
    let host = Host::over(world, vault, |options| options.interact = None);
    host.auth.login(&browser(world)).await.unwrap();
    host
}

#[tokio::test(start_paused = true)]
async fn login_that_cannot_be_stored_is_renewed_until_the_process_ends() {
    let world = Arc::new(World::new());
    let store = Unreliable::new(Writes::Lost);
    let host = logged_in(&world, &store).await;
    for renewals in 1..5 {
        tokio::time::advance(HOUR).await;
        host.call().await.unwrap();
        assert_eq!(world.asked(TOKEN), 1 + renewals);
    }
    // Rejected instead of expired.
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    assert!(host.auth.is_logged_in().await.unwrap());
    assert!(store.inner.list().await.unwrap().is_empty());
    store.turn(Writes::Kept);
    tokio::time::advance(HOUR).await;
    host.call().await.unwrap();
    host.twin(|options| options.interact = None).call().await.unwrap();
    assert_eq!(world.look(|authority| authority.double_spends), 0);
}

#[tokio::test]
async fn new_login_is_renewed_after_a_rejection_though_it_is_not_stored() {
    let world = Arc::new(World::new());
    let host = logged_in(&world, &Unreliable::new(Writes::Lost)).await;
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 2);
}

#[tokio::test(start_paused = true)]
async fn login_is_kept_in_memory_if_no_lock_can_be_taken() {
    let world = Arc::new(World::new());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth");
    // A file at the path of the folder.
    std::fs::write(&path, "").unwrap();
    let told = Arc::new(Knob::new(0));
    let count = told.clone();
    let on_event = OnEvent::new(move |event| {
        *count.lock().unwrap() += usize::from(matches!(event, AuthEvent::NotStored { .. }));
    });
    let vault = Arc::new(Vault::over(Arc::new(MemoryStore::new()), Some(path), on_event));
    let host = Host::over(&world, vault, |options| options.interact = None);
    host.auth.login(&browser(&world)).await.unwrap();
    assert_eq!(*told.lock().unwrap(), 1);
    for _ in 0..3 {
        tokio::time::advance(HOUR).await;
        host.call().await.unwrap();
    }
    // The stored login of another process is renewed only under a lock.
    let asked = world.asked(TOKEN);
    host.twin(|options| options.interact = None).call().await.unwrap_err();
    assert_eq!(world.asked(TOKEN), asked);
}

#[tokio::test(start_paused = true)]
async fn late_write_does_not_restore_a_used_refresh_token() {
    for last in [Writes::Lost, Writes::Kept] {
        let world = Arc::new(World::new());
        let store = Unreliable::new(Writes::Kept);
        let host = logged_in(&world, &store).await;
        store.turn(Writes::Late);
        tokio::time::advance(HOUR).await;
        host.call().await.unwrap();
        store.turn(last);
        tokio::time::advance(HOUR).await;
        host.call().await.unwrap();
        // The user responds to the keyring's prompt late.
        store.carry_out().await;
        store.turn(Writes::Kept);
        for _ in 0..2 {
            tokio::time::advance(HOUR).await;
            host.call().await.unwrap();
        }
        assert_eq!(world.look(|authority| authority.double_spends), 0, "{last:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn logout_in_another_process_ends_a_login_that_was_stored_late() {
    let world = Arc::new(World::new());
    let store = Unreliable::new(Writes::Lost);
    let host = logged_in(&world, &store).await;
    store.turn(Writes::Kept);
    tokio::time::advance(HOUR).await;
    host.call().await.unwrap();
    host.twin(|options| options.interact = None).auth.logout().await.unwrap();
    tokio::time::advance(HOUR).await;
    host.call().await.unwrap_err();
    assert_eq!(world.look(|authority| authority.double_spends), 0);
}

/// A store that fails while it is broken.
#[derive(Debug, Default)]
struct Fragile {
    inner: MemoryStore,
    is_broken: AtomicBool,
}

impl Fragile {
    fn check(&self) -> Result<(), StoreError> {
        let is_broken = self.is_broken.load(Ordering::SeqCst);
        if is_broken { Err(StoreError::Locked) } else { Ok(()) }
    }
}

impl SecretStore for Fragile {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
        Box::pin(async {
            self.check()?;
            self.inner.get(key).await
        })
    }

    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            self.check()?;
            self.inner.set(key, secret).await
        })
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async {
            self.check()?;
            self.inner.delete(key).await
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        self.inner.list()
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_that_cannot_be_stored_are_used_and_stored_later() {
    let world = Arc::new(World::new());
    let told = Arc::new(Knob::new(Vec::new()));
    let events = told.clone();
    let on_event = OnEvent::new(move |event| events.lock().unwrap().push(event.clone()));
    let store = Arc::new(Fragile::default());
    let vault = Arc::new(Vault::over(store.clone(), None, on_event));
    let host = Host::over(&world, vault, |options| options.interact = None);
    host.auth.login(&browser(&world)).await.unwrap();

    // For example a full disk or a locked keyring, for three renewals in a row.
    store.is_broken.store(true, Ordering::SeqCst);
    host.auth.login(&browser(&world)).await.unwrap();
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(3600)).await;
        host.call().await.unwrap();
    }
    let not_stored = |event: &&AuthEvent| matches!(event, AuthEvent::NotStored { .. });
    assert_eq!(told.lock().unwrap().iter().filter(not_stored).count(), 4);

    store.is_broken.store(false, Ordering::SeqCst);
    tokio::time::advance(Duration::from_secs(3600)).await;
    host.call().await.unwrap();
    host.twin(|options| options.interact = None).call().await.unwrap();
    assert_eq!(world.look(|authority| authority.double_spends), 0);
}

#[tokio::test]
async fn failed_store_is_reported_only_if_the_server_requires_a_login() {
    let world = Arc::new(World::new());
    let store = Arc::new(Fragile::default());
    store.is_broken.store(true, Ordering::SeqCst);
    let vault = Arc::new(Vault::over(store, None, OnEvent::default()));
    let host = Host::over(&world, vault, |options| options.interact = None);
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.contains("the secret store failed"), "{failure}");
    world.script(&format!("POST {SERVER}"), Reply::status(200));
    host.call().await.unwrap();
}

#[tokio::test]
async fn logout_succeeds_if_no_lock_can_be_taken() {
    let world = Arc::new(World::new());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth");
    let store = Arc::new(MemoryStore::new());
    let vault = Arc::new(Vault::over(store.clone(), Some(path.clone()), OnEvent::default()));
    let host = Host::over(&world, vault, |options| options.interact = None);
    host.auth.login(&browser(&world)).await.unwrap();
    assert!(!store.list().await.unwrap().is_empty());
    // Replace the folder of the locks with a file.
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    assert_eq!(host.auth.logout().await.unwrap(), Logout::Revoked);
    let logins = store.list().await.unwrap();
    assert!(!logins.iter().any(|key| key.to_string().contains("mcp.test")), "{logins:?}");
    assert!(world.look(|authority| authority.tokens.is_empty()));
    assert!(!host.auth.is_logged_in().await.unwrap());
}

#[tokio::test]
async fn logout_with_a_failed_store_reports_it_and_revokes_the_tokens() {
    let world = Arc::new(World::new());
    let store = Arc::new(Fragile::default());
    store.is_broken.store(true, Ordering::SeqCst);
    let vault = Arc::new(Vault::over(store, None, OnEvent::default()));
    let host = Host::over(&world, vault, |options| options.interact = None);
    host.auth.login(&browser(&world)).await.unwrap();
    let error = host.auth.logout().await.unwrap_err();
    assert!(matches!(error, LoginError::Store(StoreError::Locked)), "{error}");
    assert!(world.look(|authority| authority.tokens.is_empty()), "tokens were not revoked");
    host.call().await.unwrap_err();
}

#[tokio::test]
async fn login_without_a_refresh_token_is_reported_as_not_stored() {
    let world = Arc::new(World::new());
    world.authority(|authority| authority.gives_refresh = false);
    let told = Arc::new(Knob::new(Vec::new()));
    let events = told.clone();
    let on_event = OnEvent::new(move |event| {
        if let AuthEvent::NotStored { reason, .. } = event {
            events.lock().unwrap().push(reason.clone());
        }
    });
    let vault = Arc::new(Vault::in_memory(on_event));
    let host = Host::over(&world, vault, |options| options.interact = None);
    host.auth.login(&browser(&world)).await.unwrap();
    assert_eq!(*told.lock().unwrap(), ["the server issued no refresh token"]);
    host.call().await.unwrap();
    assert!(!host.twin(|_| {}).auth.is_logged_in().await.unwrap());
}
