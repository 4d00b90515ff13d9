//! The OAuth client and its authentication at the authorization server.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    document::text,
    form::Form,
    metadata::ServerMetadata,
    proof::jwt::{SigningKey, client_assertion, unix_now},
};
use crate::{credentials::Source, error::LoginError, secret::Secret};

/// A client id that was registered beforehand.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PreRegistered {
    /// The client id.
    pub id: String,
    /// The credential of the client.
    pub proof: ClientProof,
    /// The issuer it is registered with. If not given, the issuer of the first login is stored.
    pub issuer: Option<String>,
}

impl PreRegistered {
    /// Creates a client that authenticates with `proof`.
    pub fn new(id: impl Into<String>, proof: ClientProof) -> Self {
        Self { id: id.into(), proof, issuer: None }
    }
}

/// The credential of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ClientProof {
    /// No credential: a public client.
    None,
    /// A shared secret.
    Secret(Source),
    /// A private key, with its public key registered at the authorization server.
    Key(SigningKey),
}

/// The client authentication method at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    None,
    Basic,
    Post,
    PrivateKey,
}

impl AuthMethod {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKey => "private_key_jwt",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let all = [Self::None, Self::Basic, Self::Post, Self::PrivateKey];
        all.into_iter().find(|method| method.name() == name)
    }

    /// Chooses the method for a client secret: one that the server lists, `Basic` preferred. Without a list it is
    /// `Basic`: <https://www.rfc-editor.org/rfc/rfc8414#section-2>.
    pub(crate) fn with_secret(server: &ServerMetadata) -> Self {
        let lists = |method: Self| server.lists_auth(method.name()).unwrap_or(false);
        if !lists(Self::Basic) && lists(Self::Post) { Self::Post } else { Self::Basic }
    }
}

/// A client id and its credential, for one issuer.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) key: Option<SigningKey>,
    pub(crate) method: AuthMethod,
}

impl Client {
    pub(crate) fn public(id: impl Into<String>) -> Self {
        Self { id: id.into(), secret: None, key: None, method: AuthMethod::None }
    }

    pub(crate) fn with_secret(id: String, secret: Secret, method: AuthMethod) -> Self {
        Self { id, secret: Some(secret), key: None, method }
    }

    pub(crate) async fn pre_registered(
        given: &PreRegistered,
        server: &ServerMetadata,
    ) -> Result<Self, LoginError> {
        let id = given.id.clone();
        Ok(match &given.proof {
            ClientProof::None => Self::public(id),
            ClientProof::Secret(source) => {
                let method = AuthMethod::with_secret(server);
                Self::with_secret(id, source.read().await?, method)
            }
            ClientProof::Key(key) => {
                // Fail before the request: a server rejects an unsupported algorithm with `invalid_client`, which does
                // not name the cause.
                let algs = &server.signing_algs;
                if !algs.is_empty() && !algs.iter().any(|alg| alg == key.algorithm()) {
                    return Err(LoginError::NotOffered(
                        "the signing algorithm of the configured key",
                    ));
                }
                let (key, method) = (Some(key.clone()), AuthMethod::PrivateKey);
                Self { id, secret: None, key, method }
            }
        })
    }

    /// Adds the client authentication to a request: form fields, or the returned `Authorization` header.
    pub(crate) fn authenticate(
        &self,
        form: &mut Form,
        issuer: &str,
    ) -> Result<Option<Secret>, LoginError> {
        match (self.method, &self.secret, &self.key) {
            (AuthMethod::Basic, Some(secret), _) => {
                // Both are form-encoded before they are joined:
                // https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
                let pair = format!("{}:{}", encode(&self.id), encode(secret.expose()));
                return Ok(Some(Secret::new(format!("Basic {}", STANDARD.encode(pair)))));
            }
            (AuthMethod::Post, Some(secret), _) => {
                form.add("client_id", &self.id);
                form.add("client_secret", secret.expose());
            }
            (AuthMethod::PrivateKey, _, Some(key)) => {
                // The audience is the issuer. A URL from hostile metadata could be that of an honest server.
                // https://datatracker.ietf.org/doc/html/draft-ietf-oauth-rfc7523bis
                let assertion = client_assertion(key, &self.id, issuer, unix_now())?;
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                form.add("client_assertion_type", kind);
                form.add("client_assertion", assertion.expose());
            }
            // Public clients send their id: https://www.rfc-editor.org/rfc/rfc6749#section-3.2.1
            _ => form.add("client_id", &self.id),
        }
        Ok(None)
    }

