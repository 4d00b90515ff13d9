//! What can go wrong between a client and its server.

use std::{fmt, sync::Arc, time::Duration};

use mcp_jsonrpc::{Delivery, ErrorObject, Failure, Loss, Refused, ShapeError, Timeout, Trouble};
use mcp_transport::{CloseReport, ConnectError, Diagnostics, ErrorClass};

/// Why no conversation came about.
#[derive(Debug)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The link could not be opened.
    Connect(ConnectError),
    /// The server went away during the handshake.
    Closed {
        /// What we were doing.
        phase: &'static str,
        /// How it went away.
        report: Arc<CloseReport>,
    },
    /// The server did not answer in time.
    TimedOut {
        /// What we were doing.
        phase: &'static str,
        /// How long it had.
        limit: Duration,
        /// What it did instead.
        diagnostics: Box<Diagnostics>,
    },
    /// The server, or something on the way to it, would not take the request: it is down, too busy, or
    /// wants somebody to log in first.
    Unavailable {
        /// What we were doing.
        phase: &'static str,
        /// What came of it.
        loss: Box<Loss>,
    },
    /// The server said no.
    Rejected {
        /// To what.
        phase: &'static str,
        /// Its words.
        error: ErrorObject,
    },
    /// We and the server speak no revision in common.
    NoCommonVersion {
        /// What the server speaks.
        offered: Vec<String>,
    },
    /// The modern era was asked for and the server is not modern.
    NotModern,
    /// What the server says of itself is not what the protocol says it is.
    Shape {
        /// What it answered.
        phase: &'static str,
        /// What is wrong with the answer, and where.
        error: ShapeError,
    },
}

impl HandshakeError {
    /// What this calls for.
    pub fn class(&self) -> ErrorClass {
        match self {
            HandshakeError::Connect(error) => error.class(),
            HandshakeError::Closed { report, .. } => report.reason.class(),
            HandshakeError::TimedOut { .. } => ErrorClass::Transient,
            HandshakeError::Unavailable { loss, .. } => loss.class,
            HandshakeError::Rejected { .. }
            | HandshakeError::NoCommonVersion { .. }
            | HandshakeError::NotModern
            | HandshakeError::Shape { .. } => ErrorClass::Permanent,
        }
    }

    /// What kind of trouble it was.
    pub fn trouble(&self) -> Trouble {
        match self {
            HandshakeError::Connect(error) => error.trouble(),
            HandshakeError::Closed { report, .. } => report.reason.trouble(),
            HandshakeError::TimedOut { .. } => Trouble::TimedOut,
            HandshakeError::Unavailable { loss, .. } => loss.trouble,
            HandshakeError::Shape { .. } => Trouble::NotMcp,
            HandshakeError::Rejected { .. }
            | HandshakeError::NoCommonVersion { .. }
            | HandshakeError::NotModern => Trouble::Other,
        }
    }

    /// When the server wants to be asked again, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            HandshakeError::Unavailable { loss, .. } => loss.retry_after,
            HandshakeError::Connect(error) => error.retry_after(),
            _ => None,
        }
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandshakeError::Connect(error) => error.fmt(f),
            HandshakeError::Closed { phase, report } => write!(f, "during `{phase}`: {report}"),
            HandshakeError::TimedOut { phase, limit, diagnostics } => {
                write!(f, "no answer to `{phase}` within {limit:?}")?;
                if let Some(line) = &diagnostics.first_skipped {
                    let lines = diagnostics.skipped_lines;
                    write!(f, "; it wrote {lines} lines that are no messages, the first: {line}")?;
                }
                match diagnostics.stderr.last() {
                    Some(line) => write!(f, "; its last words: {line}"),
                    None => Ok(()),
                }
            }
            HandshakeError::Unavailable { phase, loss } => {
                write!(f, "during `{phase}`: {}", loss.reason)
            }
            HandshakeError::Rejected { phase, error } => {
                write!(f, "the server refused `{phase}`: {error}")
            }
            HandshakeError::NoCommonVersion { offered } if offered.is_empty() => {
                f.write_str("the server names no protocol version that this client speaks")
            }
            HandshakeError::NoCommonVersion { offered } => {
                write!(
                    f,
                    "the server speaks only {}, which this client does not",
                    offered.join(", ")
                )
            }
            HandshakeError::NotModern => f.write_str(
                "the server does not speak 2026-07-28, and this connection is pinned to it",
            ),
            HandshakeError::Shape { phase, error } => {
                write!(f, "unreadable answer to `{phase}`: {error}")
            }
        }
    }
}

