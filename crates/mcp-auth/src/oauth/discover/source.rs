//! The source of the OAuth endpoints: discovery or configuration.
//!
//! Configured endpoints do not depend on the MCP server. In return, the issuer is not verified: discovery compares
//! the issuer that the MCP server names with the one in the metadata.

use url::Url;

use super::urls::issuer_urls;
use crate::{
    error::LoginError, interact::browser::is_fit_for_browser, oauth::options::OAuthOptions,
};

/// The source of the OAuth endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EndpointSource {
    /// Discovery from the MCP server.
    Discovered,
    /// The metadata document at this URL.
    Document(String),
    /// Configured endpoints. Grants without a user need no authorization endpoint.
    Endpoints { page: Option<String>, token: String },
}

impl EndpointSource {
    /// Reads the source from the options. Contradicting options are an error.
    pub(crate) fn of(options: &OAuthOptions) -> Result<Self, LoginError> {
        let bad = |setting, why| Err(LoginError::BadSetting { setting, why });
        let needs_user = options.grant.is_interactive();
        let page = options.authorization_url.clone();
        match (options.metadata_url.clone(), page, options.token_url.clone()) {
            (None, None, None) => Ok(Self::Discovered),
            (Some(url), None, None) => Ok(Self::Document(url)),
            (Some(_), ..) => bad(
                "metadata URL",
                "it cannot be combined with an authorization URL or a token URL",
            ),
            (None, Some(_), None) => bad("authorization URL", "it requires a token URL"),
            (None, None, Some(_)) if needs_user => {
                bad("token URL", "it requires an authorization URL")
            }
            (None, Some(page), _) if !is_fit_for_browser(&page) => {
                let why = "it must be an https URL, or an http URL on this machine";
                bad("authorization URL", why)
            }
            (None, page, Some(token)) => Ok(Self::Endpoints { page, token }),
        }
    }

    /// Returns the key of client registrations. A document that is not at a well-known URL of its issuer may claim any
    /// issuer, so it has separate registrations under its URL.
    pub(crate) fn registrar<'a>(&'a self, issuer: &'a str) -> &'a str {
        match self {
            Self::Document(url) if !issuer_urls(issuer).is_some_and(|urls| urls.contains(url)) => {
                url
            }
            _ => issuer,
        }
    }
}

/// Checks that `resource` is an absolute URI without a fragment. It is sent as written. See
/// <https://www.rfc-editor.org/rfc/rfc8707#section-2>.
pub(crate) fn check_resource(resource: &str) -> Result<(), LoginError> {
    let bad = |why| Err(LoginError::BadSetting { setting: "resource", why });
    match Url::parse(resource) {
        Ok(url) if url.fragment().is_some() => bad("it has a fragment"),
        Ok(_) if resource.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(()),
        _ => bad("it is not an absolute URI"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcp_transport::BoxFuture;

    use super::*;
    use crate::{
        event::OnEvent,
        http::{HttpClient, HttpError, HttpRequest, HttpResponse},
        oauth::options::Grant,
        store::Vault,
    };

    #[derive(Debug)]
    struct Unreachable;

    impl HttpClient for Unreachable {
        fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
            Box::pin(async { Err(HttpError::Unreachable(None)) })
        }
    }

    fn source(change: impl FnOnce(&mut OAuthOptions)) -> Result<EndpointSource, &'static str> {
        let vault = Arc::new(Vault::in_memory(OnEvent::default()));
        let mut options = OAuthOptions::new("https://mcp.test/", vault, Arc::new(Unreachable));
        change(&mut options);
        EndpointSource::of(&options).map_err(|error| match error {
            LoginError::BadSetting { setting, .. } => setting,
            _ => "something else",
        })
    }

    #[test]
    fn configured_endpoints_are_complete_for_the_grant() {
        let (page, token) = ("https://as.test/authorize", "https://as.test/token");
        let set = |page: Option<&'static str>, token: Option<&'static str>| {
            move |options: &mut OAuthOptions| {
                options.authorization_url = page.map(str::to_owned);
                options.token_url = token.map(str::to_owned);
            }
        };
        assert_eq!(source(|_| {}), Ok(EndpointSource::Discovered));
        assert!(matches!(
            source(set(Some(page), Some(token))),
            Ok(EndpointSource::Endpoints { .. })
        ));
        assert_eq!(source(set(Some(page), None)), Err("authorization URL"));
        assert_eq!(source(set(None, Some(token))), Err("token URL"));
        let machine = source(|options| {
            set(None, Some(token))(options);
            options.grant = Grant::ClientCredentials;
        });
        assert_eq!(machine, Ok(EndpointSource::Endpoints { page: None, token: token.into() }));
        let both = source(|options| {
            set(Some(page), Some(token))(options);
            options.metadata_url = Some("https://as.test/metadata".into());
        });
        assert_eq!(both, Err("metadata URL"));
        for unfit in ["javascript:alert(1)", "data:text/html,x", "http://as.test/authorize", "x"] {
            assert_eq!(source(set(Some(unfit), Some(token))), Err("authorization URL"), "{unfit}");
        }
    }

    #[test]
    fn only_a_document_at_a_well_known_url_shares_the_registrations_of_its_issuer() {
        let issuer = "https://as.test/t";
        for url in [
            "https://as.test/.well-known/oauth-authorization-server/t",
            "https://as.test/t/.well-known/openid-configuration",
        ] {
            assert_eq!(EndpointSource::Document(url.into()).registrar(issuer), issuer, "{url}");
        }
        for url in ["https://evil.test/t/.well-known/openid-configuration", "https://as.test/x"] {
            assert_eq!(EndpointSource::Document(url.into()).registrar(issuer), url);
        }
        assert_eq!(EndpointSource::Discovered.registrar(issuer), issuer);
    }

    #[test]
    fn configured_resource_must_be_an_absolute_uri() {
        for fit in ["https://a.test", "https://a.test/mcp?x", "api://3f2a", "urn:example:x"] {
            assert!(check_resource(fit).is_ok(), "{fit}");
        }
        for unfit in
            ["", "mcp", "/mcp", "https://a.test/#x", " https://a.test", "https://a.test/\n"]
        {
            assert!(check_resource(unfit).is_err(), "{unfit:?}");
        }
    }
}
