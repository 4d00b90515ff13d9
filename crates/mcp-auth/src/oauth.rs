//! OAuth for MCP servers: discovery, registration, login, and token renewal.
//!
//! Implements <https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization>.

mod budget;
mod challenge;
mod client;
mod context;
mod discover;
mod document;
mod endpoint;
mod fetch;
mod form;
#[cfg(feature = "__fuzz")]
pub(crate) mod fuzz;
mod grant;
mod hints;
mod login_store;
mod logout;
mod metadata;
mod options;
mod plan;
mod proof;
mod register;
mod scopes;
mod session;

use std::{fmt, sync::Arc};

use mcp_transport::{
    Authorize, BoxFuture,
    auth::{AuthFailure, Challenge, Credentials, Target},
};
use tokio::time::Instant;

use self::{
    challenge::{challenged, probe_for_challenge, renew, without_token},
    context::Context,
    grant::{authorize, machine::obtain_machine_token},
    logout::logout,
    options::LoginMethod,
};
pub use self::{
    client::{ClientProof, PreRegistered},
    logout::Logout,
    options::{Enterprise, Grant, OAuthOptions},
    proof::{dpop::Dpop, jwt::SigningKey},
};
use crate::{error::LoginError, interact::Interact, origin::same_origin};

/// OAuth for one MCP server: an [`Authorize`] that logs in when required and renews tokens before they expire.
///
/// Without [`interact`](OAuthOptions::interact) it never prompts the user: a request that needs a login fails
/// with a message that names the next step, and the host calls [`login`](Self::login).
#[derive(Clone)]
pub struct OAuth {
    context: Arc<Context>,
}

impl OAuth {
    /// Creates the authorization for one server. Sends nothing.
    pub fn new(options: OAuthOptions) -> Self {
        Self { context: Arc::new(Context::new(options)) }
    }

    /// Logs in with the user, regardless of earlier attempts.
    ///
    /// # Cancel safety
    /// Dropped while waiting for the user, it leaves the stored login unchanged. A client registered for this attempt
    /// is not reused, because a server that no longer knows a client reports that only to the user.
    pub async fn login(&self, interact: &dyn Interact) -> Result<(), LoginError> {
        self.login_by(self.context.options.grant.login_method(), interact).await
    }

    /// Logs in with a device code even if the options select a browser.
    ///
    /// The login is the same as any other: every `OAuth` with the same server and vault finds and renews it,
    /// regardless of its [`grant`](OAuthOptions::grant). Grants without a user behave as in [`login`](Self::login).
    ///
    /// # Cancel safety
    /// Dropped while waiting for the user, it changes nothing.
    pub async fn login_with_code(&self, interact: &dyn Interact) -> Result<(), LoginError> {
        let method = self.context.options.grant.login_method();
        self.login_by(method.map(|_| LoginMethod::DeviceCode), interact).await
    }

    async fn login_by(
        &self,
        method: Option<LoginMethod>,
        interact: &dyn Interact,
    ) -> Result<(), LoginError> {
        let context = &self.context;
        let turn = context.turn().await;
        let mut hints = context.session().consent.hints.clone();
        if hints.is_empty() {
            hints = probe_for_challenge(context).await?;
        }
        context.session().consent.attempts.reset();
        match method {
            Some(method) => authorize(context, method, interact, &hints, turn).await,
            None => obtain_machine_token(context, &hints).await,
        }
    }

    /// Ends the login: revokes its tokens if the server supports it, and always removes them from the store.
    pub async fn logout(&self) -> Result<Logout, LoginError> {
        let _turn = self.context.turn().await;
        logout(&self.context).await
    }

    /// Whether a login requires the user. If not, tokens are obtained automatically when needed.
    pub fn takes_a_person(&self) -> bool {
        self.context.options.grant.is_interactive()
    }

    /// Whether a login is stored, or an access token is in memory.
    pub async fn is_logged_in(&self) -> Result<bool, LoginError> {
        if self.context.session().held().is_some_and(|held| held.is_alive(Instant::now())) {
            return Ok(true);
        }
        Ok(self.context.load().await?.is_some())
    }
}

impl Authorize for OAuth {
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(async move {
            let context = &self.context;
            // A token goes only to the server it was issued for, even if a redirect or a link points elsewhere.
            // https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization
            if !same_origin(&context.options.server, target.url) {
                return Ok(Credentials::default());
            }
            let mut failed = None;
            if context.session().wants_renewal(Instant::now()) {
                failed = renew(context).await.err();
            }
            let now = Instant::now();
            let ready = context.session().credentials(target, now);
            match ready.map_err(|error| context.failure(&error))? {
                Some(credentials) => return Ok(credentials),
                None => failed = failed.or_else(|| context.session().backs_off(now)),
            }
            match failed {
                Some(failure) => Err(failure),
                // The server decides whether a missing token matters, unless it already required a login.
                None => without_token(context, target).await,
            }
        })
    }

    fn challenged<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), AuthFailure>> {
        Box::pin(challenged(&self.context, challenge))
    }

    fn refused_again<'a>(&'a self, _: &'a Challenge) -> BoxFuture<'a, AuthFailure> {
        Box::pin(async {
            let context = &self.context;
            context.options.vault.needs_auth().mark(context.logins.server()).await;
            context.failure(&LoginError::NewTokenRefused)
        })
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("options", &self.context.options).finish_non_exhaustive()
    }
}
