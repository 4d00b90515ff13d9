//! From a refused request to the authorization server: which URLs to ask, in which order, and what to
//! believe.

use url::Url;

use super::{
    error::LoginError,
    fetch::{Document, Fetch},
    metadata::{ResourceMetadata, ServerMetadata},
    place::{Place, described, fixed},
};
use crate::origin::{origin, same_origin};

const PRM: &str = "/.well-known/oauth-protected-resource";
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OIDC: &str = "/.well-known/openid-configuration";

/// What discovery found.
#[derive(Clone, Debug)]
pub(crate) struct Discovery {
    pub(crate) server: ServerMetadata,
    /// The value of the `resource` parameter.
    pub(crate) resource: String,
    /// What the resource says it has, for a first login that nothing else guides.
    pub(crate) scopes: Vec<String>,
}

/// What is looked for, and what is known already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quest<'a> {
    /// The MCP server.
    pub(crate) endpoint: &'a str,
    /// The `resource_metadata` of its challenge.
    pub(crate) named: Option<&'a str>,
    pub(crate) legacy: bool,
    pub(crate) place: &'a Place,
    /// The resource that the user wants a token for, whatever the server calls itself.
    pub(crate) resource: Option<&'a str>,
    /// The issuer that the user's client belongs to.
    pub(crate) issuer: Option<&'a str>,
}

/// Finds the authorization server of an MCP server.
pub(crate) async fn discover(fetch: &Fetch, quest: &Quest<'_>) -> Result<Discovery, LoginError> {
    match quest.place {
        Place::Discovered => discover_all(fetch, quest).await,
        Place::Document(url) => described(fetch, quest, url).await,
        Place::Endpoints { page, token } => fixed(fetch, quest, page.as_deref(), token),
    }
}

