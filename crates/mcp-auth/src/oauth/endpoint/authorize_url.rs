//! The authorization URL for the user's browser, and the state to check its redirect.

use std::borrow::Cow;

use oauth2::{
    AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope, basic::BasicClient,
};

use crate::{
    error::LoginError,
    interact::{
        Visit,
        browser::is_fit_for_browser,
        callback::{Expected, Issuer},
    },
    oauth::{form::Form, metadata::ServerMetadata, scopes::Scopes},
    secret::Secret,
};

/// An authorization request that was started, with all values that its redirect is checked against.
#[derive(Debug)]
pub(crate) struct AwaitingRedirect {
    pub(crate) url: String,
    pub(crate) verifier: Secret,
    pub(crate) expected: Expected,
    redirect_uri: String,
    resource: String,
}

impl AwaitingRedirect {
    /// Returns the page to send the user to.
    pub(crate) fn visit(&self) -> Visit<'_> {
        Visit::new(&self.url, &self.expected)
    }

    /// Builds the form that exchanges the code in `redirected_to` for tokens. State and issuer are checked before the
    /// code is used. Consumes `self`, because a code works once.
    pub(crate) fn finish(self, redirected_to: &Secret) -> Result<Form, LoginError> {
        let code = self.expected.code(redirected_to.expose())?;
        // The redirect URL again, as proof that the code was not issued for another one
        // (https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3), and the verifier of the challenge
        // (https://www.rfc-editor.org/rfc/rfc7636#section-4.5).
        Ok(Form::new("authorization_code")
            .with("code", code.expose())
            .with("redirect_uri", &self.redirect_uri)
            .with("code_verifier", self.verifier.expose())
            .with("resource", &self.resource))
    }
}

/// Starts an authorization request at `server`.
pub(crate) fn begin(
    server: &ServerMetadata,
    client_id: &str,
    redirect_uri: &str,
    resource: &str,
    scopes: &Scopes,
) -> Result<AwaitingRedirect, LoginError> {
    let bad = |why| LoginError::BadDocument { what: "the authorization server's metadata", why };
    let endpoint = server.authorization_endpoint.clone();
    let endpoint = endpoint.ok_or(LoginError::NotOffered("a login in the browser"))?;
    // The URL comes from the server, and a browser also runs `javascript:` URLs.
    if !is_fit_for_browser(&endpoint) {
        return Err(bad("its authorization endpoint is neither https nor on this machine"));
    }
    if !server.offers_pkce() {
        return Err(LoginError::NoPkce);
    }
    let endpoint =
        AuthUrl::new(endpoint).map_err(|_| bad("its authorization endpoint is not a URL"))?;
    let redirect = RedirectUrl::new(redirect_uri.to_owned())
        .map_err(|_| LoginError::BadCredential("the redirect URL is not a URL"))?;
    // Another program on this machine may receive the redirect. It cannot use the code without the verifier:
    // https://www.rfc-editor.org/rfc/rfc7636#section-1
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let client = BasicClient::new(ClientId::new(client_id.to_owned())).set_auth_uri(endpoint);
    // `state` ties the redirect to this request (https://www.rfc-editor.org/rfc/rfc6749#section-10.12), and `resource` ties
    // the token to this server (https://www.rfc-editor.org/rfc/rfc8707#section-2.1).
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
    Ok(AwaitingRedirect {
        url: url.into(),
        verifier: Secret::new(verifier.into_secret()),
        expected: Expected {
            state: Secret::new(state.into_secret()),
            issuer,
            needs_iss: server.sends_iss,
        },
        redirect_uri: redirect_uri.to_owned(),
        resource: resource.to_owned(),
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
    fn authorization_url_has_all_parameters() {
        let query = url("https://as.test/authorize?tenant=1", "a b");
        assert_eq!(query["tenant"], "1");
        assert_eq!(query["response_type"], "code");
        assert_eq!(query["code_challenge_method"], "S256");
        assert_eq!(query["redirect_uri"], "http://127.0.0.1:1/callback");
        // Without an added slash.
        assert_eq!(query["resource"], "https://a.test");
        assert_eq!(query["scope"], "a b");
        assert!(!query["state"].is_empty());
        assert!(!url("https://as.test/authorize", "").contains_key("scope"));
    }

    #[test]
    fn login_requires_pkce_and_an_encrypted_or_local_page() {
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
