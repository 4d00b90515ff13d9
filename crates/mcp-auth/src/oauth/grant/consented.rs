//! From the consent of the user to a stored login.
//!
//! Each state consumes the one before it: [`Consented`], [`Obtained`] with the token, and a stored login.

use tokio::time::Instant;

use crate::{
    error::LoginError,
    event::AuthEvent,
    oauth::{
        client::Client, context::Context, endpoint::token::TokenResponse, form::Form,
        login_store::Login, plan::Plan, proof::jwt::random_text,
    },
};

/// The user has consented, and no further prompt is needed.
pub(super) struct Consented {
    pub(super) plan: Plan,
    pub(super) client: Client,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    /// A token request that redeems a code.
    Form(Form),
    /// The token itself.
    Token(TokenResponse),
}

/// A token that is neither in use nor stored yet.
pub(super) struct Obtained {
    plan: Plan,
    client: Client,
    response: TokenResponse,
}

impl Consented {
    pub(super) async fn redeem(self, context: &Context) -> Result<Obtained, LoginError> {
        let Self { plan, client, outcome } = self;
        let response = match outcome {
            Outcome::Form(form) => context.request_token(&plan, &client, form).await,
            Outcome::Token(response) => Ok(response),
        };
        match response {
            Ok(response) => Ok(Obtained { plan, client, response }),
            Err(error) => Err(context.forget_unknown_client(error, &plan).await),
        }
    }
}

impl Obtained {
    /// Puts the token to use and stores the login. A login that cannot be stored works until this process ends.
    pub(super) async fn keep(self, context: &Context) -> Result<(), LoginError> {
        let Self { plan: Plan { found, scopes, dpop }, client, response } = self;
        let refresh = response.refresh.clone();
        context.session().hold(response, scopes.clone(), dpop.clone(), Instant::now());
        let (logins, server) = (&context.logins, found.server);
        let stored = match refresh {
            None => match logins.save_issuer_only(&server.issuer).await {
                Ok(()) => Err("the server issued no refresh token".to_owned()),
                Err(error) => Err(error.to_string()),
            },
            Some(refresh) => {
                let login = Login {
                    generation: random_text(),
                    token_endpoint: server.token_endpoint()?.to_owned(),
                    issuer: server.issuer,
                    revocation_endpoint: server.revocation_endpoint,
                    resource: found.resource,
                    client,
                    scopes,
                    refresh,
                    dpop,
                };
                logins.save_new(login).await.map_err(|error| error.to_string())
            }
        };
        if let Err(reason) = stored {
            logins.tell_not_stored(&reason);
        }
        context.announce(|server| AuthEvent::LoggedIn { server }).await;
        Ok(())
    }
}
