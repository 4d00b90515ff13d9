//! Ending a login: its tokens are revoked where the server offers that, and forgotten in any case.

use std::sync::Arc;

use super::{Shared, client::Client, error::LoginError, login::Login, token::Form};
use crate::secret::Secret;

const ASKING: &str = "the end of the login";

/// What became of the tokens of a login that was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Logout {
    /// The authorization server knows that they are over.
    Revoked,
    /// They were forgotten here. The server offers no revocation, or did not answer.
    Forgotten,
    /// There was no login.
    NotLoggedIn,
}

impl Shared {
    pub(super) async fn logout(self: &Arc<Self>) -> Result<Logout, LoginError> {
        let vault = &self.options.vault;
        // Without the lock a renewal elsewhere may bring its login back. That is better than a logout that
        // leaves everything as it is because a folder cannot be written.
        let lock = vault.lock(&self.shelf.pointer()).await;
        if let Err(error) = &lock {
            tracing::debug!(%error, "logging out without the lock");
        }
        let login = self.load().await;
        let held = {
            let mut session = self.session();
            session.unsaved = None;
            session.found = None;
            session.requested = super::scopes::Scopes::default();
            session.held.take()
        };
        // A store that fails is told, after what can be done without it.
        let cleared = self.shelf.clear(&**vault.store(), self.options.client.is_some()).await;
        let login = match login {
            Ok(Some(login)) => login,
            Ok(None) if held.is_none() => return cleared.map(|()| Logout::NotLoggedIn),
            Ok(None) => return cleared.map(|()| Logout::Forgotten),
            Err(error) => {
                tracing::debug!(%error, "a login was forgotten that could not be revoked");
                return cleared.map(|()| Logout::Forgotten);
            }
        };
        // The refresh token first: with it, most servers end everything that came from it.
        let refresh = self.revoke(&login, &login.refresh, "refresh_token").await;
        if let Some(held) = held {
            self.revoke(&login, held.access(), "access_token").await;
        }
        cleared.map(|()| if refresh { Logout::Revoked } else { Logout::Forgotten })
    }

    async fn revoke(&self, login: &Login, token: &Secret, kind: &str) -> bool {
        let Some(endpoint) = &login.revocation_endpoint else { return false };
        let form = Form::empty().with("token", token.expose()).with("token_type_hint", kind);
        match self.post(endpoint, form, &login.client, &login.issuer).await {
            Ok(status) => (200..300).contains(&status),
            Err(error) => {
                tracing::debug!(%error, "a token was not revoked");
                false
            }
        }
    }

    async fn post(
        &self,
        endpoint: &str,
        mut form: Form,
        client: &Client,
        issuer: &str,
    ) -> Result<u16, LoginError> {
        let header = client.authenticate(&mut form, issuer)?;
        let request = self.fetch.request("POST", endpoint);
        let mut request = request.header("content-type", "application/x-www-form-urlencoded");
        request.headers.extend(header.map(|header| ("authorization", header)));
        request.body = form.encode();
        Ok(self.fetch.send(request, ASKING).await?.status)
    }
}
