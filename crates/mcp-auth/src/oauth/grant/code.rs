//! The authorization code grant: the user logs in with a browser.

use super::consented::{Consented, Outcome};
use crate::{
    error::LoginError,
    interact::{Interact, RedirectUri},
    oauth::{context::Context, endpoint::authorize_url, plan::Plan, register},
};

/// Sends the user to the authorization page and waits for the redirect with the code.
pub(super) async fn obtain_consent(
    context: &Context,
    plan: Plan,
    interact: &dyn Interact,
) -> Result<Consented, LoginError> {
    let (server, resource) = (&plan.found.server, &plan.found.resource);
    // Check before anything is opened or registered.
    if !server.offers_pkce() {
        return Err(LoginError::NoPkce);
    }
    let options = &context.options;
    let fixed = options.redirect_uri.as_deref().map(str::parse::<RedirectUri>);
    let redirect = interact.prepare(fixed.transpose()?.as_ref()).await?;
    let uri = redirect.uri().to_owned();
    let client = context.client(&plan, Some(&uri), "authorization_code").await?;
    // After `prepare`, which listens: the port is part of the redirect URL.
    let begun = authorize_url::begin(server, &client.id, &uri, resource, &plan.scopes)?;
    let registrar = context.registrar_of(&client, &server.issuer);
    // A server that no longer knows a client reports it to the user only. Delete the registration now, and store it
    // again once the server has responded to it.
    if let Some(registrar) = &registrar
        && let Err(error) = register::forget(&options.vault, registrar).await
    {
        tracing::debug!(%error, "could not delete a client registration");
    }
    let redirected = redirect.visit(begun.visit()).await?;
    let form = begun.finish(&redirected);
    if let (Some(registrar), Ok(_) | Err(LoginError::Denied(_))) = (&registrar, &form) {
        register::keep(&options.vault, registrar, &client, Some(&uri)).await;
    }
    let outcome = Outcome::Form(form?);
    Ok(Consented { plan, client, outcome })
}
