//! Renewing a login: one at a time across tasks and processes, and nothing is lost when it fails.

use std::sync::Arc;

use tokio::time::Instant;

use super::{
    Shared, Turn,
    client::Client,
    dpop::Dpop,
    error::{LoginError, is_transient},
    login::Login,
    registration,
    token::{Form, TokenEndpoint, TokenResponse},
    unsaved::Unsaved,
};
use crate::{event::AuthEvent, store::StoreError};

const ASKING: &str = "a new token";

/// What became of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// There is a new token.
    Yes,
    /// Nothing is stored that could be renewed.
    NoLogin,
}

impl Shared {
    /// Renews what is stored: takes the lock, reads again, redeems, and stores what came back if nobody
    /// logged in meanwhile.
    ///
    /// Runs in a task of its own, so that a caller who gives up cannot lose a refresh token between its
    /// redemption and the store. The task keeps `turn` until it is done: a login that comes after a caller
    /// gave up must not be overtaken by what the caller began.
    pub(crate) async fn refresh(
        self: &Arc<Self>,
        turn: Turn,
    ) -> (Turn, Result<Renewed, LoginError>) {
        let this = self.clone();
        let task = tokio::spawn(async move {
            let renewed = this.refresh_locked().await;
            (turn, renewed)
        });
        match task.await {
            Ok(done) => done,
            Err(_) => (self.turn().await, Err(LoginError::Ended)),
        }
    }

    async fn refresh_locked(&self) -> Result<Renewed, LoginError> {
        let vault = &self.options.vault;
        let lock = match vault.lock(&self.shelf.pointer()).await {
            Err(error) if matches!(error, StoreError::Busy) || !self.has_unsaved() => {
                return Err(error.into());
            }
            // Where no lock can be made nothing can be stored either. What only we hold needs none.
            lock => lock.ok(),
        };
        // Twice, since the login that is refused may have a successor by then.
        for _ in 0..2 {
            let Some(login) = self.load().await? else { return Ok(Renewed::NoLogin) };
            if lock.is_none() && !self.is_unsaved(&login) {
                return Err(StoreError::Unavailable("logins cannot be locked").into());
            }
            match self.redeem(&login).await {
                Ok(response) => {
                    self.keep(&login, response).await?;
                    return Ok(Renewed::Yes);
                }
                Err(LoginError::Refused { refusal, asking }) => match refusal.code.as_str() {
                    "invalid_grant" => {
                        if self.drop_generation(&login).await? {
                            return Err(LoginError::Ended);
                        }
                    }
                    // The secret of a configured client may be mended, and others may have the right one.
                    "invalid_client" | "unauthorized_client"
                        if self.has_registered(&login.client) =>
                    {
                        registration::forget(vault, &self.registrar(&login.issuer)).await?;
                        self.drop_generation(&login).await?;
                        return Err(LoginError::Ended);
                    }
                    // Whatever else it is, the refresh token was not spent.
                    _ => return Err(LoginError::Refused { refusal, asking }),
                },
                Err(error) => return Err(error),
            }
        }
        Err(LoginError::Ended)
    }

    /// Whether this client is one that we registered, and so may register again.
    pub(super) fn has_registered(&self, client: &Client) -> bool {
        let document = self.options.client_metadata_url.as_ref();
        self.options.client.is_none() && document != Some(&client.id)
    }

    fn has_unsaved(&self) -> bool {
        self.session().unsaved.is_some()
    }

    fn is_unsaved(&self, login: &Login) -> bool {
        let session = self.session();
        session.unsaved.as_ref().is_some_and(|held| held.login.generation == login.generation)
    }

    async fn redeem(&self, login: &Login) -> Result<TokenResponse, LoginError> {
        let form = Form::new("refresh_token")
            .with("refresh_token", login.refresh.expose())
            .with("resource", &login.resource);
        let endpoint = TokenEndpoint {
            fetch: &self.fetch,
            url: &login.token_endpoint,
            issuer: &login.issuer,
            client: &login.client,
            dpop: login.dpop.as_ref(),
        };
        let mut nonces = self.session().nonces.clone();
        let response = endpoint.ask(form, &mut nonces, ASKING).await;
        self.session().nonces.merge(nonces);
        response
    }

