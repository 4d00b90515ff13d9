//! URLs of the discovery documents, and the check which resource they describe.

use url::Url;

use crate::origin::{origin, same_origin};

const PRM: &str = "/.well-known/oauth-protected-resource";
pub(super) const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OIDC: &str = "/.well-known/openid-configuration";

/// Returns the URLs of the resource metadata: only the one in the challenge if it has one, else the two well-known
/// URLs of <https://www.rfc-editor.org/rfc/rfc9728#section-3>.
pub(crate) fn resource_urls(endpoint: &str, named: Option<&str>) -> Vec<String> {
    if let Some(named) = named {
        return vec![named.to_owned()];
    }
    let (Some(origin), Ok(url)) = (origin(endpoint), Url::parse(endpoint)) else {
        return Vec::new();
    };
    // The path of the endpoint goes behind the well-known part: https://www.rfc-editor.org/rfc/rfc9728#section-3.1
    let root = format!("{origin}{PRM}");
    match url.path() {
        "" | "/" => vec![root],
        path => vec![format!("{origin}{PRM}{path}"), root],
    }
}

/// Returns the URLs of an issuer's metadata. An issuer with a path is not looked up at the root, which is a different
/// issuer. An issuer has neither query nor fragment (<https://www.rfc-editor.org/rfc/rfc8414#section-2>); user info
/// is rejected too, because it would be dropped silently.
pub(crate) fn issuer_urls(issuer: &str) -> Option<Vec<String>> {
    let (origin, url) = (origin(issuer)?, Url::parse(issuer).ok()?);
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    // OAuth inserts the well-known part before the path (https://www.rfc-editor.org/rfc/rfc8414#section-3.1), OpenID appends it. The order is
    // that of https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#authorization-server-metadata-discovery
    Some(match url.path().trim_end_matches('/') {
        "" => vec![format!("{origin}{OAUTH}"), format!("{origin}{OIDC}")],
        path => vec![
            format!("{origin}{OAUTH}{path}"),
            format!("{origin}{OIDC}{path}"),
            format!("{origin}{path}{OIDC}"),
        ],
    })
}

/// Whether metadata about `resource` applies to the server at `endpoint`: same origin, and the path of the resource is
/// that of the endpoint or a parent of it. Otherwise one server could obtain tokens for another:
/// <https://www.rfc-editor.org/rfc/rfc9728#section-7.3>.
pub(crate) fn is_about(resource: &str, endpoint: &str) -> bool {
    let (Ok(resource), Ok(endpoint)) = (Url::parse(resource), Url::parse(endpoint)) else {
        return false;
    };
    if !same_origin(resource.as_str(), endpoint.as_str()) {
        return false;
    }
    let (prefix, path) = (resource.path().trim_end_matches('/'), endpoint.path());
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the endpoint as a resource indicator: without fragment, query and final slash, and without user info, which
/// must not be disclosed.
pub(crate) fn canonical(endpoint: &str) -> String {
    let Ok(mut url) = Url::parse(endpoint) else { return endpoint.to_owned() };
    url.set_fragment(None);
    url.set_query(None);
    // Both calls fail only for a URL without a host, which has no user info to remove.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_determines_the_url_of_the_resource_metadata() {
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
    fn issuer_with_a_path_is_not_looked_up_at_its_root() {
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
    fn metadata_applies_to_its_own_server_only() {
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
    fn resource_indicator_has_no_query_fragment_or_user_info() {
        assert_eq!(canonical("HTTPS://A.test/mcp/?x#y"), "https://a.test/mcp");
        assert_eq!(canonical("https://a.test"), "https://a.test");
        assert_eq!(canonical("https://me:canary@a.test/mcp?key=canary"), "https://a.test/mcp");
    }
}
