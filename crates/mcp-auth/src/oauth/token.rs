//! Token requests and their answers, for every grant.

use std::time::Duration;

use serde_json::Value;
use zeroize::Zeroizing;

use super::{
    client::Client,
    dpop::{DpopKey, Nonces},
    error::{LoginError, Refusal},
    fetch::Fetch,
    metadata::object,
};
use crate::{http::HttpResponse, secret::Secret};

/// The longest token that is taken. Those with a user's every group in them are a few KiB.
const LONGEST_TOKEN: usize = 16 << 10;

/// The fields of a token request.
#[derive(Clone)]
pub(crate) struct Form(Vec<(&'static str, Zeroizing<String>)>);

impl Form {
    pub(crate) fn new(grant_type: &str) -> Self {
        Self(vec![("grant_type", Zeroizing::new(grant_type.to_owned()))])
    }

    pub(crate) fn empty() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, name: &'static str, value: &str) {
        self.0.push((name, Zeroizing::new(value.to_owned())));
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.add(name, value);
        self
    }

    pub(crate) fn with_some(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn encode(&self) -> Secret {
        let mut encoder = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.0 {
            encoder.append_pair(name, value);
        }
        Secret::new(encoder.finish())
    }
}

/// How a token is shown to the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Bearer,
    Dpop,
}

/// What a token endpoint gave.
#[derive(Clone, Debug)]
pub(crate) struct TokenResponse {
    pub(crate) access: Secret,
    pub(crate) kind: TokenKind,
    pub(crate) life: Option<Duration>,
    pub(crate) refresh: Option<Secret>,
    pub(crate) issued_type: Option<String>,
}

/// One token endpoint, and who asks there.
#[derive(Debug)]
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) fetch: &'a Fetch,
    pub(crate) url: &'a str,
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) dpop: Option<&'a DpopKey>,
}

impl TokenEndpoint<'_> {
    /// Sends a token request, and once more if the server wants its nonce in the proof.
    pub(crate) async fn ask(
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
                    && learn(nonces, self.url, &first) =>
            {
                // A new proof, since servers refuse one they have seen.
                let second = self.send(form, nonces, asking).await?;
                learn(nonces, self.url, &second);
                read(&second, asking)
            }
            done => {
                learn(nonces, self.url, &first);
                done
            }
        }
    }

    async fn send(
        &self,
        mut form: Form,
        nonces: &Nonces,
        asking: &'static str,
    ) -> Result<HttpResponse, LoginError> {
        let header = self.client.authenticate(&mut form, self.issuer)?;
        let mut request = self
            .fetch
            .request("POST", self.url)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json");
        if let Some(header) = header {
            request.headers.push(("authorization", header));
        }
        if let Some(key) = self.dpop {
            let proof = key.proof("POST", self.url, None, nonces.get(self.url))?;
            request.headers.push(("dpop", proof));
        }
        request.body = form.encode();
        request.most_bytes = 64 * 1024;
        self.fetch.send(request, asking).await
    }
}

fn learn(nonces: &mut Nonces, url: &str, response: &HttpResponse) -> bool {
    response.header("dpop-nonce").is_some_and(|nonce| nonces.learn(url, nonce))
}

/// Reads the answer of a token endpoint. Deviations that real servers are known for are forgiven; a body is
/// never kept or shown.
pub(crate) fn read(
    response: &HttpResponse,
    asking: &'static str,
) -> Result<TokenResponse, LoginError> {
    let document = object(&response.body);
    let refused = |code: &str, description: Option<&str>| {
        Err(LoginError::Refused { asking, refusal: Refusal::new(code, description) })
    };
    if matches!(response.status, 429 | 500..=599) {
        return refused("temporarily_unavailable", None);
    }
    let Some(document) = document else {
        let why = "the answer is not a JSON object";
        return Err(LoginError::BadDocument { what: asking, why });
    };
    if let Some(code) = document["error"].as_str() {
        return refused(code, document["error_description"].as_str());
    }
    if !(200..300).contains(&response.status) {
        return refused("", None);
    }
    let Some(access) = document["access_token"].as_str().filter(|token| is_token(token)) else {
        let why = "the answer has no access token";
        return Err(LoginError::BadDocument { what: asking, why });
    };
    let kind = match document["token_type"].as_str() {
        Some(kind) if kind.eq_ignore_ascii_case("dpop") => TokenKind::Dpop,
        _ => TokenKind::Bearer,
    };
    Ok(TokenResponse {
        access: Secret::new(access),
        kind,
        // Some servers write 0 where they mean that they do not know.
        life: document.get("expires_in").and_then(seconds).filter(|life| !life.is_zero()),
        refresh: document["refresh_token"]
            .as_str()
            .filter(|token| !token.is_empty() && token.len() <= LONGEST_TOKEN)
            .map(Secret::new),
        issued_type: document["issued_token_type"].as_str().map(str::to_owned),
    })
}

/// What may stand in a header, where most servers take no more than 8 KiB in all.
fn is_token(token: &str) -> bool {
    let is_fit = !token.is_empty() && token.len() <= LONGEST_TOKEN;
    is_fit && token.bytes().all(|byte| byte.is_ascii_graphic())
}

/// `3600`, `3600.0` and `"3600"` are all seen.
pub(crate) fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &str) -> Result<TokenResponse, LoginError> {
        read(&HttpResponse::new(status, Vec::new(), body.as_bytes().to_vec()), "a token")
    }

    #[test]
    fn known_deviations_are_forgiven() {
        let hour = Some(Duration::from_secs(3600));
        for life in [json!(3600), json!(3600.0), json!("3600")] {
            let body = json!({ "access_token": "t", "expires_in": life }).to_string();
            let token = answer(200, &body).unwrap();
            assert_eq!((token.life, token.kind), (hour, TokenKind::Bearer));
        }
        let odd = r#"{"access_token":"t","token_type":"dpop","expires_in":"soon"}"#;
        let token = answer(200, odd).unwrap();
        assert_eq!((token.life, token.kind), (None, TokenKind::Dpop));
    }

    #[test]
    fn tokens_without_end_are_not_kept() {
        let long = "x".repeat(LONGEST_TOKEN + 1);
        let body = json!({ "access_token": "t", "refresh_token": long }).to_string();
        assert!(answer(200, &body).unwrap().refresh.is_none());
        let body = json!({ "access_token": long }).to_string();
        assert!(matches!(answer(200, &body), Err(LoginError::BadDocument { .. })));
    }

    #[test]
    fn refusals_are_read_and_bodies_are_not_kept() {
        let refused = |status, body: &str| match answer(status, body).unwrap_err() {
            LoginError::Refused { refusal, .. } => refusal.code,
            other => format!("{other}"),
        };
        assert_eq!(refused(400, r#"{"error":"invalid_grant"}"#), "invalid_grant");
        assert_eq!(refused(200, r#"{"error":"invalid_grant"}"#), "invalid_grant");
        assert_eq!(refused(503, "<html>"), "temporarily_unavailable");
        assert_eq!(refused(429, r#"{"error":"x"}"#), "temporarily_unavailable");
        assert_eq!(refused(401, "{}"), "unknown");
        for body in ["<html>canary</html>", r#"{"access_token":"can\nary"}"#, r#"["canary"]"#, ""] {
            let error = answer(200, body).unwrap_err();
            assert!(matches!(error, LoginError::BadDocument { .. }), "{error}");
            assert!(!format!("{error:?} {error}").contains("canary"));
        }
        // A redirect is not followed, and is no token either.
        assert!(matches!(answer(302, ""), Err(LoginError::BadDocument { .. })));
    }
}
