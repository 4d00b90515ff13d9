//! The plan of a login: authorization server, scopes and `DPoP` key.

use std::time::Duration;

use super::{
    discover::{
        Discovery, DiscoveryRequest, discover,
        source::{EndpointSource, check_resource},
    },
    fetch::Fetch,
    hints::Hints,
    options::OAuthOptions,
    proof::dpop::{Dpop, DpopKey},
    scopes::{ScopeInputs, Scopes, choose},
};
use crate::{error::LoginError, http::HttpError};

/// The time limit of discovery, which sends up to a dozen requests in sequence.
const DISCOVERY_LIMIT: Duration = Duration::from_secs(60);

/// The authorization server to request a token from, the scopes, and the key to bind the token to.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) found: Discovery,
    pub(crate) scopes: Scopes,
    pub(crate) dpop: Option<DpopKey>,
}

/// Discovers the authorization server.
pub(crate) async fn find(
    fetch: &Fetch,
    options: &OAuthOptions,
    hints: &Hints,
) -> Result<Discovery, LoginError> {
    let source = EndpointSource::of(options)?;
    options.resource.as_deref().map_or(Ok(()), check_resource)?;
    let request = DiscoveryRequest {
        endpoint: &options.server,
        named: hints.resource_metadata.as_deref(),
        legacy: options.legacy,
        source: &source,
        resource: options.resource.as_deref(),
        issuer: options.client.as_ref().and_then(|client| client.issuer.as_deref()),
    };
    let late = |_| {
        let source = HttpError::TimedOut(DISCOVERY_LIMIT);
        LoginError::Http { asking: "the login metadata", source }
    };
    tokio::time::timeout(DISCOVERY_LIMIT, discover(fetch, &request)).await.map_err(late)?
}

impl Plan {
    /// Decides what to request from the authorization server in `found`. `before` are the scopes requested last.
    pub(crate) fn decide(
        found: Discovery,
        options: &OAuthOptions,
        hints: &Hints,
        before: Scopes,
    ) -> Result<Self, LoginError> {
        let scopes = choose(&ScopeInputs {
            configured: Scopes::of(&options.scopes),
            before,
            challenged: hints.scope.as_deref(),
            resource: &found.scopes,
            server: &found.server.scopes_supported,
            wants_refresh: options.grant.is_interactive(),
        });
        // The only algorithm of our keys. Servers list theirs: https://www.rfc-editor.org/rfc/rfc9449#section-5.1
        let offers = found.server.dpop_algs.iter().any(|alg| alg == "ES256");
        let is_bound = match options.dpop {
            Dpop::Never => false,
            Dpop::WhenAsked => hints.wants_dpop && offers,
            Dpop::Always if offers => true,
            Dpop::Always => return Err(LoginError::NotOffered("tokens bound to a key (DPoP)")),
        };
        let dpop = if is_bound { Some(DpopKey::generate()?) } else { None };
        Ok(Self { found, scopes, dpop })
    }
}
