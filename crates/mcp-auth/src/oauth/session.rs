//! What a process knows about its login: the token in hand, what was asked for, and what was tried.

use std::time::Duration;

use mcp_transport::{AuthFailure, Challenge, Credentials, Target};
use tokio::time::Instant;

use super::{
    budget::Budget,
    discovery::Discovery,
    dpop::{DpopKey, Nonces},
    error::LoginError,
    scopes::Scopes,
    token::{TokenKind, TokenResponse},
    unsaved::Unsaved,
};
use crate::secret::Secret;

/// At most three authorizations for one thing, the first included.
const MOST_ATTEMPTS: usize = 3;
const ATTEMPTS_WINDOW: Duration = Duration::from_secs(10 * 60);
/// Nonces expire, but not so fast.
const MOST_NONCES: usize = 10;
const NONCES_WINDOW: Duration = Duration::from_secs(60);
/// A token is renewed this long before its end, or a tenth of its life if that is less.
const EARLY: Duration = Duration::from_secs(60);
/// A new token that is refused this soon makes us look whether the server has moved.
const YOUNG: Duration = Duration::from_secs(30);
/// Processes that share a login may end each other's tokens, so a second renewal may help.
const MOST_RENEWALS: usize = 2;
const RENEWALS_WINDOW: Duration = Duration::from_secs(60);

/// The state of one [`OAuth`](super::OAuth). Plain data: no I/O, no locks.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) held: Option<Held>,
    stamps: u64,
    /// Whether the store was looked at once.
    pub(crate) is_loaded: bool,
    /// What was asked for last.
    pub(crate) requested: Scopes,
    /// The widest set that was asked for because of a refusal.
    pub(crate) stepped_up: Option<Scopes>,
    pub(crate) hints: Hints,
    pub(crate) nonces: Nonces,
    pub(crate) attempts: Budget,
    pub(crate) nonce_tries: Budget,
    /// Renewals of tokens that were refused although they were new.
    pub(crate) renewals: Budget,
    /// What discovery found, for grants that need nobody.
    pub(crate) found: Option<Discovery>,
    pub(crate) machine_key: Option<DpopKey>,
    /// The issuer that our own credential was shown to, in case it could not be stored.
    pub(crate) pinned: Option<String>,
    /// A login that is newer than what is stored.
    pub(crate) unsaved: Option<Unsaved>,
    /// After a renewal failed: not again before.
    pub(crate) not_before: Option<Instant>,
    /// How often no way to a login was found, and what was said about it last.
    pub(crate) failures: u64,
    pub(crate) last_failure: Option<AuthFailure>,
}

/// What a challenge tells about how to log in.
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
            resource_metadata: challenge.param("resource_metadata").map(str::to_owned),
            scope: challenge.param("scope").map(str::to_owned),
            wants_dpop: offers("dpop"),
        }
    }
}

/// The token in hand.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    access: Secret,
    kind: TokenKind,
    dpop: Option<DpopKey>,
    obtained: Instant,
    expires: Option<Instant>,
    life: Option<Duration>,
    pub(crate) stamp: u64,
}

impl Held {
    /// Whether it works, as far as its own life goes.
    pub(crate) fn is_alive(&self, now: Instant) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// Whether it is time for a new one.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let early = self.life.map_or(Duration::ZERO, |life| (life / 10).min(EARLY));
        self.expires.is_some_and(|expires| now + early >= expires)
    }

    /// Whether it was obtained just now, so that renewing it may not help.
    pub(crate) fn is_young(&self, now: Instant) -> bool {
        now.duration_since(self.obtained) < YOUNG
    }

    /// Whether it takes a proof to show it.
    fn is_bound(&self) -> bool {
        self.kind == TokenKind::Dpop && self.dpop.is_some()
    }

    pub(crate) fn access(&self) -> &Secret {
        &self.access
    }

    fn headers(
        &self,
        target: Target<'_>,
        nonces: &Nonces,
    ) -> Result<Vec<(String, String)>, LoginError> {
        let header = |scheme: &str| {
            ("authorization".to_owned(), format!("{scheme} {}", self.access.expose()))
        };
        match (self.kind, &self.dpop) {
            (TokenKind::Dpop, Some(key)) => {
                let nonce = nonces.get(target.url);
                let proof = key.proof(target.method, target.url, Some(&self.access), nonce)?;
                Ok(vec![header("DPoP"), ("dpop".to_owned(), proof.expose().to_owned())])
            }
            _ => Ok(vec![header("Bearer")]),
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self {
            held: None,
            stamps: 0,
            is_loaded: false,
            requested: Scopes::default(),
            stepped_up: None,
            hints: Hints::default(),
            nonces: Nonces::default(),
            attempts: Budget::new(MOST_ATTEMPTS, ATTEMPTS_WINDOW),
            nonce_tries: Budget::new(MOST_NONCES, NONCES_WINDOW),
            renewals: Budget::new(MOST_RENEWALS, RENEWALS_WINDOW),
            found: None,
            machine_key: None,
            pinned: None,
            unsaved: None,
            not_before: None,
            failures: 0,
            last_failure: None,
        }
    }
}

impl Session {
    /// Takes a token in hand, under a new stamp.
    pub(crate) fn hold(&mut self, response: TokenResponse, dpop: Option<DpopKey>, now: Instant) {
        self.stamps += 1;
        self.not_before = None;
        self.last_failure = None;
        self.held = Some(Held {
            access: response.access,
            kind: response.kind,
            dpop,
            obtained: now,
            expires: response.life.and_then(|life| now.checked_add(life)),
            life: response.life,
            stamp: self.stamps,
        });
    }