    /// Encodes the client for the store. Keys stay in the configuration.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "secret": self.secret.as_ref().map(Secret::expose),
            "method": self.method.name(),
        })
    }

    pub(crate) fn from_json(stored: &Value) -> Option<Self> {
        let secret = stored["secret"].as_str().map(Secret::new);
        let method = AuthMethod::from_name(stored["method"].as_str()?)?;
        Some(Self { id: text(stored, "id")?, secret, key: None, method })
    }

    /// Reads the response to a registration. Its authentication method overrides the requested one.
    pub(crate) fn from_registration(response: &Value, requested: AuthMethod) -> Option<Self> {
        let id = text(response, "client_id")?;
        let secret = response["client_secret"].as_str().filter(|s| !s.is_empty()).map(Secret::new);
        let named = response["token_endpoint_auth_method"].as_str();
        let method = match (named.and_then(AuthMethod::from_name), &secret) {
            (Some(method), _) => method,
            (None, Some(_)) if requested == AuthMethod::None => AuthMethod::Basic,
            (None, _) => requested,
        };
        // Without a secret, no other method is possible.
        let method = if secret.is_none() { AuthMethod::None } else { method };
        Some(Self { id, secret, key: None, method })
    }
}

fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(method: AuthMethod) -> (Option<Secret>, String) {
        let client = Client::with_secret("a b".into(), Secret::new("s:%"), method);
        let mut form = Form::new("x");
        let header = client.authenticate(&mut form, "https://as.test").unwrap();
        (header, form.encode().expose().to_owned())
    }

    #[test]
    fn client_secret_is_sent_as_the_auth_method_requires() {
        let (header, form) = with(AuthMethod::Basic);
        let expected = format!("Basic {}", STANDARD.encode("a+b:s%3A%25"));
        assert_eq!(header.unwrap().expose(), expected);
        assert_eq!(form, "grant_type=x");
        let (header, form) = with(AuthMethod::Post);
        assert!(header.is_none());
        assert_eq!(form, "grant_type=x&client_id=a+b&client_secret=s%3A%25");
        let (header, form) = with(AuthMethod::None);
        assert!(header.is_none());
        assert_eq!(form, "grant_type=x&client_id=a+b");
    }

    #[test]
    fn auth_method_for_a_secret_is_one_that_the_server_lists() {
        let listing = |methods: Option<&[&str]>| {
            let auth_methods = methods.map(|m| m.iter().map(|&m| m.to_owned()).collect());
            AuthMethod::with_secret(&ServerMetadata { auth_methods, ..ServerMetadata::default() })
        };
        assert_eq!(listing(None), AuthMethod::Basic);
        assert_eq!(listing(Some(&["client_secret_post", "none"])), AuthMethod::Post);
        assert_eq!(
            listing(Some(&["client_secret_post", "client_secret_basic"])),
            AuthMethod::Basic
        );
    }

    #[test]
    fn registration_response_overrides_the_requested_auth_method() {
        let read = |response| {
            let client = Client::from_registration(&response, AuthMethod::None).unwrap();
            client.method
        };
        assert_eq!(read(json!({"client_id": "x"})), AuthMethod::None);
        assert_eq!(read(json!({"client_id": "x", "client_secret": "s"})), AuthMethod::Basic);
        let post = json!({
            "client_id": "x", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post",
        });
        assert_eq!(read(post), AuthMethod::Post);
        assert!(Client::from_registration(&json!({}), AuthMethod::None).is_none());
    }

    #[test]
    fn stored_client_is_read_back_unchanged() {
        let client = Client::with_secret("x".into(), Secret::new("s"), AuthMethod::Post);
        let again = Client::from_json(&client.to_json()).unwrap();
        assert_eq!((again.id.as_str(), again.method), ("x", AuthMethod::Post));
        assert_eq!(again.secret, client.secret);
    }
}
