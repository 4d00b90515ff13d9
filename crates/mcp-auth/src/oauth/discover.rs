//! Discovery of the authorization server of an MCP server.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization>

mod configured;
mod documents;
mod request;
pub(crate) mod source;
pub(crate) mod urls;

pub(crate) use self::request::{Discovery, DiscoveryRequest};
use self::{
    configured::{described, fixed},
    documents::{resource_metadata, server_metadata},
    source::EndpointSource,
    urls::{OAUTH, canonical, is_about},
};
use super::{
    fetch::{Document, Fetch},
    metadata::{ResourceMetadata, ServerMetadata},
};
use crate::{
    error::LoginError,
    origin::{origin, same_origin},
};

/// Finds the authorization server of an MCP server.
pub(crate) async fn discover(
    fetch: &Fetch,
    request: &DiscoveryRequest<'_>,
) -> Result<Discovery, LoginError> {
    match request.source {
        EndpointSource::Discovered => discover_all(fetch, request).await,
        EndpointSource::Document(url) => described(fetch, request, url).await,
        EndpointSource::Endpoints { page, token } => fixed(fetch, request, page.as_deref(), token),
    }
}

async fn discover_all(
    fetch: &Fetch,
    request: &DiscoveryRequest<'_>,
) -> Result<Discovery, LoginError> {
    let DiscoveryRequest { endpoint, named, legacy, resource: wanted, .. } = *request;
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
        // A configured resource replaces the one that the server names.
        Some(wanted) => wanted.clone_into(&mut resource.resource),
        // https://www.rfc-editor.org/rfc/rfc9728#section-3.3
        None if is_about(&resource.resource, endpoint) => {}
        None => return Err(LoginError::ResourceMismatch),
    }
    let mut last = LoginError::NoAuthorizationServer;
    // Clients choose among the servers (https://www.rfc-editor.org/rfc/rfc9728#section-7.6). A hostile list costs four requests.
    for issuer in resource.authorization_servers.iter().take(4) {
        match server_metadata(fetch, issuer).await {
            Ok(server) => {
                let ResourceMetadata { resource, scopes_supported: scopes, .. } = resource;
                return Ok(Discovery { server, resource, scopes });
            }
            // Do not try the next server after false metadata or a blocked URL.
            Err(error @ (LoginError::IssuerMismatch | LoginError::Blocked { .. })) => {
                return Err(error);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Discovery of revision 2025-03-26: no resource metadata, and the authorization server is at the MCP server's origin.
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
