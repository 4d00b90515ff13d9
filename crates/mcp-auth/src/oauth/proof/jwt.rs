//! JSON Web Tokens: signs ours, and checks assertions issued by others.

use std::{fmt, sync::Arc};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use oauth2::CsrfToken;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::key_pair::KeyPair;
use crate::{error::LoginError, secret::Secret};

/// A private key for signatures: P-256 for `ES256`, RSA for `RS256`.
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<KeyPair>,
    /// The `kid` in the header of signed tokens.
    id: Option<String>,
}

impl SigningKey {
    /// Reads a PKCS#8 key in PEM (`BEGIN PRIVATE KEY`).
    pub fn from_pem(pem: &Secret) -> Result<Self, LoginError> {
        let unfit = LoginError::BadCredential("it is not a PKCS#8 private key in PEM");
        let der = pem_body(pem.expose()).ok_or(unfit)?;
        Self::from_pkcs8(&der)
    }

    pub(crate) fn from_pkcs8(der: &[u8]) -> Result<Self, LoginError> {
        Ok(Self { pair: Arc::new(KeyPair::from_pkcs8(der)?), id: None })
    }

    /// Sets the key id (`kid`), for servers that know several keys.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Returns `ES256` or `RS256`.
    pub fn algorithm(&self) -> &'static str {
        self.pair.algorithm()
    }

    /// Returns the two coordinates of a P-256 public key.
    pub(crate) fn public_point(&self) -> Option<(String, String)> {
        let (x, y) = self.pair.public_point()?;
        Some((base64url(x), base64url(y)))
    }

    /// Signs `claims` with `header`, to which `alg` and `kid` are added.
    pub(crate) fn sign(&self, mut header: Value, claims: &Value) -> Result<Secret, LoginError> {
        header["alg"] = self.algorithm().into();
        if let Some(id) = &self.id {
            header["kid"] = id.as_str().into();
        }
        let signed = format!(
            "{}.{}",
            base64url(header.to_string().as_bytes()),
            base64url(claims.to_string().as_bytes())
        );
        let signature = self.pair.sign(signed.as_bytes())?;
        Ok(Secret::new(format!("{signed}.{}", base64url(&signature))))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("alg", &self.algorithm()).finish_non_exhaustive()
    }
}

/// Creates an assertion that authenticates `client_id` to `audience`:
/// <https://www.rfc-editor.org/rfc/rfc7523#section-2.2>.
pub(crate) fn client_assertion(
    key: &SigningKey,
    client_id: &str,
    audience: &str,
    now: u64,
) -> Result<Secret, LoginError> {
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now,
        // Required, and short because the assertion is sent at once: https://www.rfc-editor.org/rfc/rfc7523#section-3
        "exp": now + 300,
        "jti": random_text(),
    });
    key.sign(json!({ "typ": "JWT" }), &claims)
}

/// Checks an assertion issued by a third party before it is sent to a server that would only respond with
/// `invalid_grant`: it must be a JWT that has not expired. With `audience`, it must be made for that audience, because
/// another recipient could use it there.
pub(crate) fn check_assertion(
    jwt: &Secret,
    now: u64,
    audience: Option<&str>,
) -> Result<(), LoginError> {
    let malformed = LoginError::BadCredential("the assertion is not a JWT");
    let parts: Vec<&str> = jwt.expose().split('.').collect();
    let [header, claims, _] = parts.as_slice() else { return Err(malformed) };
    let object = |part: &str| {
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(part).ok()?);
        serde_json::from_slice::<Value>(&bytes).ok().filter(Value::is_object)
    };
    let (Some(_), Some(claims)) = (object(header), object(claims)) else { return Err(malformed) };
    // Allow for clock differences.
    let is_expired = claims["exp"].as_f64().is_some_and(|exp| exp + 60.0 < precise(now));
    if is_expired {
        return Err(LoginError::BadCredential("the assertion has expired"));
    }
    let Some(audience) = audience else { return Ok(()) };
    let is_audience = match &claims["aud"] {
        Value::Array(all) => all.iter().any(|one| one == audience),
        one => one == audience,
    };
    if is_audience {
        Ok(())
    } else {
        Err(LoginError::BadCredential("the assertion was issued for another authorization server"))
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
fn precise(seconds: u64) -> f64 {
    seconds as f64
}

/// Returns 128 random bits as text.
pub(crate) fn random_text() -> String {
    CsrfToken::new_random().into_secret()
}

pub(crate) fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn pem_body(pem: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let body: Zeroizing<String> =
        Zeroizing::new(body.chars().filter(|c| !c.is_ascii_whitespace()).collect());
    STANDARD.decode(body.as_bytes()).ok().map(Zeroizing::new)
}

/// Returns the seconds since 1970.
pub(crate) fn unix_now() -> u64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
#[cfg(any(feature = "aws-lc-rs", feature = "ring"))]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn key() -> SigningKey {
        let body = STANDARD.encode(KeyPair::generate().unwrap());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        SigningKey::from_pem(&Secret::new(pem)).unwrap()
    }

    fn jwt(claims: &Value) -> Secret {
        key().sign(json!({}), claims).unwrap()
    }

    #[test]
    fn signature_of_a_client_assertion_is_valid() {
        let key = key().with_id("k1");
        let jwt = client_assertion(&key, "me", "https://as.test", 1000).unwrap();
        let (signed, signature) = jwt.expose().rsplit_once('.').unwrap();
        let (x, y) = key.pair.public_point().unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, [&[4], x, y].concat());
        public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let claims = signed.split_once('.').unwrap().1;
        let claims: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        assert_eq!((&claims["iss"], &claims["sub"]), (&json!("me"), &json!("me")));
        assert_eq!(claims["aud"], "https://as.test");
    }

    #[test]
    fn expired_and_malformed_assertions_are_rejected() {
        check_assertion(&jwt(&json!({ "exp": 1000 })), 1030, None).unwrap();
        check_assertion(&jwt(&json!({})), 1030, None).unwrap();
        let expired = check_assertion(&jwt(&json!({ "exp": 1000 })), 1100, None).unwrap_err();
        assert!(expired.to_string().contains("expired"));
        for malformed in ["", "a.b", "a.b.c", "a.b.c.d", "e30.W10.x", "canary"] {
            let error = check_assertion(&Secret::new(malformed), 0, None).unwrap_err();
            assert!(error.to_string().contains("not a JWT"), "{malformed}");
            assert!(!format!("{error:?}").contains("canary"));
        }
    }

    #[test]
    fn assertion_for_another_audience_is_rejected() {
        let issuer = Some("https://as.test");
        for aud in [json!("https://as.test"), json!(["https://b.test", "https://as.test"])] {
            check_assertion(&jwt(&json!({ "aud": aud })), 0, issuer).unwrap();
        }
        for aud in [json!("https://as.test/"), json!(["https://b.test"]), json!(null), json!({})] {
            let error = check_assertion(&jwt(&json!({ "aud": aud })), 0, issuer).unwrap_err();
            assert!(error.to_string().contains("another authorization server"), "{aud}");
        }
    }

    #[test]
    fn invalid_keys_are_rejected_without_showing_them() {
        for pem in ["", "canary", "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----"] {
            let error = SigningKey::from_pem(&Secret::new(pem)).unwrap_err();
            assert!(!format!("{error:?} {error}").contains("canary"));
        }
        assert!(SigningKey::from_pkcs8(b"x").is_err());
    }
}