    /// The headers of a request, if there is a token that works.
    pub(crate) fn credentials(
        &self,
        target: Target<'_>,
        now: Instant,
    ) -> Result<Option<Credentials>, LoginError> {
        let Some(held) = self.held.as_ref().filter(|held| held.is_alive(now)) else {
            return Ok(None);
        };
        let mut credentials = Credentials::default().stamped(held.stamp);
        credentials.headers = held.headers(target, &self.nonces)?;
        Ok(Some(credentials))
    }

    /// Whether to look for a new token before the next request.
    pub(crate) fn wants_renewal(&self, now: Instant) -> bool {
        match &self.held {
            None => !self.is_loaded,
            Some(held) => held.is_due(now) && self.not_before.is_none_or(|at| now >= at),
        }
    }

    /// Whether what was refused has been replaced since, by something that still works.
    pub(crate) fn has_replaced(&self, stamp: u64, now: Instant) -> bool {
        self.held.as_ref().is_some_and(|held| held.is_alive(now) && held.stamp != stamp)
    }

    /// Remembers a failure for everybody who waits for the same thing.
    pub(crate) fn fail(&mut self, failure: AuthFailure) {
        self.failures += 1;
        self.last_failure = Some(failure);
    }

    /// What came of it while somebody waited, if it came to nothing.
    pub(crate) fn failed_since(&self, failures: u64) -> Option<AuthFailure> {
        self.last_failure.clone().filter(|_| self.failures != failures)
    }

    /// Why there is no token, where it is too early to try for one again.
    pub(crate) fn backs_off(&self, now: Instant) -> Option<AuthFailure> {
        let is_early = self.not_before.is_some_and(|at| now < at);
        let is_over = self.held.as_ref().is_some_and(|held| !held.is_alive(now));
        self.last_failure.clone().filter(|_| is_early && is_over)
    }

    /// A renewal found nothing to renew: a token that is over will not come back.
    pub(crate) fn give_up(&mut self, now: Instant) {
        self.held = self.held.take().filter(|held| held.is_alive(now));
    }

    /// Learns the nonce of a challenge. What was refused for want of it is old news from then on.
    pub(crate) fn learn_nonce(&mut self, challenge: &Challenge) {
        let Some(nonce) = &challenge.dpop_nonce else { return };
        let is_new = self.nonces.learn(&challenge.url, nonce);
        if let Some(held) = self.held.as_mut().filter(|held| is_new && held.is_bound()) {
            self.stamps += 1;
            held.stamp = self.stamps;
        }
    }

    /// Whether only the nonce of a request was refused. Its token is good, so no login would help.
    pub(crate) fn lacks_nonce(&self, challenge: &Challenge, now: Instant) -> bool {
        challenge.param("error") == Some("use_dpop_nonce")
            && self.held.as_ref().is_some_and(|held| held.is_bound() && held.is_alive(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_token_is_renewed_early_and_not_used_late() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut session = Session::default();
        assert!(session.wants_renewal(start), "the store has not been looked at");
        session.hold(response(Some(3600)), None, start);
        assert!(!session.wants_renewal(at(3539)) && session.wants_renewal(at(3540)));
        let target = Target::new("POST", "https://a.test");
        assert!(session.credentials(target, at(3599)).unwrap().is_some());
        assert!(session.credentials(target, at(3600)).unwrap().is_none());
        session.not_before = Some(at(3560));
        assert!(!session.wants_renewal(at(3550)) && session.wants_renewal(at(3560)));
        assert!(session.wants_renewal(at(3601)));
        session.hold(response(Some(10)), None, start);
        assert!(!session.wants_renewal(at(8)) && session.wants_renewal(at(9)));
        session.hold(response(None), None, start);
        assert!(!session.wants_renewal(at(1_000_000)));
    }

    #[test]
    fn a_refusal_of_an_old_token_is_old_news() {
        let start = Instant::now();
        let mut session = Session::default();
        assert!(!session.has_replaced(0, start));
        session.hold(response(None), None, start);
        let stamp = session.held.as_ref().unwrap().stamp;
        assert!(session.has_replaced(0, start) && !session.has_replaced(stamp, start));
        session.hold(response(Some(10)), None, start);
        assert!(session.has_replaced(stamp, start));
        let later = start + Duration::from_secs(10);
        assert!(!session.has_replaced(stamp, later), "a dead token replaces nothing");
        let held = session.held.unwrap();
        assert!(held.is_young(start) && !held.is_young(start + YOUNG));
    }

    #[test]
    fn a_new_nonce_is_worth_another_try_for_everybody() {
        let now = Instant::now();
        let mut session = Session::default();
        let mut challenge = Challenge::new(401, "https://a.test/mcp");
        challenge.read(r#"DPoP error="use_dpop_nonce""#);
        challenge.dpop_nonce = Some("1".into());
        session.learn_nonce(&challenge);
        assert!(!session.lacks_nonce(&challenge, now), "no token is bound");
        let bound = TokenResponse { kind: TokenKind::Dpop, ..response(Some(10)) };
        session.hold(bound, Some(DpopKey::generate().unwrap()), now);
        let stamp = session.held.as_ref().unwrap().stamp;
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
