//! The parts of a challenge that guide a login.

use mcp_transport::auth::Challenge;

/// Login parameters of a challenge.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) resource_metadata: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) wants_dpop: bool,
}

impl Hints {
    pub(crate) fn of(challenge: &Challenge) -> Self {
        let offers = |name| challenge.schemes.iter().any(|scheme| scheme.is(name));
        Self {
            // https://www.rfc-editor.org/rfc/rfc9728#section-5.1
            resource_metadata: challenge.param("resource_metadata").map(str::to_owned),
            // https://www.rfc-editor.org/rfc/rfc6750#section-3
            scope: challenge.param("scope").map(str::to_owned),
            // https://www.rfc-editor.org/rfc/rfc9449#section-7.1
            wants_dpop: offers("dpop"),
        }
    }

    /// Whether the challenge names neither resource metadata nor a scope.
    pub(crate) fn is_empty(&self) -> bool {
        self.resource_metadata.is_none() && self.scope.is_none()
    }
}
