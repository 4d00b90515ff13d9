//! The scopes that were requested from the user and the server.

use std::time::Duration;

use mcp_transport::auth::Challenge;

use crate::{
    error::LoginError,
    oauth::{budget::Budget, hints::Hints, scopes::Scopes},
};

/// At most three authorizations within the window.
const MOST_ATTEMPTS: usize = 3;
const ATTEMPTS_WINDOW: Duration = Duration::from_secs(10 * 60);

/// The requested scopes, the last challenge, and the number of attempts.
#[derive(Debug)]
pub(crate) struct Consent {
    /// The scopes requested last.
    pub(crate) requested: Scopes,
    /// The widest scopes requested because of a 403.
    pub(crate) stepped_up: Option<Scopes>,
    /// The parameters of the last challenge.
    pub(crate) hints: Hints,
    pub(crate) attempts: Budget,
}

impl Default for Consent {
    fn default() -> Self {
        Self {
            requested: Scopes::default(),
            stepped_up: None,
            hints: Hints::default(),
            attempts: Budget::new(MOST_ATTEMPTS, ATTEMPTS_WINDOW),
        }
    }
}

impl Consent {
    /// Returns the scopes to request if the server requires more than before. A refresh token cannot provide those.
    pub(super) fn wider(
        &self,
        challenge: &Challenge,
        has_token: bool,
        can_authorize: bool,
    ) -> Result<Option<Scopes>, LoginError> {
        let wanted = self.hints.scope.as_deref().map(Scopes::parse).unwrap_or_default();
        let wider = self.requested.clone().union(&wanted);
        if challenge.status == 403 {
            // Any other 403 is about the user's rights, which new scopes do not change:
            // https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#scope-challenge-handling
            if challenge.param("error") != Some("insufficient_scope") {
                return Err(LoginError::Forbidden);
            }
            // All of these were requested after a 403, and the new token was rejected again: another request would
            // only open another window.
            if self.stepped_up.as_ref().is_some_and(|before| before.contains_all(&wider)) {
                return Err(LoginError::ScopeNotGranted);
            }
            return Ok(Some(wider));
        }
        // The token may just have expired, so it is renewed if no authorization is possible.
        let is_wider = has_token && !self.requested.contains_all(&wanted.without_offline());
        Ok((is_wider && can_authorize).then_some(wider))
    }
}
