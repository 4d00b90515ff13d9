//! The login of one account at one server: the stored state, and changes that could not be stored yet.
//!
//! Renewals go through [`LockedLogins`], which holds the lock between processes. Access tokens are never stored: a
//! stored login has a refresh token only.

mod conditions;
mod login;
mod pending_save;
mod records;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use self::login::Login;
use self::{conditions::LoginConditions, pending_save::PendingSave, records::LoginRecords};
use super::{client::PreRegistered, options::OAuthOptions, proof::dpop::Dpop};
use crate::{
    error::LoginError,
    event::AuthEvent,
    store::{SecretStore, StoreError, Vault, VaultLock, signature},
};

/// Loads and stores the login of one account at one server.
#[derive(Debug)]
pub(crate) struct LoginStore {
    records: LoginRecords,
    vault: Arc<Vault>,
    given: Option<PreRegistered>,
    /// Whether stored logins without a `DPoP` key are ignored.
    must_bind: bool,
    memory: Mutex<Memory>,
}

/// State of this process that is not in the store.
#[derive(Debug, Default)]
struct Memory {
    /// A login newer than the stored one.
    pending: Option<PendingSave>,
    /// The issuer that the configured credential was sent to, in case it could not be stored.
    pinned: Option<String>,
}

impl LoginStore {
    pub(crate) fn new(options: &OAuthOptions) -> Self {
        let records = LoginRecords {
            server: signature(&options.server),
            account: options.account.clone(),
            conditions: LoginConditions::of(options),
        };
        Self {
            records,
            vault: options.vault.clone(),
            given: options.client.clone(),
            must_bind: options.dpop == Dpop::Always,
            memory: Mutex::default(),
        }
    }

    /// Returns the signature of the server.
    pub(crate) fn server(&self) -> &str {
        &self.records.server
    }

    /// Loads the stored login, or the one in memory if that is newer.
    pub(crate) async fn load(&self) -> Result<Option<Login>, LoginError> {
        let stored = self.load_stored().await;
        let mut memory = self.memory();
        let Some(pending) = &mut memory.pending else { return stored };
        match stored {
            Err(_) => Ok(Some(pending.login.clone())),
            Ok(stored) => {
                let generation = stored.as_ref().map(|stored| stored.generation.as_str());
                let is_newer = pending.is_newer_than(generation);
                Ok(if is_newer { Some(pending.login.clone()) } else { stored })
            }
        }
    }

    /// Locks the logins for a renewal.
    pub(crate) async fn lock_for_renewal(&self) -> Result<LockedLogins<'_>, LoginError> {
        match self.lock().await {
            Err(error) if matches!(error, StoreError::Busy) || self.memory().pending.is_none() => {
                Err(error.into())
            }
            // Where no lock can be taken, nothing can be stored either. A login in memory only needs no lock.
            lock => Ok(LockedLogins { logins: self, lock: lock.ok() }),
        }
    }

    /// Stores a new login as the current one. If that fails, it is kept in memory.
    pub(crate) async fn save_new(&self, login: Login) -> Result<(), LoginError> {
        let lock = self.lock().await;
        let saved = match &lock {
            Ok(_) => self.save(&login).await,
            Err(_) => Ok(()),
        };
        let last = self.memory().pending.take();
        let is_saved = lock.is_ok() && saved.is_ok();
        let pending = match (is_saved, last) {
            (true, last) => last.map(|last| last.superseded_by(login, None).saved()),
            (false, Some(last)) => Some(last.superseded_by(login, None)),
            (false, None) => {
                // The stored login, if any, is older than this one.
                Some(match self.load_stored().await {
                    Ok(stored) => PendingSave::new(login, stored.map(|stored| stored.generation)),
                    Err(_) => PendingSave::without_stored_state(login),
                })
            }
        };
        self.memory().pending = pending;
        lock?;
        saved
    }

    /// Records a login without a refresh token: deletes the earlier login and stores the issuer only.
    pub(crate) async fn save_issuer_only(&self, issuer: &str) -> Result<(), LoginError> {
        self.memory().pending = None;
        let _lock = self.lock().await?;
        self.records.drop_login(self.store(), issuer).await?;
        self.records.point(self.store(), issuer).await
    }

    /// Stores the issuer that the configured credential belongs to, so that it is never sent to another.
    pub(crate) async fn pin(&self, issuer: &str) -> Result<(), LoginError> {
        self.memory().pinned = Some(issuer.to_owned());
        let _lock = self.lock().await?;
        self.records.point(self.store(), issuer).await
    }

    /// Fails if the configured client id was registered with another issuer, where it may name a different client.
    pub(crate) async fn check_issuer(&self, issuer: &str) -> Result<(), LoginError> {
        let Some(given) = &self.given else { return Ok(()) };
        let known = match &given.issuer {
            Some(issuer) => Some(issuer.clone()),
            None => match self.records.bound(self.store()).await? {
                Some(bound) => Some(bound),
                None => self.memory().pinned.clone(),
            },
        };
        match known {
            Some(known) if known != issuer => Err(LoginError::IssuerChanged),
            _ => Ok(()),
        }
    }

    /// Deletes the login, and returns it for revocation.
    pub(crate) async fn take(&self) -> TakenLogin {
        // Without the lock, a renewal in another process may restore the login. That is better than a logout that
        // does nothing because a folder cannot be written.
        let lock = self.lock().await;
        if let Err(error) = &lock {
            tracing::debug!(%error, "logging out without the lock");
        }
        let login = self.load().await;
        self.memory().pending = None;
        let cleared = self.records.clear(self.store(), self.given.is_some()).await;
        TakenLogin { login, cleared, _lock: lock.ok() }
    }

    pub(crate) fn tell(&self, event: impl FnOnce(String) -> AuthEvent) {
        self.vault.on_event().tell(&event(self.records.server.clone()));
    }

    pub(crate) fn tell_not_stored(&self, reason: &str) {
        let reason = reason.to_owned();
        self.tell(|server| AuthEvent::NotStored { server, reason });
    }

    async fn lock(&self) -> Result<VaultLock, StoreError> {
        self.vault.lock(&self.records.pointer()).await
    }

    fn store(&self) -> &dyn SecretStore {
        &**self.vault.store()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn load_stored(&self) -> Result<Option<Login>, LoginError> {
        let stored = self.records.load(self.store(), self.given.as_ref()).await?;
        Ok(stored.filter(|login| login.dpop.is_some() || !self.must_bind))
    }

    async fn save(&self, login: &Login) -> Result<(), LoginError> {
        self.records.save(self.store(), login, self.given.is_some()).await
    }
}