impl std::error::Error for HandshakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            HandshakeError::Connect(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ConnectError> for HandshakeError {
    fn from(error: ConnectError) -> Self {
        HandshakeError::Connect(error)
    }
}

/// Why a call has no result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error.
    Rejected(ErrorObject),
    /// Its time was up. The server has been told to stop.
    TimedOut {
        /// Which method.
        method: &'static str,
        /// Which limit.
        timeout: Timeout,
    },
    /// The connection is gone.
    Closed {
        /// What became of the request.
        delivery: Delivery,
        /// How the connection ended, where that is known already.
        report: Option<Arc<CloseReport>>,
    },
    /// The link lost this request, and lives on.
    Lost(Box<Loss>),
    /// The answer was larger than we accept.
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// What we accept.
        limit: usize,
    },
    /// The answer is not what the protocol says it is.
    Shape {
        /// Which method.
        method: &'static str,
        /// What is wrong with it, and where.
        error: ShapeError,
    },
    /// What was to be sent cannot be written as JSON.
    Unsendable(ShapeError),
    /// The server, or its revision of the protocol, has nothing of the kind.
    Unsupported(&'static str),
    /// The server asked for something the host never said it could do.
    Undeclared(Box<str>),
    /// The host refused what the server needs to go on.
    Declined(Box<str>),
    /// The server kept asking.
    TooManyRounds {
        /// How often it was answered.
        rounds: u32,
    },
    /// So many calls are waiting already.
    TooManyCalls {
        /// How many may.
        limit: usize,
    },
    /// It was cancelled by the server.
    Cancelled,
}

impl CallError {
    pub(crate) fn new(
        method: &'static str,
        failure: Failure,
        report: Option<Arc<CloseReport>>,
    ) -> Self {
        match failure {
            Failure::Rejected(error) => CallError::Rejected(error),
            Failure::TimedOut(timeout) => CallError::TimedOut { method, timeout },
            Failure::Closed(delivery) => CallError::Closed { delivery, report },
            Failure::Lost(loss) => CallError::Lost(loss),
            Failure::TooLarge { size, limit } => CallError::TooLarge { size, limit },
            Failure::Malformed(error) => CallError::Shape { method, error },
            Failure::Refused(refused) => refused.into(),
            _ => CallError::Cancelled,
        }
    }

    /// What this calls for.
    pub fn class(&self) -> ErrorClass {
        match self {
            CallError::Lost(loss) => loss.class,
            CallError::Closed { report: Some(report), .. } => report.reason.class(),
            CallError::TimedOut { .. }
            | CallError::Closed { .. }
            | CallError::TooManyCalls { .. }
            | CallError::Cancelled => ErrorClass::Transient,
            _ => ErrorClass::Permanent,
        }
    }

    /// What kind of trouble it was.
    pub fn trouble(&self) -> Trouble {
        match self {
            CallError::Lost(loss) => loss.trouble,
            CallError::Closed { report: Some(report), .. } => report.reason.trouble(),
            CallError::Closed { report: None, .. } => Trouble::Closed,
            CallError::TimedOut { .. } => Trouble::TimedOut,
            CallError::TooLarge { .. } => Trouble::TooLarge,
            CallError::Shape { .. } => Trouble::NotMcp,
            CallError::Unsendable(_) | CallError::TooManyCalls { .. } => Trouble::Local,
            _ => Trouble::Other,
        }
    }

    /// When the server wants to be asked again, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            CallError::Lost(loss) => loss.retry_after,
            _ => None,
        }
    }

    /// What is known of the call's effect: whether trying again is safe.
    pub fn delivery(&self) -> Delivery {
        match self {
            CallError::Closed { delivery, .. } => *delivery,
            CallError::Lost(loss) => loss.delivery,
            CallError::TimedOut { .. } | CallError::Cancelled => Delivery::Unknown,
            CallError::Unsendable(_)
            | CallError::Unsupported(_)
            | CallError::TooManyCalls { .. } => Delivery::NotSent,
            _ => Delivery::Executed,
        }
    }
}

impl From<Refused> for CallError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::TooManyCalls { limit } => CallError::TooManyCalls { limit },
            _ => CallError::Closed { delivery: Delivery::NotSent, report: None },
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Rejected(error) => write!(f, "the server refused: {error}"),
            CallError::TimedOut { method, timeout } => write!(f, "`{method}` timed out: {timeout}"),
            CallError::Closed { delivery, report } => {
                match delivery {
                    Delivery::NotSent => f.write_str("unavailable: the request was not sent")?,
                    _ => f.write_str("unavailable: the connection closed before the answer")?,
                }
                match report {
                    Some(report) => write!(f, "; {report}"),
                    None => Ok(()),
                }
            }
            CallError::Lost(loss) => f.write_str(&loss.reason),
            CallError::TooLarge { size, limit } => {
                write!(f, "message too large: {size} bytes, and at most {limit} are accepted")
            }
            CallError::Shape { method, error } => {
                write!(f, "unreadable answer to `{method}`: {error}")
            }
            CallError::Unsendable(error) => {
                write!(f, "the arguments cannot be written as JSON: {error}")
            }
            CallError::Unsupported(what) => write!(f, "the server does not support {what}"),
            CallError::Undeclared(what) => {
                write!(f, "the server asked for `{what}`, which this host never offered")
            }
            CallError::Declined(what) => write!(f, "the host declined: {what}"),
            CallError::TooManyRounds { rounds } => {
                write!(f, "the server asked for more input {rounds} times in a row")
            }
            CallError::TooManyCalls { limit } => {
                write!(f, "{limit} calls are already waiting for their answers")
            }
            CallError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CallError::Rejected(error) => Some(error),
            _ => None,
        }
    }
}
