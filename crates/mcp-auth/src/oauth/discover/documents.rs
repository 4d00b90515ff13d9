//! Fetches the discovery documents.

use super::urls::{issuer_urls, resource_urls};
use crate::{
    error::LoginError,
    oauth::{
        fetch::{Document, Fetch},
        metadata::{ResourceMetadata, ServerMetadata},
    },
};

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
    // The challenge names a document that does not exist. Other URLs must not replace it.
    if named.is_some() { Err(LoginError::NoAuthorizationServer) } else { Ok(None) }
}

pub(super) async fn server_metadata(
    fetch: &Fetch,
    issuer: &str,
) -> Result<ServerMetadata, LoginError> {
    let urls = issuer_urls(issuer).ok_or(LoginError::BadDocument {
        what: "the resource metadata",
        why: "its authorization server is not a valid issuer URL",
    })?;
    for url in urls {
        let fetched = fetch.document(&url, "the authorization server's metadata").await?;
        if let Document::Found(body) = fetched {
            let server = ServerMetadata::read(&body)?;
            // Compared byte for byte, including a final slash: https://www.rfc-editor.org/rfc/rfc8414#section-3.3
            return if server.issuer == issuer {
                Ok(server)
            } else {
                Err(LoginError::IssuerMismatch)
            };
        }
    }
    Err(LoginError::NoAuthorizationServer)
}
