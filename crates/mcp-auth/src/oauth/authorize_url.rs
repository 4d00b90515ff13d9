//! The URL that the user's browser is sent to, and what must be remembered about it.

use std::borrow::Cow;

use oauth2::{
    AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope, basic::BasicClient,
};

use super::{
    callback::{Expected, Issuer},
    error::LoginError,
    metadata::ServerMetadata,
    scopes::Scopes,
};
use crate::{guard::is_fit_for_browser, secret::Secret};

/// An authorization that was begun. Everything that its answer is checked against was recorded together.
#[derive(Debug)]
pub(crate) struct Authorization {
    pub(crate) url: String,
    pub(crate) verifier: Secret,
    pub(crate) expected: Expected,
}

/// Begins an authorization at `server`.
pub(crate) fn begin(
    server: &ServerMetadata,
    client_id: &str,
    redirect_uri: &str,
    resource: &str,
    scopes: &Scopes,
) -> Result<Authorization, LoginError> {
    let bad = |why| LoginError::BadDocument { what: "the authorization server's metadata", why };
    let endpoint = server.authorization_endpoint.clone();
    let endpoint = endpoint.ok_or(LoginError::NotOffered("a login in the browser"))?;
    if !is_fit_for_browser(&endpoint) {
        return Err(bad("its login page is neither https nor on this machine"));
    }
    if !server.offers_pkce() {
        return Err(LoginError::NoPkce);
    }
    let endpoint = AuthUrl::new(endpoint).map_err(|_| bad("its login page is not a URL"))?;
    let redirect = RedirectUrl::new(redirect_uri.to_owned())
        .map_err(|_| LoginError::BadCredential("the redirect is not a URL"))?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let client = BasicClient::new(ClientId::new(client_id.to_owned())).set_auth_uri(endpoint);
    let request = client
        .authorize_url(CsrfToken::new_random)
        .set_redirect_uri(Cow::Owned(redirect))
        .set_pkce_challenge(challenge)
        .add_extra_param("resource", resource);
    let scopes = scopes.to_param().unwrap_or_default();
    let request = request.add_scopes(scopes.split_whitespace().map(|s| Scope::new(s.to_owned())));
    let (url, state) = request.url();
    let issuer = match server.origins.as_slice() {
        [] => Issuer::Known(server.issuer.clone()),
        origins => Issuer::At(origins.to_vec()),
    };
    Ok(Authorization {
        url: url.into(),
        verifier: Secret::new(verifier.into_secret()),
        expected: Expected {
            state: Secret::new(state.into_secret()),
            issuer,
            needs_iss: server.sends_iss,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn server(endpoint: &str) -> ServerMetadata {
        ServerMetadata {
            issuer: "https://as.test".into(),
            authorization_endpoint: Some(endpoint.into()),
            code_challenge_methods: Some(vec!["S256".into()]),
            ..ServerMetadata::default()
        }
    }

    fn url(endpoint: &str, scopes: &str) -> HashMap<String, String> {
        let redirect = "http://127.0.0.1:1/callback";
        let scopes = Scopes::parse(scopes);
        let begun = begin(&server(endpoint), "me", redirect, "https://a.test", &scopes).unwrap();
        let url = url::Url::parse(&begun.url).unwrap();
        url.query_pairs().into_owned().collect()
    }

    #[test]
    fn everything_that_is_needed_is_in_the_url() {
        let query = url("https://as.test/authorize?tenant=1", "a b");
        assert_eq!(query["tenant"], "1");
        assert_eq!(query["response_type"], "code");
        assert_eq!(query["code_challenge_method"], "S256");
        assert_eq!(query["redirect_uri"], "http://127.0.0.1:1/callback");
        // No slash was added.
        assert_eq!(query["resource"], "https://a.test");
        assert_eq!(query["scope"], "a b");
        assert!(!query["state"].is_empty());
        assert!(!url("https://as.test/authorize", "").contains_key("scope"));
    }

    #[test]
    fn no_login_without_pkce_or_at_an_unfit_page() {
        let begin = |server: &ServerMetadata| {
            begin(server, "me", "http://127.0.0.1:1/", "https://a.test", &Scopes::default())
        };
        let mut plain = server("https://as.test/a");
        plain.code_challenge_methods = Some(vec!["plain".into()]);
        assert!(matches!(begin(&plain), Err(LoginError::NoPkce)));
        plain.code_challenge_methods = None;
        assert!(matches!(begin(&plain), Err(LoginError::NoPkce)));
        for unfit in ["javascript:alert(1)", "http://as.test/a", "file:///x", "data:text/html,x"] {
            assert!(
                matches!(begin(&server(unfit)), Err(LoginError::BadDocument { .. })),
                "{unfit}"
            );
        }
    }
}
