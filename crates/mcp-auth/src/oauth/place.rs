//! Where to log in, where the user's configuration says so and nobody has to be asked.
//!
//! The MCP server has no say in any of this. What is missing in return is the comparison that discovery
//! makes: that the issuer somebody named is the one that answers.

use serde_json::{Value, json};
use url::Url;

use super::{
    discovery::{Discovery, Quest, canonical, is_about, issuer_urls, resource_metadata},
    error::LoginError,
    fetch::{Document, Fetch},
    metadata::{ServerMetadata, text},
    options::OAuthOptions,
};
use crate::{guard::is_fit_for_browser, origin::origin};

const METADATA: &str = "the authorization server's metadata";

/// Who says where to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The MCP server.
    Discovered,
    /// The document at this URL.
    Document(String),
    /// The user, in so many words. Nobody is sent to a page where no person is needed.
    Endpoints { page: Option<String>, token: String },
}

impl Place {
    /// What the options say, if they say one thing.
    pub(crate) fn of(options: &OAuthOptions) -> Result<Self, LoginError> {
        let bad = |setting, why| Err(LoginError::BadSetting { setting, why });
        let is_alone = !options.grant.is_interactive();
        let page = options.authorization_url.clone();
        match (options.metadata_url.clone(), page, options.token_url.clone()) {
            (None, None, None) => Ok(Self::Discovered),
            (Some(url), None, None) => Ok(Self::Document(url)),
            (Some(_), ..) => bad(
                "metadata URL",
                "where to log in is said by the authorization and token URLs too; one has to go",
            ),
            (None, Some(_), None) => bad("authorization URL", "the token URL is missing beside it"),
            (None, None, Some(_)) if !is_alone => {
                bad("token URL", "the authorization URL is missing beside it")
            }
            (None, Some(page), _) if !is_fit_for_browser(&page) => {
                let why = "a browser is sent to https pages only, or to this machine";
                bad("authorization URL", why)
            }
            (None, page, Some(token)) => Ok(Self::Endpoints { page, token }),
        }
    }

    /// Whose registrations of clients may be used. A document that is not where its issuer would have it
    /// may claim to be anybody's: it gets its own, and not those that were made with the issuer.
    pub(crate) fn registrar<'a>(&'a self, issuer: &'a str) -> &'a str {
        match self {
            Self::Document(url) if !issuer_urls(issuer).is_some_and(|urls| urls.contains(url)) => {
                url
            }
            _ => issuer,
        }
    }
}

/// Reads the document that the user named. What the MCP server says of itself counts, if it says anything:
/// its documents may be why this one was named.
pub(super) async fn described(
    fetch: &Fetch,
    quest: &Quest<'_>,
    url: &str,
) -> Result<Discovery, LoginError> {
    let bad = |why| LoginError::BadDocument { what: METADATA, why };
    let Document::Found(body) = fetch.document(url, METADATA).await? else {
        return Err(bad("there is nothing at the metadata URL that is configured"));
    };
    let server = ServerMetadata::read(&body)?;
    if issuer_urls(&server.issuer).is_none() {
        return Err(bad("its issuer is not the URL of one"));
    }
    fetch.check(&server.issuer, "the issuer")?;
    let said = match resource_metadata(fetch, quest.endpoint, quest.named).await {
        Err(error @ LoginError::Blocked { .. }) => return Err(error),
        Err(error) => {
            tracing::debug!(%error, "the server does not describe itself");
            None
        }
        Ok(said) => said,
    };
    let (resource, scopes) = match (quest.resource, said) {
        (Some(wanted), said) => {
            (wanted.to_owned(), said.map(|said| said.scopes_supported).unwrap_or_default())
        }
        (None, Some(said)) if !is_about(&said.resource, quest.endpoint) => {
            return Err(LoginError::ResourceMismatch);
        }
        (None, Some(said)) => (said.resource, said.scopes_supported),
        (None, None) => (canonical(quest.endpoint), Vec::new()),
    };
    Ok(Discovery { server, resource, scopes })
}

/// Asks nobody. The issuer is the one that the client belongs to, or else the origin of the token endpoint.
pub(super) fn fixed(
    fetch: &Fetch,
    quest: &Quest<'_>,
    page: Option<&str>,
    token: &str,
) -> Result<Discovery, LoginError> {
    // Before anybody is sent to a page in vain.
    fetch.check(token, "the token endpoint")?;
    let origins: Vec<String> =
        [page, Some(token)].into_iter().flatten().filter_map(origin).collect();
    let (issuer, origins) = match (quest.issuer, origin(token)) {
        (Some(issuer), _) => (issuer.to_owned(), Vec::new()),
        (None, Some(origin)) => (origin, origins),
        (None, None) => return Err(LoginError::NoAuthorizationServer),
    };
    let server = ServerMetadata {
        issuer,
        origins,
        authorization_endpoint: page.map(str::to_owned),
        token_endpoint: Some(token.to_owned()),
        // Nobody says so. It is sent in any case, and a server that does not know it ignores it.
        code_challenge_methods: Some(vec!["S256".to_owned()]),
        ..ServerMetadata::default()
    };
    let resource = quest.resource.map_or_else(|| canonical(quest.endpoint), str::to_owned);
    Ok(Discovery { server, resource, scopes: Vec::new() })
}

