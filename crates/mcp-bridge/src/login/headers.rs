//! Configured headers in addition to a login.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_auth::{Secret, Source, StaticAuth};
use mcp_config::Remote;
use mcp_transport::{
    Authorize,
    auth::{AuthFailure, Challenge, Credentials, Target},
};

/// Sends both. Only the login handles a refusal, because configured headers are fixed.
pub(super) struct WithHeaders {
    login: Arc<dyn Authorize>,
    headers: StaticAuth,
}

impl WithHeaders {
    /// `login`, with the headers of `remote` if it has any.
    pub(super) fn around(login: Arc<dyn Authorize>, remote: &Remote) -> Arc<dyn Authorize> {
        match configured(remote) {
            Some(headers) => Arc::new(Self { login, headers }),
            None => login,
        }
    }
}

/// The headers of `remote`, if it has any.
pub(super) fn configured(remote: &Remote) -> Option<StaticAuth> {
    let mut headers = remote.headers.iter();
    let value = |value: &mcp_config::SecretText| Source::Value(Secret::new(value.expose()));
    let (name, first) = headers.next()?;
    let auth = StaticAuth::api_key(remote.url.expose(), name, value(first));
    Some(headers.fold(auth, |auth, (name, more)| auth.and_header(name, value(more))))
}

impl Authorize for WithHeaders {
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(async move {
            let mut credentials = self.login.credentials(target).await?;
            let configured = self.headers.credentials(target).await?.headers;
            // The headers of the login override configured ones, which may be outdated.
            let has = |name: &str| {
                credentials.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
            };
            let more: Vec<_> = configured.into_iter().filter(|(name, _)| !has(name)).collect();
            credentials.headers.extend(more);
            Ok(credentials)
        })
    }

    fn challenged<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), AuthFailure>> {
        self.login.challenged(challenge)
    }

    fn refused_again<'a>(&'a self, challenge: &'a Challenge) -> BoxFuture<'a, AuthFailure> {
        self.login.refused_again(challenge)
    }
}