/// A login that was deleted from the store.
#[derive(Debug)]
pub(crate) struct TakenLogin {
    pub(crate) login: Result<Option<Login>, LoginError>,
    /// The result of deleting it from the store.
    pub(crate) cleared: Result<(), LoginError>,
    _lock: Option<VaultLock>,
}

/// The logins, locked against other tasks and processes.
#[derive(Debug)]
pub(crate) struct LockedLogins<'a> {
    logins: &'a LoginStore,
    lock: Option<VaultLock>,
}

impl LockedLogins<'_> {
    /// Loads the login to renew. Without a lock, only a login in memory is returned.
    pub(crate) async fn current(&self) -> Result<Option<Login>, LoginError> {
        let Some(login) = self.logins.load().await? else { return Ok(None) };
        let memory = self.logins.memory();
        let is_ours =
            memory.pending.as_ref().is_some_and(|own| own.login.generation == login.generation);
        if self.lock.is_none() && !is_ours {
            return Err(StoreError::Unavailable("logins cannot be locked").into());
        }
        Ok(Some(login))
    }

    /// Replaces `before` with `renewed`, unless the stored login has changed since. If it cannot be stored, it is
    /// kept in memory and stored later.
    pub(crate) async fn replace(&self, before: &Login, renewed: Login) {
        let logins = self.logins;
        let saved = match logins.load_stored().await {
            Ok(stored) if !self.is_current(stored.as_ref(), before) => return,
            Ok(_) => logins.save(&renewed).await,
            Err(error) => Err(error),
        };
        let before = before.generation.as_str();
        let mut memory = logins.memory();
        memory.pending = match (&saved, memory.pending.take()) {
            (Ok(()), None) => None,
            // An earlier write that timed out may still be carried out.
            (Ok(()), Some(last)) => Some(last.superseded_by(renewed, Some(before)).saved()),
            (Err(_), Some(last)) => Some(last.superseded_by(renewed, Some(before))),
            (Err(_), None) => Some(PendingSave::new(renewed, Some(before.to_owned()))),
        };
        drop(memory);
        if let Err(error) = saved {
            logins.tell_not_stored(&error.to_string());
        }
    }

    /// Whether `before`, which was just redeemed, is still the login that other processes would use.
    fn is_current(&self, stored: Option<&Login>, before: &Login) -> bool {
        let stored = stored.map(|stored| stored.generation.as_str());
        if stored.is_none_or(|stored| stored == before.generation) {
            return true;
        }
        // A login that could not be stored differs from the stored one.
        self.logins.memory().pending.as_mut().is_some_and(|pending| {
            pending.login.generation == before.generation && pending.is_newer_than(stored)
        })
    }

    /// Deletes the rejected login. Returns `false` without deleting if another login has replaced it.
    pub(crate) async fn drop_refused(&self, refused: &Login) -> Result<bool, LoginError> {
        let logins = self.logins;
        let is_current = match logins.load().await? {
            Some(current) => current.generation == refused.generation,
            None => true,
        };
        if is_current {
            logins.memory().pending = None;
            logins.records.drop_login(logins.store(), &refused.issuer).await?;
            logins.tell(|server| AuthEvent::LoginEnded { server });
        }
        Ok(is_current)
    }
}
