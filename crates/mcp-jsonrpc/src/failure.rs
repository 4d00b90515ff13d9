//! How calls fail, and whether a retry is safe and useful.

mod cause;

use std::{fmt, time::Duration};

pub use self::cause::FailureCause;
use crate::{json::ShapeError, message::ErrorObject};

/// The known effect of a failed call. It decides whether a retry is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is nothing between these three")]
pub enum Delivery {
    /// The request was not sent: a retry is safe.
    NotSent,
    /// The request was sent and no response arrived: the call may have been executed.
    Unknown,
    /// The peer responded.
    Executed,
}

/// How to react to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers decide by it, so it must be complete")]
pub enum ErrorClass {
    /// The failure is temporary: retry later.
    Transient,
    /// Credentials are missing or not accepted: the user has to log in.
    Auth,
    /// The session no longer exists on the server: discard everything that was learnt in it, and initialize again.
    Session,
    /// A retry fails until the configuration or the server changes.
    Permanent,
}

/// How one request was lost, on a link that stays open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The known effect of the request.
    pub delivery: Delivery,
    /// How to react.
    pub class: ErrorClass,
    /// The cause of the failure.
    pub cause: FailureCause,
    /// A description for people.
    pub reason: Box<str>,
    /// The delay before a retry that the server asked for.
    pub retry_after: Option<Duration>,
}

impl Loss {
    /// A loss without a delay for the retry.
    pub fn new(
        delivery: Delivery,
        class: ErrorClass,
        cause: FailureCause,
        reason: impl Into<Box<str>>,
    ) -> Self {
        Self { delivery, class, cause, reason: reason.into(), retry_after: None }
    }
}

impl From<Loss> for Failure {
    fn from(loss: Loss) -> Self {
        Failure::Lost(Box::new(loss))
    }
}

/// The reason a call ended without a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The peer responded with an error.
    Rejected(ErrorObject),
    /// A time limit of the call expired.
    TimedOut(Timeout),
    /// The link closed before the response arrived.
    Closed(Delivery),
    /// The link lost this request and stays open.
    Lost(Box<Loss>),
    /// The response exceeds the size limit.
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The response has an unexpected shape.
    Malformed(ShapeError),
    /// The call was cancelled.
    Cancelled,
    /// The call could not be started.
    Refused(Refused),
}

impl Failure {
    /// The known effect of the call.
    pub fn delivery(&self) -> Delivery {
        self.facts().0
    }

    /// How to react.
    pub fn class(&self) -> ErrorClass {
        self.facts().1
    }

    /// The cause of the failure.
    pub fn cause(&self) -> FailureCause {
        self.facts().2
    }

    fn facts(&self) -> (Delivery, ErrorClass, FailureCause) {
        use Delivery::{Executed, NotSent, Unknown};
        use ErrorClass::{Permanent, Transient};
        match self {
            Failure::Rejected(_) => (Executed, Permanent, FailureCause::Other),
            Failure::TimedOut(_) => (Unknown, Transient, FailureCause::TimedOut),
            Failure::Closed(delivery) => (*delivery, Transient, FailureCause::Closed),
            Failure::Lost(loss) => (loss.delivery, loss.class, loss.cause),
            Failure::TooLarge { .. } => (Executed, Permanent, FailureCause::TooLarge),
            Failure::Malformed(_) => (Executed, Permanent, FailureCause::NotMcp),
            Failure::Cancelled => (Unknown, Transient, FailureCause::Other),
            Failure::Refused(Refused::Closed) => (NotSent, Transient, FailureCause::Closed),
            Failure::Refused(Refused::TooManyCalls { .. }) => {
                (NotSent, Transient, FailureCause::Local)
            }
        }
    }

    /// The delay before a retry, if the server asked for one.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::Lost(loss) => loss.retry_after,
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Rejected(error) => write!(f, "the server refused: {error}"),
            Failure::TimedOut(timeout) => timeout.fmt(f),
            Failure::Closed(Delivery::NotSent) => {
                f.write_str("the connection closed before the request was sent")
            }
            Failure::Closed(_) => f.write_str("the connection closed before the response arrived"),
            Failure::Lost(loss) => f.write_str(&loss.reason),
            Failure::TooLarge { size, limit } => {
                write!(f, "message too large: {size} bytes, and at most {limit} are accepted")
            }
            Failure::Malformed(error) => write!(f, "invalid response: {error}"),
            Failure::Cancelled => f.write_str("cancelled"),
            Failure::Refused(refused) => refused.fmt(f),
        }
    }
}

/// Has no `source`: the message includes the peer's error already.
impl std::error::Error for Failure {}

/// The time limit that expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeout {
    /// Whether the limit for the whole call expired, and not the one for silence.
    pub in_total: bool,
    /// The limit for silence.
    pub idle: Option<Duration>,
    /// The limit for the whole call.
    pub total: Option<Duration>,
}

impl Timeout {
    /// A limit that has expired.
    pub fn new(in_total: bool, idle: Option<Duration>, total: Option<Duration>) -> Self {
        Self { in_total, idle, total }
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = |limit: Option<Duration>| match limit {
            Some(limit) => format!("{limit:?}"),
            None => "unlimited".into(),
        };
        let (idle, total) = (limit(self.idle), limit(self.total));
        if self.in_total {
            write!(f, "no response within {total} in total (limit without progress: {idle})")
        } else {
            write!(f, "no response or progress for {idle} (total limit: {total})")
        }
    }
}

/// Why a call could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The link is closed.
    Closed,
    /// The maximum number of calls is waiting for responses.
    TooManyCalls {
        /// The maximum.
        limit: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Closed => f.write_str("the connection is closed"),
            Refused::TooManyCalls { limit } => {
                write!(f, "{limit} calls are already waiting for responses")
            }
        }
    }
}

impl std::error::Error for Refused {}
