//! Protected resource metadata and authorization server metadata.
//!
//! `resource` and `issuer` are kept as strings: they are compared byte for byte, and a URL type would add a slash.

use serde_json::Value;

use crate::{
    error::LoginError,
    oauth::document::{list, object, text},
};

/// Protected resource metadata: <https://www.rfc-editor.org/rfc/rfc9728#section-2>.
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
        // Optional in general, but required by MCP: https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#authorization-server-location
        if authorization_servers.is_empty() {
            return Err(bad("it does not name an authorization server"));
        }
        let scopes_supported = list(&document, "scopes_supported").unwrap_or_default();
        Ok(Self { resource, authorization_servers, scopes_supported })
    }
}

/// Authorization server metadata (<https://www.rfc-editor.org/rfc/rfc8414#section-2>) or `OpenID` discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    /// The origins of the endpoints, if `issuer` is not from a document but derived from configured endpoints.
    pub(crate) origins: Vec<String>,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) device_authorization_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) scopes_supported: Vec<String>,
    /// <https://www.rfc-editor.org/rfc/rfc8414#section-2>
    pub(crate) code_challenge_methods: Option<Vec<String>>,
    pub(crate) auth_methods: Option<Vec<String>>,
    pub(crate) signing_algs: Vec<String>,
    pub(crate) grant_types: Option<Vec<String>>,
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#client-id-metadata-documents>
    pub(crate) takes_client_id_documents: bool,
    /// <https://www.rfc-editor.org/rfc/rfc9207#section-3>
    pub(crate) sends_iss: bool,
    /// <https://www.rfc-editor.org/rfc/rfc9449#section-5.1>
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

    /// Returns the default endpoints of revision 2025-03-26 for a server without metadata.
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

    /// Whether PKCE with S256 is listed. A server without a list does not support it, and must not be used:
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#authorization-code-protection>.
    pub(crate) fn offers_pkce(&self) -> bool {
        self.code_challenge_methods.iter().flatten().any(|method| method == "S256")
    }

    pub(crate) fn token_endpoint(&self) -> Result<&str, LoginError> {
        self.token_endpoint.as_deref().ok_or(LoginError::NotOffered("a token endpoint"))
    }

    /// Whether a client authentication method is listed; `None` without a list.
    pub(crate) fn lists_auth(&self, method: &str) -> Option<bool> {
        self.auth_methods.as_ref().map(|methods| methods.iter().any(|known| known == method))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_identifiers_are_not_normalized() {
        let body = br#"{"resource":"https://A.test","authorization_servers":["https://as.test"]}"#;
        let read = ResourceMetadata::read(body).unwrap();
        assert_eq!(read.resource, "https://A.test");
        assert_eq!(read.authorization_servers, ["https://as.test"]);
    }

    #[test]
    fn incomplete_metadata_is_rejected() {
        for body in ["", "<html>", "[]", "{}", r#"{"resource":"https://a.test"}"#] {
            assert!(ResourceMetadata::read(body.as_bytes()).is_err(), "{body}");
        }
        for body in ["<html>", "[]", "{}", r#"{"issuer":1}"#] {
            assert!(ServerMetadata::read(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn pkce_must_be_listed_with_s256() {
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
