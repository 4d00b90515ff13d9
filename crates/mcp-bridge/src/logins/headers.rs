//! The headers of a configuration, beside a login.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_auth::{Secret, Source, StaticAuth};
use mcp_config::Remote;
use mcp_transport::{AuthFailure, Authorize, Challenge, Credentials, Target};

/// Sends both. Only the login is asked about a refusal: the headers are what they are.
pub(super) struct WithHeaders {
    login: Arc<dyn Authorize>,
    headers: StaticAuth,
}

impl WithHeaders {
    /// `login`, and the headers of `remote` if it has any.
    pub(super) fn around(login: Arc<dyn Authorize>, remote: &Remote) -> Arc<dyn Authorize> {
        let mut headers = remote.headers.iter();
        let value = |value: &mcp_config::SecretText| Source::Value(Secret::new(value.expose()));
        let Some((name, first)) = headers.next() else { return login };
        let mut auth = StaticAuth::api_key(remote.url.expose(), name, value(first));
        for (name, more) in headers {
            auth = auth.and_header(name, value(more));
        }
        Arc::new(Self { login, headers: auth })
    }
}

impl Authorize for WithHeaders {
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(async move {
            let mut credentials = self.login.credentials(target).await?;
            let configured = self.headers.credentials(target).await?.headers;
            // A login is newer than what somebody once wrote down.
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
}