async fn discover_all(fetch: &Fetch, quest: &Quest<'_>) -> Result<Discovery, LoginError> {
    let Quest { endpoint, named, legacy, resource: wanted, .. } = *quest;
    let Some(mut resource) = resource_metadata(fetch, endpoint, named).await? else {
        return if legacy {
            let found = discover_legacy(fetch, endpoint).await?;
            Ok(match wanted {
                Some(wanted) => Discovery { resource: wanted.to_owned(), ..found },
                None => found,
            })
        } else {
            Err(LoginError::NoAuthorizationServer)
        };
    };
    match wanted {
        // The user has said what for, so it does not matter what the server would have said.
        Some(wanted) => wanted.clone_into(&mut resource.resource),
        None if is_about(&resource.resource, endpoint) => {}
        None => return Err(LoginError::ResourceMismatch),
    }
    let mut last = LoginError::NoAuthorizationServer;
    for issuer in resource.authorization_servers.iter().take(4) {
        match server_metadata(fetch, issuer).await {
            Ok(server) => {
                let ResourceMetadata { resource, scopes_supported: scopes, .. } = resource;
                return Ok(Discovery { server, resource, scopes });
            }
            // A lie is not an invitation to look elsewhere.
            Err(error @ (LoginError::IssuerMismatch | LoginError::Blocked { .. })) => {
                return Err(error);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

pub(super) async fn resource_metadata(
    fetch: &Fetch,
    endpoint: &str,
    named: Option<&str>,
) -> Result<Option<ResourceMetadata>, LoginError> {
    for url in resource_urls(endpoint, named) {
        if let Document::Found(body) = fetch.document(&url, "the resource metadata").await? {
            return ResourceMetadata::read(&body).map(Some);
        }
    }
    // The server named a document that is not there: nothing else may be tried in its place.
    if named.is_some() { Err(LoginError::NoAuthorizationServer) } else { Ok(None) }
}

async fn server_metadata(fetch: &Fetch, issuer: &str) -> Result<ServerMetadata, LoginError> {
    let urls = issuer_urls(issuer).ok_or(LoginError::BadDocument {
        what: "the resource metadata",
        why: "its authorization server is not the URL of an issuer",
    })?;
    for url in urls {
        let asked = fetch.document(&url, "the authorization server's metadata").await?;
        if let Document::Found(body) = asked {
            let server = ServerMetadata::read(&body)?;
            // Byte for byte: not even a slash at the end is forgiven.
            return if server.issuer == issuer {
                Ok(server)
            } else {
                Err(LoginError::IssuerMismatch)
            };
        }
    }
    Err(LoginError::NoAuthorizationServer)
}

/// 2025-03-26: there is no resource metadata, and the MCP server's origin is the authorization server.
async fn discover_legacy(fetch: &Fetch, endpoint: &str) -> Result<Discovery, LoginError> {
    let origin = origin(endpoint).ok_or(LoginError::NoAuthorizationServer)?;
    let url = format!("{origin}{OAUTH}");
    let asked = fetch.document(&url, "the authorization server's metadata").await?;
    let server = match asked {
        Document::Found(body) => {
            let server = ServerMetadata::read(&body)?;
            if !same_origin(&server.issuer, &origin) {
                return Err(LoginError::IssuerMismatch);
            }
            server
        }
        Document::Missing => ServerMetadata::assumed(&origin),
    };
    Ok(Discovery { server, resource: canonical(endpoint), scopes: Vec::new() })
}

/// Where the resource metadata may be: where the challenge says and nowhere else, or the two well-known
/// places.
pub(super) fn resource_urls(endpoint: &str, named: Option<&str>) -> Vec<String> {
    if let Some(named) = named {
        return vec![named.to_owned()];
    }
    let (Some(origin), Ok(url)) = (origin(endpoint), Url::parse(endpoint)) else {
        return Vec::new();
    };
    let root = format!("{origin}{PRM}");
    match url.path() {
        "" | "/" => vec![root],
        path => vec![format!("{origin}{PRM}{path}"), root],
    }
}

/// Where an issuer's metadata may be. One with a path is never asked at its root: that is somebody else.
/// RFC 8414 §2: an issuer has neither query nor fragment; a user would be dropped unseen, so there is none.
pub(super) fn issuer_urls(issuer: &str) -> Option<Vec<String>> {
    let (origin, url) = (origin(issuer)?, Url::parse(issuer).ok()?);
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    Some(match url.path().trim_end_matches('/') {
        "" => vec![format!("{origin}{OAUTH}"), format!("{origin}{OIDC}")],
        path => vec![
            format!("{origin}{OAUTH}{path}"),
            format!("{origin}{OIDC}{path}"),
            format!("{origin}{path}{OIDC}"),
        ],
    })
}

/// Whether metadata about `resource` is about the server at `endpoint`: same origin, and its path is the
/// endpoint's or leads to it.
pub(super) fn is_about(resource: &str, endpoint: &str) -> bool {
    let (Ok(resource), Ok(endpoint)) = (Url::parse(resource), Url::parse(endpoint)) else {
        return false;
    };
    if !same_origin(resource.as_str(), endpoint.as_str()) {
        return false;
    }
    let (prefix, path) = (resource.path().trim_end_matches('/'), endpoint.path());
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The endpoint as a resource indicator: no fragment, no query, no slash at the end. And no user, since others
/// are told it.
pub(super) fn canonical(endpoint: &str) -> String {
    let Ok(mut url) = Url::parse(endpoint) else { return endpoint.to_owned() };
    url.set_fragment(None);
    url.set_query(None);
    // Neither can fail for a URL with a host, and others have none to remove.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_decides_where_the_resource_metadata_is() {
        let named = "https://a.test/custom";
        assert_eq!(resource_urls("https://a.test/mcp", Some(named)), [named]);
        assert_eq!(
            resource_urls("https://a.test/public/mcp?x", None),
            [
                "https://a.test/.well-known/oauth-protected-resource/public/mcp",
                "https://a.test/.well-known/oauth-protected-resource",
            ]
        );
        let root = ["https://a.test/.well-known/oauth-protected-resource"];
        assert_eq!(resource_urls("https://a.test", None), root);
        assert_eq!(resource_urls("https://a.test/", None), root);
    }

    #[test]
    fn an_issuer_with_a_path_is_not_asked_at_its_root() {
        assert_eq!(
            issuer_urls("https://as.test/t/1").unwrap(),
            [
                "https://as.test/.well-known/oauth-authorization-server/t/1",
                "https://as.test/.well-known/openid-configuration/t/1",
                "https://as.test/t/1/.well-known/openid-configuration",
            ]
        );
        for root in ["https://as.test", "https://as.test/"] {
            assert_eq!(
                issuer_urls(root).unwrap(),
                [
                    "https://as.test/.well-known/oauth-authorization-server",
                    "https://as.test/.well-known/openid-configuration",
                ]
            );
        }
        for unfit in ["urn:x", "https://u:p@as.test", "https://as.test/?x", "https://as.test/#x"] {
            assert_eq!(issuer_urls(unfit), None, "{unfit}");
        }
    }

    #[test]
    fn metadata_is_about_its_own_server_only() {
        let endpoint = "https://a.test/public/mcp";
        for fits in ["https://a.test", "https://a.test/", "https://a.test/public", endpoint] {
            assert!(is_about(fits, endpoint), "{fits}");
        }
        for other in [
            "https://b.test/public/mcp",
            "http://a.test/public/mcp",
            "https://a.test/pub",
            "https://a.test/public/mcp/more",
            "x",
        ] {
            assert!(!is_about(other, endpoint), "{other}");
        }
    }

    #[test]
    fn a_resource_indicator_has_no_decoration() {
        assert_eq!(canonical("HTTPS://A.test/mcp/?x#y"), "https://a.test/mcp");
        assert_eq!(canonical("https://a.test"), "https://a.test");
        assert_eq!(canonical("https://me:canary@a.test/mcp?key=canary"), "https://a.test/mcp");
    }
}
