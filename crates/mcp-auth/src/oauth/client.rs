//! Who we are to an authorization server, and how we prove it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    error::LoginError,
    jwt::{SigningKey, client_assertion, unix_now},
    metadata::{ServerMetadata, text},
    token::Form,
};
use crate::{secret::Secret, source::Source};

/// A client id that was registered beforehand.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PreRegistered {
    /// The id.
    pub id: String,
    /// What proves that we are this client.
    pub proof: ClientProof,
    /// The issuer it is registered with. Where it is not given, the first one met is remembered.
    pub issuer: Option<String>,
}

impl PreRegistered {
    /// A client that proves itself with `proof`.
    pub fn new(id: impl Into<String>, proof: ClientProof) -> Self {
        Self { id: id.into(), proof, issuer: None }
    }
}

/// What proves that we are a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ClientProof {
    /// Nothing: a public client.
    None,
    /// A shared secret.
    Secret(Source),
    /// A private key whose public half the authorization server knows.
    Key(SigningKey),
}

/// How a client proves itself at the token endpoint.
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

    /// With a secret: what the server lists, Basic before Post. No list means Basic (RFC 8414 §2).
    pub(crate) fn with_secret(server: &ServerMetadata) -> Self {
        let lists = |method: Self| server.lists_auth(method.name()).unwrap_or(false);
        if !lists(Self::Basic) && lists(Self::Post) { Self::Post } else { Self::Basic }
    }
}

/// A client id together with its proof, for one issuer.
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
                let algs = &server.signing_algs;
                if !algs.is_empty() && !algs.iter().any(|alg| alg == key.algorithm()) {
                    return Err(LoginError::NotOffered("our key's signing algorithm"));
                }
                let (key, method) = (Some(key.clone()), AuthMethod::PrivateKey);
                Self { id, secret: None, key, method }
            }
        })
    }

    /// Puts the proof into a token request: a header, or more fields.
    pub(crate) fn authenticate(
        &self,
        form: &mut Form,
        issuer: &str,
    ) -> Result<Option<Secret>, LoginError> {
        match (self.method, &self.secret, &self.key) {
            (AuthMethod::Basic, Some(secret), _) => {
                // RFC 6749 §2.3.1: both are form-encoded before they are joined.
                let pair = format!("{}:{}", encode(&self.id), encode(secret.expose()));
                return Ok(Some(Secret::new(format!("Basic {}", STANDARD.encode(pair)))));
            }
            (AuthMethod::Post, Some(secret), _) => {
                form.add("client_id", &self.id);
                form.add("client_secret", secret.expose());
            }
            (AuthMethod::PrivateKey, _, Some(key)) => {
                // The audience is the issuer, not the token endpoint.
                let assertion = client_assertion(key, &self.id, issuer, unix_now())?;
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                form.add("client_assertion_type", kind);
                form.add("client_assertion", assertion.expose());
            }
            _ => form.add("client_id", &self.id),
        }
        Ok(None)
    }

    /// As it is stored. Keys stay in the configuration.
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

    /// From the answer to a registration, whose word counts more than our wish.
    pub(crate) fn from_registration(answer: &Value, asked: AuthMethod) -> Option<Self> {
        let id = text(answer, "client_id")?;
        let secret = answer["client_secret"].as_str().filter(|s| !s.is_empty()).map(Secret::new);
        let named = answer["token_endpoint_auth_method"].as_str();
        let method = match (named.and_then(AuthMethod::from_name), &secret) {
            (Some(method), _) => method,
            (None, Some(_)) if asked == AuthMethod::None => AuthMethod::Basic,
            (None, _) => asked,
        };
        // Without a secret there is nothing to prove, whatever was agreed.
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
    fn each_method_proves_itself_in_its_own_place() {
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
    fn the_server_decides_how_a_secret_is_shown() {
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
    fn the_answer_to_a_registration_decides() {
        let read = |answer| {
            let client = Client::from_registration(&answer, AuthMethod::None).unwrap();
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
    fn a_client_survives_being_stored() {
        let client = Client::with_secret("x".into(), Secret::new("s"), AuthMethod::Post);
        let again = Client::from_json(&client.to_json()).unwrap();
        assert_eq!((again.id.as_str(), again.method), ("x", AuthMethod::Post));
        assert_eq!(again.secret, client.secret);
    }
}
