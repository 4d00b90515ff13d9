//! The login state of one process, and the decision what to do next. Plain data: no I/O, no locks.

mod consent;
mod pacing;
mod token;

use std::{mem, time::Duration};

use mcp_transport::auth::{AuthFailure, Challenge, Credentials, Target};
use tokio::time::Instant;

pub(crate) use self::token::HeldToken;
use self::{consent::Consent, pacing::Pacing, token::TokenState};
use super::{
    budget::Budget,
    endpoint::token::TokenResponse,
    hints::Hints,
    plan::Plan,
    proof::dpop::{DpopKey, Nonces},
    scopes::Scopes,
};
use crate::error::LoginError;

/// More nonces than a server that lets them expire would need within the window.
const MOST_NONCES: usize = 10;
const NONCES_WINDOW: Duration = Duration::from_secs(60);

/// The state of one [`OAuth`](super::OAuth).
#[derive(Debug)]
pub(crate) struct Session {
    token: TokenState,
    /// The last stamp issued.
    stamps: u64,
    pub(crate) consent: Consent,
    pub(crate) pacing: Pacing,
    pub(crate) nonces: Nonces,
    nonce_tries: Budget,
    /// The plan of the last machine token, so that the next one needs no discovery.
    pub(crate) machine: Option<Plan>,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            token: TokenState::Unread,
            stamps: 0,
            consent: Consent::default(),
            pacing: Pacing::default(),
            nonces: Nonces::default(),
            nonce_tries: Budget::new(MOST_NONCES, NONCES_WINDOW),
            machine: None,
        }
    }
}

/// The reaction to a rejected request.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send it again: its credentials have been replaced since.
    Retry,
    /// A new token would not help.
    Fail(LoginError),
    /// Obtain a new token.
    Obtain(Refused),
}

/// A rejected request that a new token may help.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) hints: Hints,
    /// It was rejected for missing scopes; the token works for other requests.
    pub(crate) is_forbidden: bool,
    /// The scopes to request, if a renewal cannot provide them.
    pub(crate) wider: Option<Scopes>,
}

impl Session {
    /// Returns the token in use, even if it has expired.
    pub(crate) fn held(&self) -> Option<&HeldToken> {
        self.token.held()
    }

    /// Records that the store has been read.
    pub(crate) fn store_was_read(&mut self) {
        self.token = self.take_state().after_read();
    }

    /// Holds a token that was requested with the scopes `requested`, under a new stamp.
    pub(crate) fn hold(
        &mut self,
        response: TokenResponse,
        requested: Scopes,
        dpop: Option<DpopKey>,
        now: Instant,
    ) {
        self.stamps += 1;
        self.pacing.succeeded();
        self.consent.requested = requested;
        let token = HeldToken::new(response, dpop, now, self.stamps);
        self.token = self.take_state().hold(token);
    }

    /// Drops the token and returns it.
    pub(crate) fn release(&mut self) -> Option<HeldToken> {
        let (state, token) = self.take_state().split();
        self.token = state;
        token
    }

    fn take_state(&mut self) -> TokenState {
        mem::replace(&mut self.token, TokenState::Unread)
    }

    /// Returns the headers of a request, if there is a valid token.
    pub(crate) fn credentials(
        &self,
        target: Target<'_>,
        now: Instant,
    ) -> Result<Option<Credentials>, LoginError> {
        let Some(held) = self.held().filter(|held| held.is_alive(now)) else {
            return Ok(None);
        };
        let mut credentials = Credentials::default().stamped(held.stamp);
        credentials.headers = held.headers(target, &self.nonces)?;
        Ok(Some(credentials))
    }

    /// Whether to renew the token before the next request.
    pub(crate) fn wants_renewal(&self, now: Instant) -> bool {
        match &self.token {
            TokenState::Unread => true,
            TokenState::Absent => false,
            TokenState::Held { token, .. } => token.is_due(now) && !self.pacing.is_early(now),
        }
    }

    /// Records a failed renewal. With `nothing_to_renew`, an expired token is dropped.
    pub(crate) fn renewal_failed(
        &mut self,
        failure: Option<AuthFailure>,
        nothing_to_renew: bool,
        now: Instant,
    ) {
        self.store_was_read();
        self.pacing.renewal_failed(failure, now);
        if nothing_to_renew && self.held().is_some_and(|held| !held.is_alive(now)) {
            self.release();
        }
    }

    /// Returns the last failure while the token has expired and it is too early to try again.
    pub(crate) fn backs_off(&self, now: Instant) -> Option<AuthFailure> {
        let is_over = self.held().is_some_and(|held| !held.is_alive(now));
        self.pacing.last_failure().filter(|_| self.pacing.is_early(now) && is_over)
    }

    /// Whether a renewal may help. If the current token is new, it takes from the budget of renewals.
    pub(crate) fn may_renew(&mut self, now: Instant) -> Renewable {
        if self.held().is_none_or(|held| !held.is_young(now)) {
            Renewable::Yes
        } else if self.pacing.renewals.take(now) {
            Renewable::AtTheSameIssuer
        } else {
            Renewable::No
        }
    }

    /// Decides on a rejected request, if no new token is needed.
    pub(crate) fn judge_without_token(
        &mut self,
        challenge: &Challenge,
        now: Instant,
    ) -> Option<Step> {
        self.learn_nonce(challenge);
        let is_current = !self.has_replaced(challenge.stamp, now);
        if self.lacks_nonce(challenge, now) {
            let may_retry = !is_current && self.nonce_tries.take(now);
            return Some(if may_retry {
                Step::Retry
            } else {
                Step::Fail(LoginError::NonceRefused)
            });
        }
        (!is_current).then_some(Step::Retry)
    }

