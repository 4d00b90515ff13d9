//! The device authorization grant: <https://www.rfc-editor.org/rfc/rfc8628>.

use std::time::Duration;

use tokio::time::Instant;

use super::consented::{Consented, Outcome};
use crate::{
    error::{LoginError, Refusal},
    interact::Interact,
    oauth::{
        client::Client,
        context::Context,
        endpoint::{
            device_code::{self, LONGEST_PAUSE},
            token::TokenResponse,
        },
        form::Form,
        plan::Plan,
        register,
    },
};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Shows a code and polls until the user has entered it.
pub(super) async fn obtain_consent(
    context: &Context,
    plan: Plan,
    interact: &dyn Interact,
) -> Result<Consented, LoginError> {
    let endpoint = plan.found.server.device_authorization_endpoint.as_deref();
    let endpoint = endpoint.ok_or(LoginError::NotOffered("a login with a device code"))?;
    let client = context.client(&plan, None, GRANT).await?;
    let form = Form::default()
        .with_some("scope", plan.scopes.to_param().as_deref())
        .with("resource", &plan.found.resource);
    let issued = match device_code::request(context.endpoint(&plan, endpoint, &client), form).await
    {
        Ok(issued) => issued,
        Err(error) => return Err(context.forget_unknown_client(error, &plan).await),
    };
    if let Some(registrar) = context.registrar_of(&client, &plan.found.server.issuer) {
        register::keep(&context.options.vault, &registrar, &client, None).await;
    }
    interact.show_code(&issued.shown).await?;
    let form = Form::new(GRANT)
        .with("device_code", issued.device_code.expose())
        .with("resource", &plan.found.resource);
    let until = Instant::now() + issued.shown.life;
    let response = poll(context, &plan, &client, &form, issued.pause, until).await?;
    Ok(Consented { plan, client, outcome: Outcome::Token(response) })
}

/// Requests the token until the user has consented or denied, or the code has expired.
async fn poll(
    context: &Context,
    plan: &Plan,
    client: &Client,
    form: &Form,
    mut pause: Duration,
    until: Instant,
) -> Result<TokenResponse, LoginError> {
    loop {
        // Before the first request too: a user needs longer than that, and some servers reject an early one.
        tokio::time::sleep(pause).await;
        if Instant::now() >= until {
            return Err(LoginError::Denied(Refusal::new("expired_token", None)));
        }
        match context.request_token(plan, client, form.clone()).await {
            Err(LoginError::Refused { refusal, asking }) => match refusal.code.as_str() {
                "authorization_pending" | "temporarily_unavailable" => {}
                // For this and all later requests: https://www.rfc-editor.org/rfc/rfc8628#section-3.5
                "slow_down" => pause = (pause + Duration::from_secs(5)).min(LONGEST_PAUSE),
                "access_denied" | "expired_token" => return Err(LoginError::Denied(refusal)),
                _ => return Err(LoginError::Refused { refusal, asking }),
            },
            // Poll less often after a timeout: https://www.rfc-editor.org/rfc/rfc8628#section-3.5
            Err(LoginError::Http { .. }) => pause = (pause * 2).min(LONGEST_PAUSE),
            done => return done,
        }
    }
}
