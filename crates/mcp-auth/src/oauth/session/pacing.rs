//! Limits how soon and how often a token is renewed.

use std::time::Duration;

use mcp_transport::auth::AuthFailure;
use tokio::time::Instant;

use crate::oauth::budget::Budget;

/// Processes that share a login may invalidate each other's tokens, so a second renewal may help.
const MOST_RENEWALS: usize = 2;
const RENEWALS_WINDOW: Duration = Duration::from_secs(60);
/// How long to wait after a failed renewal while the old token still works.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Failed renewals, and the time of the next one.
#[derive(Debug)]
pub(crate) struct Pacing {
    /// The earliest time of the next renewal after a failure.
    not_before: Option<Instant>,
    /// The number of challenges that ended in a failure.
    failures: u64,
    last_failure: Option<AuthFailure>,
    /// The budget for renewals of new tokens that were rejected.
    pub(crate) renewals: Budget,
}

impl Default for Pacing {
    fn default() -> Self {
        let renewals = Budget::new(MOST_RENEWALS, RENEWALS_WINDOW);
        Self { not_before: None, failures: 0, last_failure: None, renewals }
    }
}

impl Pacing {
    pub(super) fn succeeded(&mut self) {
        (self.not_before, self.last_failure) = (None, None);
    }

    /// Records a failed renewal, with a `failure` if it is transient.
    pub(super) fn renewal_failed(&mut self, failure: Option<AuthFailure>, now: Instant) {
        (self.not_before, self.last_failure) = (Some(now + RETRY_AFTER), failure);
    }

    pub(super) fn is_early(&self, now: Instant) -> bool {
        self.not_before.is_some_and(|at| now < at)
    }

    pub(super) fn last_failure(&self) -> Option<AuthFailure> {
        self.last_failure.clone()
    }

    /// Records a failure for all tasks that wait for the same token, so that each does not repeat it.
    pub(crate) fn fail(&mut self, failure: AuthFailure) {
        self.failures += 1;
        self.last_failure = Some(failure);
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// Returns the last failure if it was recorded after `failures` was read.
    pub(crate) fn failed_since(&self, failures: u64) -> Option<AuthFailure> {
        self.last_failure.clone().filter(|_| self.failures != failures)
    }
}
