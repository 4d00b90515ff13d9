//! The refresh token grant: one renewal at a time across tasks and processes.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    error::{LoginError, is_transient},
    event::AuthEvent,
    oauth::{
        context::{Context, Turn},
        endpoint::{
            form_post::FormEndpoint,
            token::{TokenEndpoint, TokenResponse},
        },
        form::Form,
        login_store::{LockedLogins, Login},
        register,
    },
};

const ASKING: &str = "a new token";

/// Renews the stored login: takes the lock, reads it again, redeems the refresh token, and stores the new one unless
/// another login was stored meanwhile. Returns `false` if no login is stored.
///
/// Runs in a separate task, so that a cancelled caller cannot lose a refresh token between its redemption and the
/// store. The task holds `turn` until it is done, so that a later login is not overwritten by this renewal.
pub(crate) async fn refresh(
    context: &Arc<Context>,
    turn: Turn,
) -> (Turn, Result<bool, LoginError>) {
    let this = context.clone();
    let task = tokio::spawn(async move {
        let renewed = refresh_locked(&this).await;
        (turn, renewed)
    });
    match task.await {
        Ok(done) => done,
        Err(_) => (context.turn().await, Err(LoginError::Ended)),
    }
}

async fn refresh_locked(context: &Context) -> Result<bool, LoginError> {
    let logins = context.logins.lock_for_renewal().await?;
    // Twice, because another login may have replaced the rejected one.
    for _ in 0..2 {
        let login = logins.current().await;
        context.session().store_was_read();
        let Some(login) = login? else { return Ok(false) };
        match redeem(context, &login).await {
            Ok(response) => return keep(context, &logins, login, response).await.map(|()| true),
            Err(LoginError::Refused { refusal, asking }) => {
                let is_client =
                    matches!(refusal.code.as_str(), "invalid_client" | "unauthorized_client");
                // The secret of a configured client can be corrected, and other processes may have the right one.
                let registrar = context.registrar_of(&login.client, &login.issuer);
                if let Some(registrar) = registrar.filter(|_| is_client) {
                    register::forget(&context.options.vault, &registrar).await?;
                    logins.drop_refused(&login).await?;
                    return Err(LoginError::Ended);
                }
                // Any other error leaves the refresh token valid: https://www.rfc-editor.org/rfc/rfc6749#section-5.2
                if refusal.code != "invalid_grant" {
                    return Err(LoginError::Refused { refusal, asking });
                }
                if logins.drop_refused(&login).await? {
                    return Err(LoginError::Ended);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(LoginError::Ended)
}

async fn redeem(context: &Context, login: &Login) -> Result<TokenResponse, LoginError> {
    // Without `scope`, which keeps the scopes of the login: https://www.rfc-editor.org/rfc/rfc6749#section-6
    let form = Form::new("refresh_token")
        .with("refresh_token", login.refresh.expose())
        .with("resource", &login.resource);
    let at = FormEndpoint {
        fetch: &context.fetch,
        url: &login.token_endpoint,
        issuer: &login.issuer,
        client: &login.client,
    };
    context.exchange(&TokenEndpoint { at, dpop: login.dpop.as_ref() }, form, ASKING).await
}

/// Puts the new token to use, and stores the new refresh token unless another login was stored meanwhile.
async fn keep(
    context: &Context,
    logins: &LockedLogins<'_>,
    login: Login,
    response: TokenResponse,
) -> Result<(), LoginError> {
    // Without a new one, the old one remains valid: https://www.rfc-editor.org/rfc/rfc6749#section-6
    let renewed = match &response.refresh {
        Some(refresh) if *refresh != login.refresh => Some(login.renewed(refresh.clone())),
        _ => None,
    };
    let is_fit = response.check_kind(context.options.dpop);
    if is_fit.is_ok() {
        let mut session = context.session();
        session.hold(response, login.scopes.clone(), login.dpop.clone(), Instant::now());
    }
    // Store it even if the access token was rejected, because the old refresh token is used up.
    if let Some(renewed) = renewed {
        logins.replace(&login, renewed).await;
    }
    is_fit?;
    context.announce(|server| AuthEvent::Refreshed { server }).await;
    Ok(())
}

/// Whether a failed renewal can be retried later.
pub(crate) fn is_retryable(error: &LoginError) -> bool {
    match error {
        LoginError::Refused { refusal, .. } => is_transient(&refusal.code),
        LoginError::Http { .. } | LoginError::BadDocument { .. } | LoginError::Store(_) => true,
        _ => false,
    }
}
