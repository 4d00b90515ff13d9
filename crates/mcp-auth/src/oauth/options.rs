//! What a host decides about a login.

use std::{fmt, sync::Arc};

use super::{client::PreRegistered, dpop::Dpop};
use crate::{http::HttpClient, interact::Interact, source::Source, store::vault::Vault};

/// How a host logs in to one MCP server.
#[derive(Clone)]
#[non_exhaustive]
pub struct OAuthOptions {
    /// The MCP server's URL. Tokens go to its origin and nowhere else.
    pub server: String,
    /// Whose login, where a host has several for one server. Default: empty.
    pub account: String,
    /// Where logins are kept.
    pub vault: Arc<Vault>,
    /// Who sends the requests.
    pub http: Arc<dyn HttpClient>,
    /// How the token is obtained. Default: in the browser.
    pub grant: Grant,
    /// A client id from before. Default: none, so a document or a registration is used.
    pub client: Option<PreRegistered>,
    /// The URL of a client id metadata document that the host publishes.
    pub client_metadata_url: Option<String>,
    /// What users see on consent pages. Default: `MCP client`.
    pub client_name: String,
    /// What to ask for, instead of what the server suggests. Default: empty.
    pub scopes: Vec<String>,
    /// When tokens are bound to a key.
    pub dpop: Dpop,
    /// Whether a server that publishes no metadata is treated as the revision of 2025-03-26 says. Default:
    /// yes.
    pub legacy: bool,
    /// How to reach the person whenever a server asks for a login. Default: nobody; then
    /// [`login`](super::OAuth::login) is the only way.
    pub interact: Option<Arc<dyn Interact>>,
    /// What the person should do when a login is needed, as part of a sentence. Default: `log in to this
    /// server`.
    pub hint: String,
}

impl OAuthOptions {
    /// A login to the MCP server at this URL.
    pub fn new(server: impl Into<String>, vault: Arc<Vault>, http: Arc<dyn HttpClient>) -> Self {
        Self {
            server: server.into(),
            account: String::new(),
            vault,
            http,
            grant: Grant::AuthorizationCode,
            client: None,
            client_metadata_url: None,
            client_name: "MCP client".to_owned(),
            scopes: Vec::new(),
            dpop: Dpop::default(),
            legacy: true,
            interact: None,
            hint: "log in to this server".to_owned(),
        }
    }
}

impl fmt::Debug for OAuthOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthOptions")
            .field("server", &crate::store::signature(&self.server))
            .field("grant", &self.grant)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// How a token is obtained.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Grant {
    /// A person logs in in a browser.
    AuthorizationCode,
    /// A person enters a code on any device.
    DeviceCode,
    /// The client itself is known: [`OAuthOptions::client`] with a secret or a key.
    ClientCredentials,
    /// A company's identity provider vouches for its user.
    Enterprise(Enterprise),
    /// The platform that runs this process vouches for it, with a JWT whose audience is the issuer.
    Workload(Source),
}

impl Grant {
    /// Whether it takes a person.
    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self, Self::AuthorizationCode | Self::DeviceCode)
    }
}

/// The identity provider of a company, as its administrator describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Enterprise {
    /// Where it exchanges tokens.
    pub token_endpoint: String,
    /// Our client id there, which is not the one at the MCP server's authorization server.
    pub client_id: String,
    /// Our secret there, if we have one.
    pub client_secret: Option<Source>,
    /// The identity of the user: an ID token, unless `is_saml`.
    pub subject: Source,
    /// Whether the subject is a SAML 2 assertion.
    pub is_saml: bool,
}

impl Enterprise {
    /// With an ID token, and no client secret.
    pub fn new(
        token_endpoint: impl Into<String>,
        client_id: impl Into<String>,
        subject: Source,
    ) -> Self {
        Self {
            token_endpoint: token_endpoint.into(),
            client_id: client_id.into(),
            client_secret: None,
            subject,
            is_saml: false,
        }
    }
}
