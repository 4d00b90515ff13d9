//! Tracks whether the server can still be reached. Plain state without I/O.
//!
//! One failed POST does not end a link. A refused connection does, since no process listens there any more, and so do
//! several consecutive failures to reach the server.

use mcp_jsonrpc::{Delivery, FailureCause, Loss};

use crate::diagnostics::CloseReason;

/// This many consecutive failures end the link.
const MOST_FAILURES: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Reachability {
    /// A response has arrived at some time. Before that, the handshake reports the failure.
    was_reached: bool,
    /// Failures since the last response.
    failures: u32,
    lost: Option<CloseReason>,
}

/// When a request was sent. Requests that fail together count as one failure.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentAt(u32);

impl Reachability {
    pub(super) fn sent(&self) -> SentAt {
        SentAt(self.failures)
    }

    /// Records that a response has begun.
    pub(super) fn reached(&mut self) {
        *self = Self { was_reached: true, ..Self::default() };
    }

    /// Records that a request failed without a response.
    pub(super) fn failed(&mut self, sent: SentAt, loss: &Loss) {
        let counts = match loss.cause {
            FailureCause::Refused
            | FailureCause::CutOff
            | FailureCause::Unreachable
            | FailureCause::UnknownHost
            | FailureCause::Proxy => true,
            // The connection was not established in time. A slow response is not a failure to reach the server.
            FailureCause::TimedOut => loss.delivery == Delivery::NotSent,
            _ => false,
        };
        if !self.was_reached || !counts || sent.0 < self.failures {
            return;
        }
        self.failures += 1;
        if loss.cause == FailureCause::Refused || self.failures >= MOST_FAILURES {
            let reason = loss.reason.to_string();
            self.lost = Some(CloseReason::Failed { cause: loss.cause, reason });
        }
    }

    /// Returns why the link has to end, if it has to.
    pub(super) fn lost(&self) -> Option<&CloseReason> {
        self.lost.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::ErrorClass;

    use super::*;

    fn loss(cause: FailureCause) -> Loss {
        Loss::new(Delivery::NotSent, ErrorClass::Transient, cause, "why")
    }

    fn fail(state: &mut Reachability, cause: FailureCause) -> bool {
        let sent = state.sent();
        state.failed(sent, &loss(cause));
        state.lost().is_some()
    }

    fn reached() -> Reachability {
        let mut state = Reachability::default();
        state.reached();
        state
    }

    #[test]
    fn refused_connection_ends_the_link_once_the_server_was_reached() {
        assert!(!fail(&mut Reachability::default(), FailureCause::Refused));
        let mut state = reached();
        assert!(fail(&mut state, FailureCause::Refused));
        let expected = CloseReason::Failed { cause: FailureCause::Refused, reason: "why".into() };
        assert_eq!(state.lost(), Some(&expected));
    }

    #[test]
    fn third_failure_in_a_row_ends_the_link() {
        let mut state = reached();
        assert!(
            !fail(&mut state, FailureCause::CutOff) && !fail(&mut state, FailureCause::Unreachable)
        );
        state.reached();
        assert!(
            !fail(&mut state, FailureCause::CutOff) && !fail(&mut state, FailureCause::TimedOut)
        );
        assert!(fail(&mut state, FailureCause::UnknownHost));
    }

    #[test]
    fn requests_that_fail_together_count_once() {
        let mut state = reached();
        let sent = state.sent();
        for _ in 0..10 {
            state.failed(sent, &loss(FailureCause::CutOff));
        }
        assert!(state.lost().is_none());
        assert!(!fail(&mut state, FailureCause::CutOff) && fail(&mut state, FailureCause::CutOff));
    }

    #[test]
    fn other_failures_do_not_count() {
        let mut state = reached();
        let mut slow = loss(FailureCause::TimedOut);
        slow.delivery = Delivery::Unknown;
        for loss in [slow, loss(FailureCause::Status(503)), loss(FailureCause::Credentials)] {
            for _ in 0..5 {
                let sent = state.sent();
                state.failed(sent, &loss);
            }
        }
        assert!(state.lost().is_none());
    }
}
