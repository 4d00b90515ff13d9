//! Token requests and their responses, for every grant.

use std::time::Duration;

use super::form_post::FormEndpoint;
use crate::{
    error::{LoginError, Refusal},
    http::HttpResponse,
    oauth::{
        document::{object, seconds},
        form::Form,
        proof::dpop::{Dpop, DpopKey, Nonces},
    },
    secret::Secret,
};

/// The longest accepted token. Tokens that list all groups of a user have a few KiB.
const LONGEST_TOKEN: usize = 16 << 10;

/// The type of an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Bearer,
    Dpop,
}

/// The response of a token endpoint.
#[derive(Clone, Debug)]
pub(crate) struct TokenResponse {
    pub(crate) access: Secret,
    pub(crate) kind: TokenKind,
    pub(crate) life: Option<Duration>,
    pub(crate) refresh: Option<Secret>,
    pub(crate) issued_type: Option<String>,
}

impl TokenResponse {
    /// Rejects a bearer token if tokens must be bound to a key. A server that ignores the proof issues one:
    /// <https://www.rfc-editor.org/rfc/rfc9449#section-5>.
    pub(crate) fn check_kind(&self, dpop: Dpop) -> Result<(), LoginError> {
        if dpop == Dpop::Always && self.kind != TokenKind::Dpop {
            return Err(LoginError::NotOffered("tokens bound to a key (DPoP)"));
        }
        Ok(())
    }
}

/// A token endpoint, and the key that its tokens are bound to.
#[derive(Debug)]
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) at: FormEndpoint<'a>,
    pub(crate) dpop: Option<&'a DpopKey>,
}

impl TokenEndpoint<'_> {
    /// Sends a token request, and a second one if the server requires its nonce in the proof:
    /// <https://www.rfc-editor.org/rfc/rfc9449#section-8>.
    pub(crate) async fn request(
        &self,
        form: Form,
        nonces: &mut Nonces,
        asking: &'static str,
    ) -> Result<TokenResponse, LoginError> {
        let first = self.send(form.clone(), nonces, asking).await?;
        match read(&first, asking) {
            Err(LoginError::Refused { refusal, .. })
                if refusal.code == "use_dpop_nonce"
                    && self.dpop.is_some()
                    && learn(nonces, self.at.url, &first) =>
            {
                // A new proof, because servers reject one that they have seen.
                let second = self.send(form, nonces, asking).await?;
                learn(nonces, self.at.url, &second);
                read(&second, asking)
            }
            done => {
                learn(nonces, self.at.url, &first);
                done
            }
        }
    }

    async fn send(
        &self,
        form: Form,
        nonces: &Nonces,
        asking: &'static str,
    ) -> Result<HttpResponse, LoginError> {
        let url = self.at.url;
        let mut request = self.at.request(form)?.header("accept", "application/json");
        if let Some(key) = self.dpop {
            request.headers.push(("dpop", key.proof("POST", url, None, nonces.get(url))?));
        }
        request.most_bytes = 64 * 1024;
        self.at.fetch.send(request, asking).await
    }
}

fn learn(nonces: &mut Nonces, url: &str, response: &HttpResponse) -> bool {
    response.header("dpop-nonce").is_some_and(|nonce| nonces.learn(url, nonce))
}

