//! Logout: revokes tokens if the server supports it, and always deletes them.

use super::{
    context::Context,
    endpoint::{form_post::FormEndpoint, revoke::revoke},
    scopes::Scopes,
};
use crate::error::LoginError;

/// The result of a logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Logout {
    /// The authorization server revoked the tokens.
    Revoked,
    /// The tokens were deleted here. The server does not support revocation, or it failed.
    Forgotten,
    /// There was no login.
    NotLoggedIn,
}

pub(super) async fn logout(context: &Context) -> Result<Logout, LoginError> {
    let taken = context.logins.take().await;
    let held = {
        let mut session = context.session();
        session.store_was_read();
        session.machine = None;
        session.consent.requested = Scopes::default();
        session.release()
    };
    // A failure of the store is returned after the tokens were revoked.
    let (login, cleared) = (&taken.login, taken.cleared);
    let login = match login {
        Ok(Some(login)) => login,
        Ok(None) if held.is_none() => return cleared.map(|()| Logout::NotLoggedIn),
        Ok(None) => return cleared.map(|()| Logout::Forgotten),
        Err(error) => {
            tracing::debug!(%error, "could not load the login to revoke it");
            return cleared.map(|()| Logout::Forgotten);
        }
    };
    let Some(url) = &login.revocation_endpoint else { return cleared.map(|()| Logout::Forgotten) };
    let (fetch, issuer, client) = (&context.fetch, &login.issuer, &login.client);
    let endpoint = FormEndpoint { fetch, url, issuer, client };
    // The refresh token first: most servers then revoke all tokens issued for it.
    // https://www.rfc-editor.org/rfc/rfc7009#section-2.1
    let is_revoked = revoke(endpoint, &login.refresh, "refresh_token").await;
    if let Some(held) = held {
        revoke(endpoint, held.access(), "access_token").await;
    }
    cleared.map(|()| if is_revoked { Logout::Revoked } else { Logout::Forgotten })
}
