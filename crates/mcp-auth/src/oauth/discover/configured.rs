//! Discovery with configured URLs: a metadata document, or the endpoints themselves.

use super::{
    documents::resource_metadata,
    request::{Discovery, DiscoveryRequest},
    urls::{canonical, is_about, issuer_urls},
};
use crate::{
    error::LoginError,
    oauth::{
        fetch::{Document, Fetch},
        metadata::ServerMetadata,
    },
    origin::origin,
};

const METADATA: &str = "the authorization server's metadata";

/// Reads the configured metadata document. The MCP server's resource metadata is used if it is available; it may be
/// broken, which is one reason to configure a document.
pub(super) async fn described(
    fetch: &Fetch,
    request: &DiscoveryRequest<'_>,
    url: &str,
) -> Result<Discovery, LoginError> {
    let bad = |why| LoginError::BadDocument { what: METADATA, why };
    let Document::Found(body) = fetch.document(url, METADATA).await? else {
        return Err(bad("the configured metadata URL does not return a document"));
    };
    let server = ServerMetadata::read(&body)?;
    if issuer_urls(&server.issuer).is_none() {
        return Err(bad("its issuer is not a valid issuer URL"));
    }
    fetch.check(&server.issuer, "the issuer")?;
    let described = match resource_metadata(fetch, request.endpoint, request.named).await {
        Err(error @ LoginError::Blocked { .. }) => return Err(error),
        Err(error) => {
            tracing::debug!(%error, "the server has no usable resource metadata");
            None
        }
        Ok(described) => described,
    };
    let (resource, scopes) = match (request.resource, described) {
        (Some(wanted), described) => {
            let scopes = described.map(|described| described.scopes_supported);
            (wanted.to_owned(), scopes.unwrap_or_default())
        }
        (None, Some(described)) if !is_about(&described.resource, request.endpoint) => {
            return Err(LoginError::ResourceMismatch);
        }
        (None, Some(described)) => (described.resource, described.scopes_supported),
        (None, None) => (canonical(request.endpoint), Vec::new()),
    };
    Ok(Discovery { server, resource, scopes })
}

/// Uses the configured endpoints without a request. The issuer is that of the client, or else the origin of the token
/// endpoint.
pub(super) fn fixed(
    fetch: &Fetch,
    request: &DiscoveryRequest<'_>,
    page: Option<&str>,
    token: &str,
) -> Result<Discovery, LoginError> {
    // Check before the user is sent to the login page.
    fetch.check(token, "the token endpoint")?;
    let origins: Vec<String> =
        [page, Some(token)].into_iter().flatten().filter_map(origin).collect();
    let (issuer, origins) = match (request.issuer, origin(token)) {
        (Some(issuer), _) => (issuer.to_owned(), Vec::new()),
        (None, Some(origin)) => (origin, origins),
        (None, None) => return Err(LoginError::NoAuthorizationServer),
    };
    let server = ServerMetadata {
        issuer,
        origins,
        authorization_endpoint: page.map(str::to_owned),
        token_endpoint: Some(token.to_owned()),
        // Unknown. PKCE is always sent, and a server that does not support it ignores it.
        code_challenge_methods: Some(vec!["S256".to_owned()]),
        ..ServerMetadata::default()
    };
    let resource = request.resource.map_or_else(|| canonical(request.endpoint), str::to_owned);
    Ok(Discovery { server, resource, scopes: Vec::new() })
}