/// RFC 8707 §2: an absolute URI without a fragment. It goes out as it was written.
pub(crate) fn check_resource(resource: &str) -> Result<(), LoginError> {
    let bad = |why| Err(LoginError::BadSetting { setting: "resource", why });
    match Url::parse(resource) {
        Ok(url) if url.fragment().is_some() => bad("it has a fragment"),
        Ok(_) if resource.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(()),
        _ => bad("it is not an absolute URI"),
    }
}

/// What the user decided that a login depends on. One that was made under other terms is not used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The id of the client that was given.
    pub(crate) client: Option<String>,
    /// Who says where to log in, if it is not the MCP server.
    pub(crate) place: Option<String>,
    pub(crate) resource: Option<String>,
}

impl Terms {
    pub(crate) fn of(options: &OAuthOptions) -> Self {
        Self {
            client: options.client.as_ref().map(|client| client.id.clone()),
            place: options.metadata_url.clone().or_else(|| options.token_url.clone()),
            resource: options.resource.clone(),
        }
    }

    /// As a part of a record that also names the issuer.
    pub(crate) fn to_record(&self, issuer: &str) -> Value {
        json!({
            "version": 1,
            "issuer": issuer,
            "client": self.client,
            "place": self.place,
            "resource": self.resource,
        })
    }

    pub(crate) fn from_record(record: &Value) -> Self {
        let get = |name| text(record, name);
        Self { client: get("client"), place: get("place"), resource: get("resource") }
    }

    /// Whether a login that was made under `other` is one that is wanted now. As which client it was made
    /// is part of the login.
    pub(crate) fn allow(&self, other: &Self) -> bool {
        (&self.place, &self.resource) == (&other.place, &other.resource)
    }

    /// Whether a client that was shown to an issuer under `other` must be shown to no other one: nobody
    /// but the server has changed its mind.
    pub(crate) fn bind(&self, other: &Self) -> bool {
        (&self.client, &self.place) == (&other.client, &other.place)
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
        store::vault::Vault,
    };

    #[derive(Debug)]
    struct Nobody;

    impl HttpClient for Nobody {
        fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
            Box::pin(async { Err(HttpError::Unreachable(None)) })
        }
    }

    fn place(change: impl FnOnce(&mut OAuthOptions)) -> Result<Place, &'static str> {
        let vault = Arc::new(Vault::in_memory(OnEvent::default()));
        let mut options = OAuthOptions::new("https://mcp.test/", vault, Arc::new(Nobody));
        change(&mut options);
        Place::of(&options).map_err(|error| match error {
            LoginError::BadSetting { setting, .. } => setting,
            _ => "something else",
        })
    }

    #[test]
    fn two_endpoints_make_a_place_and_one_does_for_whoever_needs_nobody() {
        let (page, token) = ("https://as.test/authorize", "https://as.test/token");
        let set = |page: Option<&'static str>, token: Option<&'static str>| {
            move |options: &mut OAuthOptions| {
                options.authorization_url = page.map(str::to_owned);
                options.token_url = token.map(str::to_owned);
            }
        };
        assert_eq!(place(|_| {}), Ok(Place::Discovered));
        assert!(matches!(place(set(Some(page), Some(token))), Ok(Place::Endpoints { .. })));
        assert_eq!(place(set(Some(page), None)), Err("authorization URL"));
        assert_eq!(place(set(None, Some(token))), Err("token URL"));
        let alone = place(|options| {
            set(None, Some(token))(options);
            options.grant = Grant::ClientCredentials;
        });
        assert_eq!(alone, Ok(Place::Endpoints { page: None, token: token.into() }));
        let both = place(|options| {
            set(Some(page), Some(token))(options);
            options.metadata_url = Some("https://as.test/metadata".into());
        });
        assert_eq!(both, Err("metadata URL"));
        for unfit in ["javascript:alert(1)", "data:text/html,x", "http://as.test/authorize", "x"] {
            assert_eq!(place(set(Some(unfit), Some(token))), Err("authorization URL"), "{unfit}");
        }
    }

    #[test]
    fn only_a_document_in_its_issuers_own_place_shares_its_registrations() {
        let issuer = "https://as.test/t";
        for url in [
            "https://as.test/.well-known/oauth-authorization-server/t",
            "https://as.test/t/.well-known/openid-configuration",
        ] {
            assert_eq!(Place::Document(url.into()).registrar(issuer), issuer, "{url}");
        }
        for url in ["https://evil.test/t/.well-known/openid-configuration", "https://as.test/x"] {
            assert_eq!(Place::Document(url.into()).registrar(issuer), url);
        }
        assert_eq!(Place::Discovered.registrar(issuer), issuer);
    }

    #[test]
    fn a_resource_is_an_absolute_uri() {
        for fit in ["https://a.test", "https://a.test/mcp?x", "api://3f2a", "urn:example:x"] {
            assert!(check_resource(fit).is_ok(), "{fit}");
        }
        for unfit in
            ["", "mcp", "/mcp", "https://a.test/#x", " https://a.test", "https://a.test/\n"]
        {
            assert!(check_resource(unfit).is_err(), "{unfit:?}");
        }
    }

    #[test]
    fn terms_survive_being_stored() {
        let terms =
            Terms { client: Some("me".into()), place: None, resource: Some("urn:x".into()) };
        assert_eq!(Terms::from_record(&terms.to_record("https://as.test")), terms);
        assert_eq!(Terms::from_record(&json!({})), Terms::default());
    }
}
