//! When to reopen a stream of a legacy server. Plain state without I/O.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::time::Duration;

use mcp_jsonrpc::{ErrorClass, FailureCause, Loss};

use super::loss::lost;

/// How long to wait before reconnecting, unless the server names a time.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Limits reconnects to a server that ends every stream immediately, even if it asks for a shorter delay.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// How often a stream is resumed without a new event.
const MOST_ATTEMPTS: u32 = 5;

fn bounded(pause: Duration) -> Duration {
    pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

/// The stream for messages that a server sends without a request.
#[derive(Debug, Default)]
pub(super) struct ServerStream {
    failures: u32,
    asked_for: Option<Duration>,
}

/// Why a stream is not reopened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    SessionLost,
    /// The server does not offer one.
    NotOffered,
}

impl ServerStream {
    pub(super) fn opened(&mut self) {
        *self = Self::default();
    }

    pub(super) fn failed(&mut self, loss: &Loss) -> Result<(), Stop> {
        match loss.class {
            ErrorClass::Session => Err(Stop::SessionLost),
            ErrorClass::Transient => {
                self.failures += 1;
                self.asked_for = loss.retry_after;
                Ok(())
            }
            // Most servers do not offer this stream, and say so with different statuses.
            _ => Err(Stop::NotOffered),
        }
    }

    /// Returns how long to wait now; `retry` is the reconnection time of the stream.
    pub(super) fn pause(&self, retry: Option<Duration>) -> Duration {
        let usual = PAUSE * 2_u32.saturating_pow(self.failures.min(6));
        bounded(self.asked_for.or(retry).unwrap_or(usual))
    }
}

/// The stream of one response, which was interrupted.
#[derive(Debug, Default)]
pub(super) struct Resumption {
    attempts: u32,
}

impl Resumption {
    /// Returns how long to wait before the next attempt; `retry` is the reconnection time of the stream.
    ///
    /// # Errors
    /// The number of attempts is exhausted.
    pub(super) fn pause(&self, retry: Option<Duration>) -> Result<Duration, Loss> {
        // The reconnection time of the server must be respected:
        // <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server>
        if self.attempts < MOST_ATTEMPTS {
            return Ok(bounded(retry.unwrap_or(PAUSE)));
        }
        let reason = format!(
            "the response was interrupted, and {MOST_ATTEMPTS} attempts to resume it brought no event"
        );
        Err(lost(FailureCause::CutOff, reason))
    }

    /// Records that the stream was opened and ended without the response.
    pub(super) fn ended(&mut self, has_moved: bool) {
        self.attempts = if has_moved { 0 } else { self.attempts + 1 };
    }

    /// Records that the stream could not be opened.
    ///
    /// # Errors
    /// A further attempt would fail too.
    pub(super) fn failed(&mut self, loss: Loss) -> Result<(), Loss> {
        match loss.class {
            ErrorClass::Transient => {
                self.attempts += 1;
                Ok(())
            }
            ErrorClass::Session => Err(loss),
            _ => {
                let reason = format!(
                    "the response was interrupted and could not be resumed: {}",
                    loss.reason
                );
                Err(lost(loss.cause, reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::Delivery;

    use super::*;

    fn loss(class: ErrorClass) -> Loss {
        Loss::new(Delivery::NotSent, class, FailureCause::CutOff, "why")
    }

    #[test]
    fn the_servers_stream_is_opened_again_ever_more_slowly() {
        let mut stream = ServerStream::default();
        assert_eq!(stream.pause(None), PAUSE);
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(stream.failed(&loss(ErrorClass::Transient)), Ok(()));
            assert_eq!(stream.pause(None), Duration::from_secs(seconds));
        }
        let mut busy = loss(ErrorClass::Transient);
        busy.retry_after = Some(Duration::from_secs(7));
        assert_eq!(stream.failed(&busy), Ok(()));
        assert_eq!(stream.pause(Some(Duration::from_secs(3))), Duration::from_secs(7));
        stream.opened();
        assert_eq!(stream.pause(Some(Duration::ZERO)), SHORTEST_PAUSE);
        assert_eq!(stream.failed(&loss(ErrorClass::Permanent)), Err(Stop::NotOffered));
        assert_eq!(stream.failed(&loss(ErrorClass::Session)), Err(Stop::SessionLost));
    }

    #[test]
    fn an_answer_is_resumed_as_long_as_something_new_comes() {
        let mut resumption = Resumption::default();
        for _ in 0..3 {
            for _ in 1..MOST_ATTEMPTS {
                assert!(resumption.failed(loss(ErrorClass::Transient)).is_ok());
            }
            assert_eq!(resumption.pause(None), Ok(PAUSE));
            resumption.ended(true);
        }
        for _ in 0..MOST_ATTEMPTS {
            assert!(resumption.pause(None).is_ok());
            resumption.ended(false);
        }
        assert!(resumption.pause(None).unwrap_err().reason.contains("5 attempts"));
        let session = resumption.failed(loss(ErrorClass::Session)).unwrap_err();
        assert_eq!(session.class, ErrorClass::Session);
        let other = resumption.failed(loss(ErrorClass::Permanent)).unwrap_err();
        assert_eq!((other.class, other.delivery), (ErrorClass::Transient, Delivery::Unknown));
        assert!(other.reason.ends_with("could not be resumed: why"));
    }
}
