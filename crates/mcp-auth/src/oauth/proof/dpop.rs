//! `DPoP` (<https://www.rfc-editor.org/rfc/rfc9449>): access tokens bound to a key.

use std::{collections::HashMap, fmt};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::{
    jwt::{SigningKey, base64url, random_text, unix_now},
    key_pair::KeyPair,
};
use crate::{
    error::LoginError,
    origin::{origin, web},
    secret::Secret,
};

/// The number of origins with a nonce. A login uses only a few.
const MOST_NONCES: usize = 16;
const LONGEST_NONCE: usize = 1024;

/// Whether tokens are bound to a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a setting with these three values")]
pub enum Dpop {
    /// If the server's challenge asks for it.
    #[default]
    WhenAsked,
    /// Always; a server that does not support it is an error.
    Always,
    /// Never.
    Never,
}

/// The `DPoP` key of one login.
#[derive(Clone)]
pub(crate) struct DpopKey {
    key: SigningKey,
    pkcs8: Secret,
}

impl DpopKey {
    pub(crate) fn generate() -> Result<Self, LoginError> {
        let der = KeyPair::generate()?;
        Self::over(&der, Secret::new(base64url(&der)))
    }

    /// Reads a stored key.
    pub(crate) fn restore(stored: &Secret) -> Result<Self, LoginError> {
        let der = URL_SAFE_NO_PAD.decode(stored.expose()).map(Zeroizing::new);
        let der = der.map_err(|_| LoginError::BadCredential("the stored key is damaged"))?;
        Self::over(&der, stored.clone())
    }

    fn over(der: &[u8], pkcs8: Secret) -> Result<Self, LoginError> {
        Ok(Self { key: SigningKey::from_pkcs8(der)?, pkcs8 })
    }

    pub(crate) fn to_stored(&self) -> &Secret {
        &self.pkcs8
    }

    /// Creates a proof for one request, with a unique id. `token` is the access token that it is sent with, if it goes
    /// to a resource. See <https://www.rfc-editor.org/rfc/rfc9449#section-4.2>.
    pub(crate) fn proof(
        &self,
        method: &str,
        url: &str,
        token: Option<&Secret>,
        nonce: Option<&str>,
    ) -> Result<Secret, LoginError> {
        let not_p256 = LoginError::BadCredential("the key is not P-256");
        let (x, y) = self.key.public_point().ok_or(not_p256)?;
        let header = json!({
            "typ": "dpop+jwt",
            "jwk": { "kty": "EC", "crv": "P-256", "x": x, "y": y },
        });
        let mut claims = json!({
            "jti": random_text(),
            "htm": method,
            "htu": bare(url),
            "iat": unix_now(),
        });
        if let Some(token) = token {
            claims["ath"] = base64url(&Sha256::digest(token.expose())).into();
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
        self.key.sign(header, &claims)
    }
}

impl fmt::Debug for DpopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DpopKey(..)")
    }
}

/// Returns the URL without query and fragment, for `htu`: <https://www.rfc-editor.org/rfc/rfc9449#section-4.2>.
fn bare(url: &str) -> String {
    let Some(mut parsed) = web(url) else { return url.to_owned() };
    parsed.set_query(None);
    parsed.set_fragment(None);
    parsed.into()
}

/// The latest nonce of each origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nonces(HashMap<String, String>);

impl Nonces {
    pub(crate) fn get(&self, url: &str) -> Option<&str> {
        self.0.get(&origin(url)?).map(String::as_str)
    }

    /// Adds the nonces of a copy.
    pub(crate) fn merge(&mut self, copy: Self) {
        self.0.extend(copy.0);
    }

    /// Stores a nonce, and returns whether it is new.
    pub(crate) fn learn(&mut self, url: &str, nonce: &str) -> bool {
        // The characters of https://www.rfc-editor.org/rfc/rfc9449#section-8.1 are all graphic; a line break would split a header.
        let is_fit = nonce.len() <= LONGEST_NONCE && nonce.bytes().all(|b| b.is_ascii_graphic());
        let Some(origin) = origin(url).filter(|_| is_fit && !nonce.is_empty()) else {
            return false;
        };
        if self.0.len() >= MOST_NONCES && !self.0.contains_key(&origin) {
            // A server that requires a nonce sends it again, at the cost of one request.
            self.0.clear();
        }
        self.0.insert(origin, nonce.to_owned()).as_deref() != Some(nonce)
    }
}

#[cfg(test)]
#[cfg(any(feature = "aws-lc-rs", feature = "ring"))]
mod tests {
    use serde_json::Value;

    use super::*;

    fn part(jwt: &Secret, index: usize) -> Value {
        let part = jwt.expose().split('.').nth(index).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn dpop_proof_is_bound_to_its_request() {
        let key = DpopKey::generate().unwrap();
        let token = Secret::new("t");
        let proof = key.proof("POST", "https://a.test/mcp?x#y", Some(&token), Some("n")).unwrap();
        let (header, claims) = (part(&proof, 0), part(&proof, 1));
        assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        assert_eq!(header["jwk"].as_object().unwrap().len(), 4, "the public key only");
        assert_eq!(claims["htu"], "https://a.test/mcp");
        assert_eq!((&claims["htm"], &claims["nonce"]), (&json!("POST"), &json!("n")));
        assert_eq!(claims["ath"], base64url(&Sha256::digest("t")));
        let socket = key.proof("GET", "wss://a.test/mcp", Some(&token), None).unwrap();
        assert_eq!(part(&socket, 1)["htu"], "https://a.test/mcp");
        let bare = key.proof("POST", "https://a.test/token", None, None).unwrap();
        assert!(part(&bare, 1).get("ath").is_none() && part(&bare, 1).get("nonce").is_none());
    }

    #[test]
    fn dpop_proofs_are_unique_and_a_stored_key_is_read_back() {
        let key = DpopKey::generate().unwrap();
        let again = DpopKey::restore(key.to_stored()).unwrap();
        let one = key.proof("GET", "https://a.test/", None, None).unwrap();
        let two = again.proof("GET", "https://a.test/", None, None).unwrap();
        assert_ne!(part(&one, 1)["jti"], part(&two, 1)["jti"]);
        assert_eq!(part(&one, 0)["jwk"], part(&two, 0)["jwk"]);
        assert!(DpopKey::restore(&Secret::new("damaged")).is_err());
        assert_eq!(format!("{key:?}"), "DpopKey(..)");
    }

    #[test]
    fn dpop_nonces_are_kept_per_origin() {
        let mut nonces = Nonces::default();
        assert!(nonces.learn("https://a.test/x", "1"));
        assert!(!nonces.learn("https://a.test/y", "1"));
        assert!(nonces.learn("https://a.test/y", "2"));
        assert!(!nonces.learn("https://a.test/y", "line\nbreak"));
        assert_eq!(nonces.get("https://a.test/z"), Some("2"));
        assert_eq!(nonces.get("https://b.test/"), None);
    }
}
