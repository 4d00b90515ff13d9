//! The two documents of discovery: what a resource says about itself, and an authorization server.
//!
//! `resource` and `issuer` stay the strings that were received: a URL type would add a slash, and they are
//! compared byte for byte.

use serde_json::Value;

use super::error::LoginError;

/// Lists longer than this are cut: no honest server has so many.
const MOST: usize = 256;
const LONGEST: usize = 2048;

/// RFC 9728: which authorization servers a resource trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: String,
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes_supported: Vec<String>,
}

impl ResourceMetadata {
    pub(crate) fn read(body: &[u8]) -> Result<Self, LoginError> {
        let bad = |why| LoginError::BadDocument { what: "the resource metadata", why };
        let document = object(body).ok_or(bad("it is not a JSON object"))?;
        let resource = text(&document, "resource").ok_or(bad("it has no `resource`"))?;
        let authorization_servers = list(&document, "authorization_servers").unwrap_or_default();
        if authorization_servers.is_empty() {
            return Err(bad("it names no authorization server"));
        }
        let scopes_supported = list(&document, "scopes_supported").unwrap_or_default();
        Ok(Self { resource, authorization_servers, scopes_supported })
    }
}

/// RFC 8414 and `OpenID` discovery: what an authorization server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    /// Where it is, if the name is only what we call it because nobody has told us.
    pub(crate) origins: Vec<String>,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) device_authorization_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) scopes_supported: Vec<String>,
    pub(crate) code_challenge_methods: Option<Vec<String>>,
    pub(crate) auth_methods: Option<Vec<String>>,
    pub(crate) signing_algs: Vec<String>,
    pub(crate) grant_types: Option<Vec<String>>,
    pub(crate) takes_client_id_documents: bool,
    pub(crate) sends_iss: bool,
    pub(crate) dpop_algs: Vec<String>,
}

impl ServerMetadata {
    pub(crate) fn read(body: &[u8]) -> Result<Self, LoginError> {
        let bad =
            |why| LoginError::BadDocument { what: "the authorization server's metadata", why };
        let document = object(body).ok_or(bad("it is not a JSON object"))?;
        let flag = |name| document.get(name).and_then(Value::as_bool).unwrap_or(false);
        Ok(Self {
            issuer: text(&document, "issuer").ok_or(bad("it has no `issuer`"))?,
            origins: Vec::new(),
            authorization_endpoint: text(&document, "authorization_endpoint"),
            token_endpoint: text(&document, "token_endpoint"),
            registration_endpoint: text(&document, "registration_endpoint"),
            device_authorization_endpoint: text(&document, "device_authorization_endpoint"),
            revocation_endpoint: text(&document, "revocation_endpoint"),
            scopes_supported: list(&document, "scopes_supported").unwrap_or_default(),
            code_challenge_methods: list(&document, "code_challenge_methods_supported"),
            auth_methods: list(&document, "token_endpoint_auth_methods_supported"),
            signing_algs: list(&document, "token_endpoint_auth_signing_alg_values_supported")
                .unwrap_or_default(),
            grant_types: list(&document, "grant_types_supported"),
            takes_client_id_documents: flag("client_id_metadata_document_supported"),
            sends_iss: flag("authorization_response_iss_parameter_supported"),
            dpop_algs: list(&document, "dpop_signing_alg_values_supported").unwrap_or_default(),
        })
    }

    /// What the 2025-03-26 revision assumes of a server that publishes nothing.
    pub(crate) fn assumed(origin: &str) -> Self {
        let at = |path: &str| Some(format!("{origin}{path}"));
        Self {
            issuer: origin.to_owned(),
            authorization_endpoint: at("/authorize"),
            token_endpoint: at("/token"),
            registration_endpoint: at("/register"),
            code_challenge_methods: Some(vec!["S256".to_owned()]),
            ..Self::default()
        }
    }

    /// A server that does not say which methods it knows, knows none.
    pub(crate) fn offers_pkce(&self) -> bool {
        self.code_challenge_methods.iter().flatten().any(|method| method == "S256")
    }

    pub(crate) fn token_endpoint(&self) -> Result<&str, LoginError> {
        self.token_endpoint.as_deref().ok_or(LoginError::NotOffered("tokens"))
    }

    /// Whether a method of client authentication is listed; `None` where there is no list.
    pub(crate) fn lists_auth(&self, method: &str) -> Option<bool> {
        self.auth_methods.as_ref().map(|methods| methods.iter().any(|known| known == method))
    }
}

pub(crate) fn object(body: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(body).ok().filter(Value::is_object)
}

pub(crate) fn text(document: &Value, name: &str) -> Option<String> {
    let text = document.get(name)?.as_str()?;
    (!text.is_empty() && text.len() <= LONGEST).then(|| text.to_owned())
}

fn list(document: &Value, name: &str) -> Option<Vec<String>> {
    let items = document.get(name)?.as_array()?.iter().filter_map(Value::as_str);
    Some(items.filter(|item| item.len() <= LONGEST).take(MOST).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_stay_as_they_were_received() {
        let body = br#"{"resource":"https://A.test","authorization_servers":["https://as.test"]}"#;
        let read = ResourceMetadata::read(body).unwrap();
        assert_eq!(read.resource, "https://A.test");
        assert_eq!(read.authorization_servers, ["https://as.test"]);
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        for body in ["", "<html>", "[]", "{}", r#"{"resource":"https://a.test"}"#] {
            assert!(ResourceMetadata::read(body.as_bytes()).is_err(), "{body}");
        }
        for body in ["<html>", "[]", "{}", r#"{"issuer":1}"#] {
            assert!(ServerMetadata::read(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn pkce_must_be_offered_in_so_many_words() {
        let offers = |methods: &str| {
            let body = format!(r#"{{"issuer":"x"{methods}}}"#);
            ServerMetadata::read(body.as_bytes()).unwrap().offers_pkce()
        };
        assert!(offers(r#","code_challenge_methods_supported":["plain","S256"]"#));
        assert!(!offers(r#","code_challenge_methods_supported":["plain"]"#));
        assert!(!offers(r#","code_challenge_methods_supported":[]"#));
        assert!(!offers(""));
    }
}