    /// Decides on a rejected request that cannot simply be sent again.
    pub(crate) fn judge(&mut self, challenge: &Challenge, can_authorize: bool) -> Step {
        self.consent.hints = Hints::of(challenge);
        match self.consent.wider(challenge, self.held().is_some(), can_authorize) {
            Err(error) => Step::Fail(error),
            Ok(wider) => Step::Obtain(Refused {
                hints: self.consent.hints.clone(),
                // `insufficient_scope`: https://www.rfc-editor.org/rfc/rfc6750#section-3.1
                is_forbidden: challenge.status == 403,
                wider,
            }),
        }
    }

    /// Whether the rejected credentials have been replaced since by a token that is still valid.
    fn has_replaced(&self, stamp: u64, now: Instant) -> bool {
        self.held().is_some_and(|held| held.is_alive(now) && held.stamp != stamp)
    }

    /// Stores the nonce of a challenge. A new nonce changes the stamp, so that rejected requests are sent again.
    fn learn_nonce(&mut self, challenge: &Challenge) {
        let Some(nonce) = &challenge.dpop_nonce else { return };
        let is_new = self.nonces.learn(&challenge.url, nonce);
        if let TokenState::Held { token, .. } = &mut self.token
            && is_new
            && token.is_bound()
        {
            self.stamps += 1;
            token.stamp = self.stamps;
        }
    }

    /// Whether only the nonce of a request was rejected. Its token is valid, so a login would not help.
    fn lacks_nonce(&self, challenge: &Challenge, now: Instant) -> bool {
        // https://www.rfc-editor.org/rfc/rfc9449#section-9
        challenge.param("error") == Some("use_dpop_nonce")
            && self.held().is_some_and(|held| held.is_bound() && held.is_alive(now))
    }
}

/// Whether to renew the stored login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewable {
    Yes,
    /// Only if the server still uses the issuer of the login.
    AtTheSameIssuer,
    No,
}

#[cfg(test)]
mod tests {
    use super::{token::YOUNG, *};
    use crate::{oauth::endpoint::token::TokenKind, secret::Secret};

    fn response(life: Option<u64>) -> TokenResponse {
        TokenResponse {
            access: Secret::new("t"),
            kind: TokenKind::Bearer,
            life: life.map(Duration::from_secs),
            refresh: None,
            issued_type: None,
        }
    }

    #[test]
    fn token_is_renewed_before_it_expires_and_not_used_after() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut session = Session::default();
        assert!(session.wants_renewal(start), "the store has not been looked at");
        session.hold(response(Some(3600)), Scopes::default(), None, start);
        assert!(!session.wants_renewal(at(3539)) && session.wants_renewal(at(3540)));
        let target = Target::new("POST", "https://a.test");
        assert!(session.credentials(target, at(3599)).unwrap().is_some());
        assert!(session.credentials(target, at(3600)).unwrap().is_none());
        session.pacing.renewal_failed(None, at(3550));
        assert!(!session.wants_renewal(at(3550)) && session.wants_renewal(at(3560)));
        assert!(session.wants_renewal(at(3601)));
        session.hold(response(Some(10)), Scopes::default(), None, start);
        assert!(!session.wants_renewal(at(8)) && session.wants_renewal(at(9)));
        session.hold(response(None), Scopes::default(), None, start);
        assert!(!session.wants_renewal(at(1_000_000)));
    }

    #[test]
    fn rejection_of_a_replaced_token_leads_to_a_retry() {
        let start = Instant::now();
        let mut session = Session::default();
        assert!(!session.has_replaced(0, start));
        session.hold(response(None), Scopes::default(), None, start);
        let stamp = session.held().unwrap().stamp;
        assert!(session.has_replaced(0, start) && !session.has_replaced(stamp, start));
        session.hold(response(Some(10)), Scopes::default(), None, start);
        assert!(session.has_replaced(stamp, start));
        let later = start + Duration::from_secs(10);
        assert!(!session.has_replaced(stamp, later), "a dead token replaces nothing");
        let held = session.held().unwrap();
        assert!(held.is_young(start) && !held.is_young(start + YOUNG));
    }

    #[test]
    fn new_nonce_allows_a_retry_of_all_requests() {
        let now = Instant::now();
        let mut session = Session::default();
        let mut challenge = Challenge::new(401, "https://a.test/mcp");
        challenge.read(r#"DPoP error="use_dpop_nonce""#);
        challenge.dpop_nonce = Some("1".into());
        session.learn_nonce(&challenge);
        assert!(!session.lacks_nonce(&challenge, now), "no token is bound");
        let bound = TokenResponse { kind: TokenKind::Dpop, ..response(Some(10)) };
        session.hold(bound, Scopes::default(), Some(DpopKey::generate().unwrap()), now);
        let stamp = session.held().unwrap().stamp;
        session.learn_nonce(&challenge);
        assert!(!session.has_replaced(stamp, now), "it is not new");
        assert!(session.lacks_nonce(&challenge, now));
        challenge.dpop_nonce = Some("2".into());
        for _ in 0..2 {
            session.learn_nonce(&challenge);
            assert!(session.has_replaced(stamp, now));
        }
        assert!(!session.lacks_nonce(&challenge, now + Duration::from_secs(10)));
    }
}