    /// Takes the new token in hand, and stores the new refresh token unless another login is there by now.
    async fn keep(&self, login: &Login, response: TokenResponse) -> Result<(), LoginError> {
        let renewed = match &response.refresh {
            Some(refresh) if *refresh != login.refresh => Some(login.renewed(refresh.clone())?),
            _ => None,
        };
        let is_fit = self.check_kind(&response);
        if is_fit.is_ok() {
            let mut session = self.session();
            session.requested = login.scopes.clone();
            session.hold(response, login.dpop.clone(), Instant::now());
        }
        // In any case: the old refresh token is spent.
        if let Some(renewed) = renewed {
            self.swap(login, renewed).await;
        }
        is_fit?;
        self.options.vault.needs_auth().clear(&self.shelf.server).await;
        let server = self.shelf.server.clone();
        self.options.vault.on_event().tell(&AuthEvent::Refreshed { server });
        Ok(())
    }

    /// Puts `renewed` in the place of `before`. What cannot be stored is kept in memory and tried again.
    async fn swap(&self, before: &Login, renewed: Login) {
        let saved = match self.load_stored().await {
            Ok(stored) if !self.is_succeeded_by(stored.as_ref(), before) => return,
            Ok(_) => self.save(&renewed).await,
            Err(error) => Err(error),
        };
        let before = before.generation.as_str();
        let unsaved = self.session().unsaved.take();
        self.session().unsaved = match (&saved, unsaved) {
            (Ok(()), None) => None,
            // A write that was given up earlier may still be carried out.
            (Ok(()), Some(last)) => Some(last.followed_by(renewed, Some(before)).saved()),
            (Err(_), Some(last)) => Some(last.followed_by(renewed, Some(before))),
            (Err(_), None) => Some(Unsaved::new(renewed, Some(before.to_owned()))),
        };
        if let Err(error) = saved {
            self.tell_not_stored(&error.to_string());
        }
    }

    /// Whether `before`, which was just redeemed, is still what everybody else would use.
    fn is_succeeded_by(&self, stored: Option<&Login>, before: &Login) -> bool {
        let stored = stored.map(|stored| stored.generation.as_str());
        if stored.is_none_or(|stored| stored == before.generation) {
            return true;
        }
        // One that could not be stored is expected to differ from what is.
        let mut session = self.session();
        session.unsaved.as_mut().is_some_and(|unsaved| {
            unsaved.login.generation == before.generation && unsaved.is_newer_than(stored)
        })
    }

    pub(super) fn tell_not_stored(&self, reason: &str) {
        let (server, reason) = (self.shelf.server.clone(), reason.to_owned());
        self.options.vault.on_event().tell(&AuthEvent::NotStored { server, reason });
    }

    /// Forgets the login that was refused, and only that one. `false` if another is there by now.
    async fn drop_generation(&self, refused: &Login) -> Result<bool, LoginError> {
        let is_current = match self.load().await? {
            Some(current) => current.generation == refused.generation,
            None => true,
        };
        if is_current {
            self.session().unsaved = None;
            let store = &**self.options.vault.store();
            self.shelf.drop_login(store, &refused.issuer).await?;
            let server = self.shelf.server.clone();
            self.options.vault.on_event().tell(&AuthEvent::LoginEnded { server });
        }
        Ok(is_current)
    }

    /// The login to use: the stored one, unless we hold a newer one.
    pub(crate) async fn load(&self) -> Result<Option<Login>, LoginError> {
        let stored = self.load_stored().await;
        let mut session = self.session();
        session.is_loaded = true;
        let Some(unsaved) = &mut session.unsaved else { return stored };
        match stored {
            Err(_) => Ok(Some(unsaved.login.clone())),
            Ok(stored) => {
                let generation = stored.as_ref().map(|stored| stored.generation.as_str());
                let is_newer = unsaved.is_newer_than(generation);
                Ok(if is_newer { Some(unsaved.login.clone()) } else { stored })
            }
        }
    }

    pub(super) async fn load_stored(&self) -> Result<Option<Login>, LoginError> {
        let store = &**self.options.vault.store();
        let stored = self.shelf.load(store, self.options.client.as_ref()).await?;
        // One without a key was made before tokens had to be bound.
        let must_bind = self.options.dpop == Dpop::Always;
        Ok(stored.filter(|login| login.dpop.is_some() || !must_bind))
    }

    pub(crate) async fn save(&self, login: &Login) -> Result<(), LoginError> {
        let store = &**self.options.vault.store();
        self.shelf.save(store, login, self.options.client.is_some()).await
    }
}

/// Whether a failed renewal may simply be tried again later.
pub(crate) fn may_pass(error: &LoginError) -> bool {
    match error {
        LoginError::Refused { refusal, .. } => is_transient(&refusal.code),
        LoginError::Http { .. } | LoginError::BadDocument { .. } | LoginError::Store(_) => true,
        _ => false,
    }
}
