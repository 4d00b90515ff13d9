//! The access token in use, which is kept in memory only.

use std::time::Duration;

use mcp_transport::auth::Target;
use tokio::time::Instant;

use crate::{
    error::LoginError,
    oauth::{
        endpoint::token::{TokenKind, TokenResponse},
        proof::dpop::{DpopKey, Nonces},
    },
    secret::Secret,
};

/// A token is renewed this long before it expires, or a tenth of its life if that is less.
const EARLY: Duration = Duration::from_secs(60);
/// A token rejected within this time leads to a check whether the server changed its issuer.
pub(super) const YOUNG: Duration = Duration::from_secs(30);

/// The access token in use, with a stamp that distinguishes it from earlier ones.
#[derive(Clone, Debug)]
pub(crate) struct HeldToken {
    access: Secret,
    kind: TokenKind,
    dpop: Option<DpopKey>,
    obtained: Instant,
    expires: Option<Instant>,
    life: Option<Duration>,
    pub(super) stamp: u64,
}

impl HeldToken {
    pub(super) fn new(
        response: TokenResponse,
        dpop: Option<DpopKey>,
        now: Instant,
        stamp: u64,
    ) -> Self {
        Self {
            access: response.access,
            kind: response.kind,
            dpop,
            obtained: now,
            // A lifetime beyond the range of the clock counts as unlimited.
            expires: response.life.and_then(|life| now.checked_add(life)),
            life: response.life,
            stamp,
        }
    }

    /// Whether it has not expired.
    pub(crate) fn is_alive(&self, now: Instant) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// Whether it is time to renew it.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        // Early enough that it does not expire on the way, and not so early that short-lived tokens are always due.
        let early = self.life.map_or(Duration::ZERO, |life| (life / 10).min(EARLY));
        self.expires.is_some_and(|expires| now + early >= expires)
    }

    /// Whether it was obtained recently, so that renewing it may not help.
    pub(super) fn is_young(&self, now: Instant) -> bool {
        now.duration_since(self.obtained) < YOUNG
    }

    /// Whether it is bound to a key and needs a `DPoP` proof.
    pub(super) fn is_bound(&self) -> bool {
        self.kind == TokenKind::Dpop && self.dpop.is_some()
    }

    pub(crate) fn access(&self) -> &Secret {
        &self.access
    }

    pub(super) fn headers(
        &self,
        target: Target<'_>,
        nonces: &Nonces,
    ) -> Result<Vec<(String, String)>, LoginError> {
        let header = |scheme: &str| {
            ("authorization".to_owned(), format!("{scheme} {}", self.access.expose()))
        };
        match (self.kind, &self.dpop) {
            // https://www.rfc-editor.org/rfc/rfc9449#section-7.1
            (TokenKind::Dpop, Some(key)) => {
                let nonce = nonces.get(target.url);
                let proof = key.proof(target.method, target.url, Some(&self.access), nonce)?;
                Ok(vec![header("DPoP"), ("dpop".to_owned(), proof.expose().to_owned())])
            }
            // In the header only, never in the URL: https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#token-requirements
            _ => Ok(vec![header("Bearer")]),
        }
    }
}

/// Whether there is an access token.
#[derive(Debug)]
pub(crate) enum TokenState {
    /// No token, and the store has not been read.
    Unread,
    /// No token, and the store has been read.
    Absent,
    Held {
        token: HeldToken,
        store_is_read: bool,
    },
}

impl TokenState {
    pub(crate) fn held(&self) -> Option<&HeldToken> {
        match self {
            Self::Held { token, .. } => Some(token),
            _ => None,
        }
    }

    fn store_is_read(&self) -> bool {
        matches!(self, Self::Absent | Self::Held { store_is_read: true, .. })
    }

    /// Records that the store was read.
    pub(super) fn after_read(self) -> Self {
        match self {
            Self::Held { token, .. } => Self::Held { token, store_is_read: true },
            _ => Self::Absent,
        }
    }

    /// Replaces the token.
    pub(super) fn hold(self, token: HeldToken) -> Self {
        Self::Held { token, store_is_read: self.store_is_read() }
    }

    /// Splits off the token.
    pub(super) fn split(self) -> (Self, Option<HeldToken>) {
        match self {
            Self::Held { token, store_is_read: true } => (Self::Absent, Some(token)),
            Self::Held { token, .. } => (Self::Unread, Some(token)),
            none => (none, None),
        }
    }
}
