//! Options of a login.

use std::{fmt, sync::Arc};

use super::{client::PreRegistered, proof::dpop::Dpop};
use crate::{
    credentials::Source, http::HttpClient, interact::Interact, setters::setters, store::Vault,
};

/// Options for logging in to one MCP server.
#[derive(Clone)]
#[non_exhaustive]
pub struct OAuthOptions {
    /// The MCP server's URL. Tokens are sent to its origin only.
    pub server: String,
    /// The account, where a host has several for one server. Default: empty.
    pub account: String,
    /// Stores the logins.
    pub vault: Arc<Vault>,
    /// Sends the requests.
    pub http: Arc<dyn HttpClient>,
    /// The grant. Default: authorization code in the browser.
    pub grant: Grant,
    /// A client registered beforehand. Default: none, so a metadata document or a dynamic registration is used.
    pub client: Option<PreRegistered>,
    /// The URL of a client id metadata document that the host publishes.
    pub client_metadata_url: Option<String>,
    /// The client name shown on consent pages. Default: `MCP client`.
    pub client_name: String,
    /// The scopes to request instead of those the server suggests. Default: empty.
    pub scopes: Vec<String>,
    /// The URL of the authorization server metadata. Default: discovered.
    ///
    /// It is fetched under the same rules as every other document: `https` or this machine, no non-public address
    /// unless the MCP server is there too, and a limited number of redirects. PKCE with S256 must be supported.
    ///
    /// Its `issuer` is the key of the login and of the client, and `iss` in redirects is compared with it. It is not
    /// verified by a second document, so it is trusted for this login only: a client registered elsewhere with that
    /// issuer is not used here, unless the document is at the well-known URL of RFC 8414 or `OpenID` for that issuer.
    pub metadata_url: Option<String>,
    /// The authorization endpoint, together with [`token_url`](Self::token_url). Default: discovered.
    pub authorization_url: Option<String>,
    /// The token endpoint; disables discovery. Grants with a user also need
    /// [`authorization_url`](Self::authorization_url). Default: discovered.
    ///
    /// It requires a [`client`](Self::client), because no registration endpoint is known. The scopes are those of the
    /// challenge or of the options. PKCE with S256 is always sent, even if the server ignores it.
    ///
    /// The issuer is [`PreRegistered::issuer`], and `iss` in a redirect must equal it. If it is not given, the login
    /// is stored under the origin of this URL, and `iss` must have the origin of one of the two endpoints. That
    /// detects a redirect from another server, but not from another tenant of the same server. The MCP server cannot
    /// influence where a code is sent.
    pub token_url: Option<String>,
    /// The `resource` of token requests ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)): an absolute URI without a
    /// fragment. Default: the resource from the server's metadata, which must match its URL, or else its URL.
    ///
    /// A configured value need not be the server's URL, and the resource in the server's metadata is then not checked.
    /// Tokens are still sent to the origin of [`server`](Self::server) only.
    pub resource: Option<String>,
    /// The complete redirect URL that the client is registered with. Default: a free port of this machine.
    ///
    /// An `http` URL on this machine is served at its path and port, or at any port if it has none
    /// ([RFC 8252](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)). `https` works with
    /// [`Paste`](crate::interact::Paste) only.
    pub redirect_uri: Option<String>,
    /// Whether tokens are bound to a key.
    pub dpop: Dpop,
    /// Whether a server without metadata is treated as revision 2025-03-26 defines. Default: `true`.
    pub legacy: bool,
    /// Prompts the user whenever a server requires a login. Default: `None`, so only
    /// [`login`](super::OAuth::login) does.
    pub interact: Option<Arc<dyn Interact>>,
    /// The next step for the user when a login is needed, as part of a sentence. Default: `log in to this server`.
    pub hint: String,
}

impl OAuthOptions {
    /// Creates options for the MCP server at this URL.
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
            metadata_url: None,
            authorization_url: None,
            token_url: None,
            resource: None,
            redirect_uri: None,
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

/// An OAuth grant: how a token is obtained.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Grant {
    /// The user logs in with a browser.
    AuthorizationCode,
    /// The user enters a code on any device.
    DeviceCode,
    /// The client itself is authorized: [`OAuthOptions::client`] with a secret or a key.
    ClientCredentials,
    /// The identity provider of a company asserts the identity of its user.
    Enterprise(Enterprise),
    /// The platform that runs this process asserts its identity, with a JWT for the issuer as audience.
    Workload(Source),
}

impl Grant {
    /// Whether it requires the user.
    pub(crate) fn is_interactive(&self) -> bool {
        self.login_method().is_some()
    }

    /// How the user logs in; `None` for a grant without a user.
    pub(crate) fn login_method(&self) -> Option<LoginMethod> {
        match self {
            Self::AuthorizationCode => Some(LoginMethod::Browser),
            Self::DeviceCode => Some(LoginMethod::DeviceCode),
            _ => None,
        }
    }
}

/// How the user logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoginMethod {
    /// In a browser that is redirected to this host.
    Browser,
    /// By entering a code on any device.
    DeviceCode,
}

/// The identity provider of a company, as configured by its administrator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Enterprise {
    /// The token exchange endpoint of the identity provider.
    pub token_endpoint: String,
    /// The client id at the identity provider, which differs from the one at the MCP server's authorization server.
    pub client_id: String,
    /// The client secret at the identity provider, if any.
    pub client_secret: Option<Source>,
    /// The identity of the user: an ID token, unless `is_saml`.
    pub subject: Source,
    /// Whether the subject is a SAML 2 assertion.
    pub is_saml: bool,
}

impl Enterprise {
    /// Creates a provider with an ID token and without a client secret.
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

setters! { OAuthOptions {
    with_account => account: impl Into<String>,
    with_grant => grant: Grant,
    with_client => client: impl Into<Option<PreRegistered>>,
    with_client_metadata_url => client_metadata_url: impl Into<Option<String>>,
    with_client_name => client_name: impl Into<String>,
    with_scopes => scopes: Vec<String>,
    with_metadata_url => metadata_url: impl Into<Option<String>>,
    with_authorization_url => authorization_url: impl Into<Option<String>>,
    with_token_url => token_url: impl Into<Option<String>>,
    with_resource => resource: impl Into<Option<String>>,
    with_redirect_uri => redirect_uri: impl Into<Option<String>>,
    with_dpop => dpop: Dpop,
    with_legacy => legacy: bool,
    with_interact => interact: impl Into<Option<Arc<dyn Interact>>>,
    with_hint => hint: impl Into<String>,
}}
