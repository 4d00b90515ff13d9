//! Validates the authorization response that arrives in the redirect of the browser.

use url::Url;

use crate::{
    error::{LoginError, Refusal},
    origin::origin,
    secret::Secret,
};

/// The values that the response to one authorization request must have.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) state: Secret,
    pub(crate) issuer: Issuer,
    /// Whether the server announced that it sends `iss`: <https://www.rfc-editor.org/rfc/rfc9207#section-2.3>.
    pub(crate) needs_iss: bool,
}

/// The authorization server that may have responded.
#[derive(Clone, Debug)]
pub(crate) enum Issuer {
    /// The issuer from validated metadata, as it was received.
    Known(String),
    /// Any issuer at one of these origins, if only the endpoints are configured.
    At(Vec<String>),
}

impl Issuer {
    /// Whether `iss` names this issuer. A known issuer is compared as a string, without normalization:
    /// <https://www.rfc-editor.org/rfc/rfc9207#section-2.4>.
    fn matches(&self, iss: &str) -> bool {
        match self {
            Self::Known(issuer) => iss == issuer,
            Self::At(origins) => origin(iss).is_some_and(|iss| origins.contains(&iss)),
        }
    }
}

impl Expected {
    /// Returns the code from the URL that the browser was redirected to.
    ///
    /// Checks the state first, then the issuer. A response that fails either check is not read any further, and its
    /// error is not reported.
    pub(crate) fn code(&self, redirected: &str) -> Result<Secret, LoginError> {
        let response = AuthorizationResponse::read(redirected).ok_or(LoginError::WrongState)?;
        // https://www.rfc-editor.org/rfc/rfc6749#section-10.12
        if !same(response.state.as_deref().unwrap_or_default(), self.state.expose()) {
            return Err(LoginError::WrongState);
        }
        // A code from another server must not reach the token endpoint of this one, which would learn it:
        // https://www.rfc-editor.org/rfc/rfc9207#section-1
        match &response.iss {
            Some(iss) if !self.issuer.matches(iss) => return Err(LoginError::WrongIssuer),
            None if self.needs_iss => return Err(LoginError::WrongIssuer),
            _ => {}
        }
        if let Some(code) = &response.error {
            return Err(LoginError::Denied(Refusal::new(code, response.description.as_deref())));
        }
        response.code.filter(|code| !code.is_empty()).ok_or(LoginError::WrongState)
    }
}

#[derive(Default)]
struct AuthorizationResponse {
    code: Option<Secret>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

impl AuthorizationResponse {
    fn read(redirected: &str) -> Option<Self> {
        let url = Url::parse(redirected.trim()).ok()?;
        let mut response = Self::default();
        for (name, value) in url.query_pairs() {
            let value = value.into_owned();
            let field = match &*name {
                // Wrapped at once, so that no copy outlives the response.
                "code" if response.code.is_none() => {
                    response.code = Some(Secret::new(value));
                    continue;
                }
                "state" => &mut response.state,
                "iss" => &mut response.iss,
                "error" => &mut response.error,
                "error_description" => &mut response.description,
                "code" => return None,
                _ => continue,
            };
            // Parameters must not repeat: https://www.rfc-editor.org/rfc/rfc6749#section-3.1
            if field.replace(value).is_some() {
                return None;
            }
        }
        Some(response)
    }
}

/// Compares two strings in time that does not depend on their content.
fn same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_in(query: &str, needs_iss: bool) -> Result<String, String> {
        code_of(Issuer::Known("https://as.test".into()), query, needs_iss)
    }

    fn code_of(issuer: Issuer, query: &str, needs_iss: bool) -> Result<String, String> {
        let expected = Expected { state: Secret::new("s"), issuer, needs_iss };
        let code = expected.code(&format!("http://127.0.0.1:1/callback?{query}"));
        code.map(|code| code.expose().to_owned()).map_err(|error| match error {
            LoginError::Denied(refusal) => refusal.code,
            LoginError::WrongIssuer => "issuer".into(),
            LoginError::WrongState => "state".into(),
            other => other.to_string(),
        })
    }

    fn is(result: &Result<String, String>, expected: &str) -> bool {
        result.as_deref().unwrap_or_else(|error| error) == expected
    }

    #[test]
    fn known_issuer_is_compared_exactly() {
        let named = "code=c&state=s&iss=https%3A%2F%2Fas.test";
        assert!(is(&code_in(named, true), "c") && is(&code_in(named, false), "c"));
        assert!(is(&code_in("code=c&state=s", false), "c"));
        assert!(is(&code_in("code=c&state=s", true), "issuer"));
        for wrong in ["https%3A%2F%2Fas.test%2F", "https%3A%2F%2FAS.test", "https%3A%2F%2Fx", ""] {
            let query = format!("code=c&state=s&iss={wrong}");
            assert!(is(&code_in(&query, false), "issuer"), "{wrong}");
            assert!(is(&code_in(&query, true), "issuer"), "{wrong}");
        }
    }

    #[test]
    fn issuer_known_only_by_its_endpoints_must_be_at_one_of_their_origins() {
        let at = |iss: &str| {
            let issuer = Issuer::At(vec!["https://as.test".into(), "https://token.test".into()]);
            code_of(issuer, &format!("code=c&state=s{iss}"), false)
        };
        for right in
            ["", "&iss=https://as.test", "&iss=https://as.test/t/1", "&iss=https://token.test/"]
        {
            assert!(is(&at(right), "c"), "{right}");
        }
        for wrong in ["&iss=", "&iss=https://evil.test", "&iss=http://as.test", "&iss=urn:as.test"]
        {
            assert!(is(&at(wrong), "issuer"), "{wrong}");
        }
    }

    #[test]
    fn state_must_match_the_request() {
        for query in ["code=c", "code=c&state=", "code=c&state=S", "code=c&state=s2", "state=s"] {
            assert!(is(&code_in(query, false), "state"), "{query}");
        }
        assert!(is(&code_in("code=c&state=s&state=s", false), "state"));
        assert!(is(&code_in("code=c&code=d&state=s", false), "state"));
        assert!(is(&code_in("error=access_denied&state=x", false), "state"));
    }

    #[test]
    fn error_is_reported_only_if_the_requested_issuer_sent_it() {
        let denied = "error=access_denied&error_description=no&state=s";
        assert!(is(&code_in(denied, false), "access_denied"));
        assert!(is(&code_in(denied, true), "issuer"));
        assert!(is(&code_in(&format!("{denied}&iss=https%3A%2F%2Fevil.test"), false), "issuer"));
    }

    #[test]
    fn redirect_that_is_not_a_url_is_rejected() {
        let issuer = Issuer::Known(String::new());
        let expected = Expected { state: Secret::new("s"), issuer, needs_iss: false };
        for pasted in ["", "code", "/callback?code=c&state=s", "\u{0}"] {
            assert!(matches!(expected.code(pasted), Err(LoginError::WrongState)));
        }
        // Users paste surrounding whitespace.
        assert!(expected.code(" http://localhost/?code=c&state=s\n").is_ok());
    }
}
