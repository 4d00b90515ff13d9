//! How a call can end other than well, and what that says about the other side.

mod cause;

use std::{fmt, time::Duration};

pub use self::cause::FailureCause;
use crate::{json::ShapeError, message::ErrorObject};

/// The known effect of a failed call. It decides whether a retry is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is nothing between these three")]
pub enum Delivery {
    /// The request never left: trying again is safe.
    NotSent,
    /// The request left and no answer came: it may have been carried out.
    Unknown,
    /// The other side answered.
    Executed,
}

/// What a failure calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers decide by it, so it must be complete")]
pub enum ErrorClass {
    /// It may pass: try again after a while.
    Transient,
    /// The user has to log in, or their credentials do not do.
    Auth,
    /// The server forgot us: forget everything learnt from it, and start over.
    Session,
    /// It will fail again until someone changes something.
    Permanent,
}

/// How one request got lost on a link that lives on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// What became of the request.
    pub delivery: Delivery,
    /// What this calls for.
    pub class: ErrorClass,
    /// The cause of the failure.
    pub cause: FailureCause,
    /// What happened, for people.
    pub reason: Box<str>,
    /// When the other side wants to be asked again.
    pub retry_after: Option<Duration>,
}

impl Loss {
    /// A loss that names no time to try again.
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
    /// The other side answered with an error.
    Rejected(ErrorObject),
    /// Its time was up.
    TimedOut(Timeout),
    /// The link closed first.
    Closed(Delivery),
    /// The link lost this one request, and lives on.
    Lost(Box<Loss>),
    /// The answer was larger than we accept.
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// What we accept.
        limit: usize,
    },
    /// The response has an unexpected shape.
    Malformed(ShapeError),
    /// It was cancelled.
    Cancelled,
    /// It could not even be started.
    Refused(Refused),
}

impl Failure {
    /// The known effect of the call.
    pub fn delivery(&self) -> Delivery {
        self.facts().0
    }

    /// What this calls for.
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

    /// When the server wants to be asked again, where it says so.
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
            Failure::Closed(_) => f.write_str("the connection closed before the answer came"),
            Failure::Lost(loss) => f.write_str(&loss.reason),
            Failure::TooLarge { size, limit } => {
                write!(f, "message too large: {size} bytes, and at most {limit} are accepted")
            }
            Failure::Malformed(error) => write!(f, "unreadable answer: {error}"),
            Failure::Cancelled => f.write_str("cancelled"),
            Failure::Refused(refused) => refused.fmt(f),
        }
    }
}

/// Without a source: what the other side said is part of the text already.
impl std::error::Error for Failure {}

/// Which limit a call ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeout {
    /// Whether it was the limit for the whole call rather than the one for silence.
    pub in_total: bool,
    /// The limit for silence.
    pub idle: Option<Duration>,
    /// The limit for the whole call.
    pub total: Option<Duration>,
}

impl Timeout {
    /// A limit that was run into.
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
            write!(f, "no answer within {total} in all (limit without progress: {idle})")
        } else {
            write!(f, "no answer or progress for {idle} (limit in all: {total})")
        }
    }
}

/// Why a call could not even be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The link is gone.
    Closed,
    /// So many calls are waiting already.
    TooManyCalls {
        /// How many may.
        limit: usize,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Closed => f.write_str("the connection is closed"),
            Refused::TooManyCalls { limit } => {
                write!(f, "{limit} calls are already waiting for their answers")
            }
        }
    }
}

impl std::error::Error for Refused {}