/// Reads the response of a token endpoint. Known deviations of real servers are accepted; the body is never kept or
/// shown.
pub(crate) fn read(
    response: &HttpResponse,
    asking: &'static str,
) -> Result<TokenResponse, LoginError> {
    let document = object(&response.body);
    let refused = |code: &str, description: Option<&str>| {
        Err(LoginError::Refused { asking, refusal: Refusal::new(code, description) })
    };
    // Without reading the body, which may come from a proxy in front of the server.
    if matches!(response.status, 429 | 500..=599) {
        return refused("temporarily_unavailable", None);
    }
    let Some(document) = document else {
        let why = "the response is not a JSON object";
        return Err(LoginError::BadDocument { what: asking, why });
    };
    // Errors have status 400 or 401 (https://www.rfc-editor.org/rfc/rfc6749#section-5.2), but some servers send 200.
    if let Some(code) = document["error"].as_str() {
        return refused(code, document["error_description"].as_str());
    }
    if !(200..300).contains(&response.status) {
        return refused("", None);
    }
    let Some(access) = document["access_token"].as_str().filter(|token| is_token(token)) else {
        let why = "the response lacks a valid access token";
        return Err(LoginError::BadDocument { what: asking, why });
    };
    // Required and case insensitive (https://www.rfc-editor.org/rfc/rfc6749#section-5.1), but some servers omit it.
    let kind = match document["token_type"].as_str() {
        Some(kind) if kind.eq_ignore_ascii_case("dpop") => TokenKind::Dpop,
        _ => TokenKind::Bearer,
    };
    Ok(TokenResponse {
        access: Secret::new(access),
        kind,
        // Some servers send 0 for an unknown lifetime.
        life: document.get("expires_in").and_then(seconds).filter(|life| !life.is_zero()),
        refresh: document["refresh_token"]
            .as_str()
            .filter(|token| !token.is_empty() && token.len() <= LONGEST_TOKEN)
            .map(Secret::new),
        issued_type: document["issued_token_type"].as_str().map(str::to_owned),
    })
}

/// Whether the token can be sent in a header. Most servers accept 8 KiB of headers in total.
fn is_token(token: &str) -> bool {
    let is_fit = !token.is_empty() && token.len() <= LONGEST_TOKEN;
    is_fit && token.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_body(status: u16, body: &str) -> Result<TokenResponse, LoginError> {
        read(&HttpResponse::new(status, Vec::new(), body.as_bytes().to_vec()), "a token")
    }

    #[test]
    fn known_deviations_of_token_responses_are_accepted() {
        let hour = Some(Duration::from_secs(3600));
        for life in [json!(3600), json!(3600.0), json!("3600")] {
            let body = json!({ "access_token": "t", "expires_in": life }).to_string();
            let token = read_body(200, &body).unwrap();
            assert_eq!((token.life, token.kind), (hour, TokenKind::Bearer));
        }
        let odd = r#"{"access_token":"t","token_type":"dpop","expires_in":"soon"}"#;
        let token = read_body(200, odd).unwrap();
        assert_eq!((token.life, token.kind), (None, TokenKind::Dpop));
    }

    #[test]
    fn oversized_tokens_are_not_accepted() {
        let long = "x".repeat(LONGEST_TOKEN + 1);
        let body = json!({ "access_token": "t", "refresh_token": long }).to_string();
        assert!(read_body(200, &body).unwrap().refresh.is_none());
        let body = json!({ "access_token": long }).to_string();
        assert!(matches!(read_body(200, &body), Err(LoginError::BadDocument { .. })));
    }

    #[test]
    fn token_errors_are_read_and_bodies_are_not_kept() {
        let refused = |status, body: &str| match read_body(status, body).unwrap_err() {
            LoginError::Refused { refusal, .. } => refusal.code,
            other => format!("{other}"),
        };
        assert_eq!(refused(400, r#"{"error":"invalid_grant"}"#), "invalid_grant");
        assert_eq!(refused(200, r#"{"error":"invalid_grant"}"#), "invalid_grant");
        assert_eq!(refused(503, "<html>"), "temporarily_unavailable");
        assert_eq!(refused(429, r#"{"error":"x"}"#), "temporarily_unavailable");
        assert_eq!(refused(401, "{}"), "unknown");
        for body in ["<html>canary</html>", r#"{"access_token":"can\nary"}"#, r#"["canary"]"#, ""] {
            let error = read_body(200, body).unwrap_err();
            assert!(matches!(error, LoginError::BadDocument { .. }), "{error}");
            assert!(!format!("{error:?} {error}").contains("canary"));
        }
        // A redirect is not followed.
        assert!(matches!(read_body(302, ""), Err(LoginError::BadDocument { .. })));
    }
}
