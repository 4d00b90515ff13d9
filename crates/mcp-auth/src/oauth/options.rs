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
    /// Where the authorization server describes itself. Default: wherever the MCP server says.
    ///
    /// It is fetched under the rules of every other document: `https` or this machine, no address that is
    /// not public unless the MCP server is there too, and not without end. PKCE with S256 must be offered. Its
    /// `issuer` is what a login is kept under, a client belongs to and answers are compared with, and it is
    /// taken at its word: no second party says who it should be. So it is not believed any further
    /// than for this login: a client that was registered elsewhere with that issuer is not shown to it, unless
    /// the document is where RFC 8414 or `OpenID` would look for that issuer's.
    pub metadata_url: Option<String>,
    /// The page where a person logs in, with [`token_url`](Self::token_url). Default: discovered.
    pub authorization_url: Option<String>,
    /// Where tokens are, without any discovery. A person needs [`authorization_url`](Self::authorization_url)
    /// beside it; a grant without a person does not. Default: discovered.
    ///
    /// It takes a [`client`](Self::client), since nobody says where to register one, and the scopes
    /// are those of the challenge or of the options. PKCE with S256 is always sent, whether the server minds it
    /// or not. The issuer is [`PreRegistered::issuer`], and an `iss` in an answer must be exactly that.
    /// Where it is not given, the login is kept under the origin of this URL, and an `iss` must be of
    /// the origin of one of the two: that tells an answer from another server, but not one from another
    /// tenant of the same server. Nothing an MCP server says decides where a code goes here, so no
    /// other server can send it astray.
    pub token_url: Option<String>,
    /// What to ask a token for (RFC 8707): an absolute URI without a fragment. Default: what the server
    /// calls itself, which must be where it is, or else its URL.
    ///
    /// What the user says here need not be the server's address, and what the server says of itself is not
    /// compared with anything then. Tokens go to the origin of [`server`](Self::server) all the same.
    pub resource: Option<String>,
    /// The whole redirect address that the client is registered with. Default: a free port of this machine.
    ///
    /// `http` on this machine is listened at, with its port (or any, if it has none: RFC 8252 §7.3) and its
    /// path. `https` works with [`Paste`](crate::Paste) only.
    pub redirect_uri: Option<String>,
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
        self.way().is_some()
    }

    /// How it asks the person, if it takes one.
    pub(crate) fn way(&self) -> Option<Way> {
        match self {
            Self::AuthorizationCode => Some(Way::Browser),
            Self::DeviceCode => Some(Way::Code),
            _ => None,
        }
    }
}

/// How a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// In a browser that comes back to us.
    Browser,
    /// With a code to enter anywhere.
    Code,
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
