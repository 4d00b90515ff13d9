//! Handles rejected and missing tokens: carries out the decisions of the [session](super::session).

use std::sync::Arc;

use mcp_transport::auth::{AuthFailure, Challenge, Credentials, Target};
use tokio::time::Instant;

use super::{
    context::{Context, Turn},
    grant::{
        authorize,
        machine::{obtain_machine_token, renew_machine_token},
        refresh::{is_retryable, refresh},
    },
    hints::Hints,
    session::{Refused, Renewable, Step},
};
use crate::{error::LoginError, secret::Secret};

/// Obtains a token without the user: renews the stored login, or requests a new machine token. Returns transient
/// errors only.
pub(super) async fn renew(context: &Arc<Context>) -> Result<(), AuthFailure> {
    let turn = context.turn().await;
    if !context.session().wants_renewal(Instant::now()) {
        return Ok(());
    }
    let (_turn, renewed) = if context.options.grant.is_interactive() {
        refresh(context, turn).await
    } else {
        context.session().store_was_read();
        (turn, renew_machine_token(context).await)
    };
    let now = Instant::now();
    let error = match renewed {
        Ok(true) => return Ok(()),
        Ok(false) => None,
        Err(error) => Some(error),
    };
    // A failure of the store is reported once the server requires a login, which may never happen.
    let transient =
        |error: &&LoginError| is_retryable(error) && !matches!(error, LoginError::Store(_));
    let failure = error.as_ref().filter(transient).map(|error| context.failure(error));
    let nothing_to_renew = matches!(error, None | Some(LoginError::Ended));
    context.session().renewal_failed(failure.clone(), nothing_to_renew, now);
    failure.map_or(Ok(()), Err)
}

/// Returns no credentials, or an error if the server is known to require a login and the user cannot be prompted.
pub(super) async fn without_token(
    context: &Arc<Context>,
    target: Target<'_>,
) -> Result<Credentials, AuthFailure> {
    let needs_auth = context.options.vault.needs_auth();
    if context.can_authorize() || !needs_auth.is_marked(context.logins.server()).await {
        return Ok(Credentials::default());
    }
    // The mark was made before a login; another process may have logged in since.
    let turn = context.turn().await;
    if context.session().pacing.renewals.take(Instant::now()) {
        match refresh(context, turn).await.1 {
            Ok(_) | Err(LoginError::Ended) => {}
            Err(error) => return Err(context.failure(&error)),
        }
    }
    let ready = context.session().credentials(target, Instant::now());
    match ready.map_err(|error| context.failure(&error))? {
        Some(credentials) => Ok(credentials),
        None => Err(context.failure(&LoginError::NeedsUser)),
    }
}

/// Handles a challenge of the server: decides how to get a token that it accepts, and gets it.
pub(super) async fn challenged(
    context: &Arc<Context>,
    challenge: &Challenge,
) -> Result<(), AuthFailure> {
    let failures = context.session().pacing.failures();
    let turn = context.turn().await;
    let is_refused = challenge.status != 403;
    let step = {
        let mut session = context.session();
        match session.judge_without_token(challenge, Instant::now()) {
            Some(step) => step,
            None => match session.pacing.failed_since(failures).filter(|_| is_refused) {
                // Another task tried the same while this one waited for its turn.
                Some(failure) => return Err(failure),
                None => session.judge(challenge, context.can_authorize()),
            },
        }
    };
    let answered = match step {
        Step::Retry => Ok(()),
        Step::Fail(error) => Err(error),
        Step::Obtain(refused) => obtain(context, refused, turn).await,
    };
    answered.map_err(|error| {
        let failure = context.failure(&error);
        if is_refused {
            context.session().pacing.fail(failure.clone());
        }
        failure
    })
}

async fn obtain(
    context: &Arc<Context>,
    refused: Refused,
    mut turn: Turn,
) -> Result<(), LoginError> {
    let Refused { hints, is_forbidden, wider } = refused;
    if wider.is_none() && is_renewable(context, &hints).await? {
        let renewed;
        (turn, renewed) = refresh(context, turn).await;
        match renewed {
            Ok(true) => return Ok(()),
            Ok(false) | Err(LoginError::Ended) => {}
            // A wrong client secret does not require a new login, unless the server changed its issuer.
            Err(error) if is_retryable(&error) || !has_moved(context, &hints).await => {
                return Err(error);
            }
            Err(_) => {}
        }
    }
    if !is_forbidden {
        context.session().release();
    } else if !context.can_authorize() {
        // The token still works for other requests.
        return Err(LoginError::NeedsUser);
    }
    authorize_again(context, &hints, turn).await?;
    if is_forbidden {
        context.session().consent.stepped_up = wider;
    }
    Ok(())
}

/// Whether to renew the stored login: within the budget, and only if the server still uses its issuer.
async fn is_renewable(context: &Context, hints: &Hints) -> Result<bool, LoginError> {
    if !context.options.grant.is_interactive() {
        return Ok(false);
    }
    let renewable = context.session().may_renew(Instant::now());
    if renewable != Renewable::AtTheSameIssuer {
        return Ok(renewable == Renewable::Yes);
    }
    let found = context.plan(hints).await?.found.server.issuer;
    Ok(context.load().await?.is_some_and(|login| login.issuer == found))
}

/// Whether the server now uses another issuer than that of the stored login.
async fn has_moved(context: &Context, hints: &Hints) -> bool {
    let (Ok(plan), Ok(Some(login))) = (context.plan(hints).await, context.load().await) else {
        return false;
    };
    plan.found.server.issuer != login.issuer
}

/// Runs a new authorization, within the budget of attempts.
async fn authorize_again(
    context: &Arc<Context>,
    hints: &Hints,
    turn: Turn,
) -> Result<(), LoginError> {
    let interact = context.options.interact.clone();
    if !context.can_authorize() {
        context.options.vault.needs_auth().mark(context.logins.server()).await;
        return Err(LoginError::NeedsUser);
    }
    if !context.session().consent.attempts.take(Instant::now()) {
        return Err(LoginError::TooManyAttempts);
    }
    match (context.options.grant.login_method(), interact) {
        (Some(method), Some(interact)) => authorize(context, method, &*interact, hints, turn).await,
        _ => obtain_machine_token(context, hints).await,
    }
}

/// Sends a request without credentials to read the challenge in the response.
pub(super) async fn probe_for_challenge(context: &Context) -> Result<Hints, LoginError> {
    let (url, fetch) = (&context.options.server, &context.fetch);
    let request = fetch.request("POST", url).header("content-type", "application/json");
    let mut request = request.header("accept", "application/json, text/event-stream");
    request.body = Secret::new("{}");
    let response = fetch.send(request, "the server's challenge").await?;
    let mut challenge = Challenge::new(response.status, url.as_str());
    if response.status == 401 {
        let headers = response.headers.iter();
        for (_, value) in headers.filter(|(name, _)| name == "www-authenticate") {
            challenge.read(value);
        }
    }
    Ok(Hints::of(&challenge))
}
