//! The input and the result of discovery.

use super::source::EndpointSource;
use crate::oauth::metadata::ServerMetadata;

/// The result of discovery.
#[derive(Clone, Debug)]
pub(crate) struct Discovery {
    pub(crate) server: ServerMetadata,
    /// The value of the `resource` parameter.
    pub(crate) resource: String,
    /// The scopes that the resource lists, for a first login without a scope in the challenge.
    pub(crate) scopes: Vec<String>,
}

/// The input of discovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiscoveryRequest<'a> {
    /// The URL of the MCP server.
    pub(crate) endpoint: &'a str,
    /// The `resource_metadata` of its challenge.
    pub(crate) named: Option<&'a str>,
    pub(crate) legacy: bool,
    pub(crate) source: &'a EndpointSource,
    /// The configured resource, which replaces the one in the server's metadata.
    pub(crate) resource: Option<&'a str>,
    /// The issuer of the configured client.
    pub(crate) issuer: Option<&'a str>,
}
