//! Errors of handshakes and calls.

use std::{fmt, sync::Arc, time::Duration};

use mcp_jsonrpc::{Delivery, ErrorObject, Failure, FailureCause, Loss, ShapeError};
use mcp_transport::{
    ConnectError, ErrorClass,
    diagnostics::{CloseReport, Diagnostics},
};

/// Why a session could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The link could not be opened.
    Connect(ConnectError),
    /// The server closed the link during the handshake.
    Closed {
        /// The method of the handshake's current request.
        phase: &'static str,
        /// How the link ended.
        report: Arc<CloseReport>,
    },
    /// The server did not respond in time.
    TimedOut {
        /// The method of the handshake's current request.
        phase: &'static str,
        /// The time limit.
        limit: Duration,
        /// The diagnostics of the link.
        diagnostics: Box<Diagnostics>,
    },
    /// The server or an intermediary did not accept the request: it is down, overloaded, or requires a login.
    Unavailable {
        /// The method of the handshake's current request.
        phase: &'static str,
        /// How the request was lost.
        loss: Box<Loss>,
    },
    /// The server responded with an error.
    Rejected {
        /// The method of the rejected request.
        phase: &'static str,
        /// The server's error.
        error: ErrorObject,
    },
    /// The server supports no revision that this client supports.
    NoCommonVersion {
        /// The revisions the server supports.
        offered: Vec<String>,
    },
    /// The modern era was required, but the server is not modern.
    NotModern,
    /// A response of the server does not conform to the protocol.
    Shape {
        /// The method of the request.
        phase: &'static str,
        /// The violation and its path.
        error: ShapeError,
    },
}

impl HandshakeError {
    /// The class of the error, which says how to react to it.
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

    /// The kind of failure.
    pub fn cause(&self) -> FailureCause {
        match self {
            HandshakeError::Connect(error) => error.cause(),
            HandshakeError::Closed { report, .. } => report.reason.cause(),
            HandshakeError::TimedOut { .. } => FailureCause::TimedOut,
            HandshakeError::Unavailable { loss, .. } => loss.cause,
            HandshakeError::Shape { .. } => FailureCause::NotMcp,
            HandshakeError::Rejected { .. }
            | HandshakeError::NoCommonVersion { .. }
            | HandshakeError::NotModern => FailureCause::Other,
        }
    }

    /// The delay before a retry that the server asked for, if any.
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
                write!(f, "no response to `{phase}` within {limit:?}")?;
                if let Some(line) = &diagnostics.first_skipped {
                    let lines = diagnostics.skipped_lines;
                    write!(
                        f,
                        "; it wrote {lines} lines that are not JSON-RPC messages, the first: {line}"
                    )?;
                }
                match diagnostics.stderr.last() {
                    Some(line) => write!(f, "; last stderr line: {line}"),
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
                f.write_str("the server lists no protocol version that this client supports")
            }
            HandshakeError::NoCommonVersion { offered } => {
                write!(
                    f,
                    "the server supports only {}, which this client does not",
                    offered.join(", ")
                )
            }
            HandshakeError::NotModern => f.write_str(
                "the server does not support 2026-07-28, which this connection requires",
            ),
            HandshakeError::Shape { phase, error } => {
                write!(f, "invalid response to `{phase}`: {error}")
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

/// Why a call failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The request failed, or the server rejected it.
    Failed {
        /// The method, if known.
        method: Option<&'static str>,
        /// The failure.
        failure: Failure,
        /// How the link ended, if it has and the report is available.
        report: Option<Arc<CloseReport>>,
    },
    /// The params cannot be encoded as JSON.
    Unsendable(ShapeError),
    /// The server or its revision does not support this.
    Unsupported(&'static str),
    /// The server requested something that the host has not declared.
    Undeclared(Box<str>),
    /// The host refused an input request of the server.
    Declined(Box<str>),
    /// The server requested input too many times.
    TooManyRounds {
        /// The number of rounds answered.
        rounds: u32,
    },
}

impl CallError {
    pub(crate) fn new(method: &'static str, failure: Failure) -> Self {
        CallError::Failed { method: Some(method), failure, report: None }
    }

    /// The response to `method` does not conform to the protocol.
    pub(crate) fn shape(method: &'static str, error: ShapeError) -> Self {
        Self::new(method, Failure::Malformed(error))
    }

    /// A failure, together with the report of the link if it has ended.
    pub(crate) fn reported(
        method: &'static str,
        failure: Failure,
        ended: Option<Arc<CloseReport>>,
    ) -> Self {
        let report = ended.filter(|_| matches!(failure, Failure::Closed(_)));
        CallError::Failed { method: Some(method), failure, report }
    }

    /// The class of the error, which says how to react to it.
    pub fn class(&self) -> ErrorClass {
        match self {
            CallError::Failed { report: Some(report), .. } => report.reason.class(),
            CallError::Failed { failure, .. } => failure.class(),
            _ => ErrorClass::Permanent,
        }
    }

    /// The kind of failure.
    pub fn cause(&self) -> FailureCause {
        match self {
            CallError::Failed { report: Some(report), .. } => report.reason.cause(),
            CallError::Failed { failure, .. } => failure.cause(),
            CallError::Unsendable(_) => FailureCause::Local,
            _ => FailureCause::Other,
        }
    }

    /// The delay before a retry that the server asked for, if any.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            CallError::Failed { failure, .. } => failure.retry_after(),
            _ => None,
        }
    }

    /// Whether the call may have had an effect, and so whether a retry is safe.
    pub fn delivery(&self) -> Delivery {
        match self {
            CallError::Failed { failure, .. } => failure.delivery(),
            CallError::Unsendable(_) | CallError::Unsupported(_) => Delivery::NotSent,
            _ => Delivery::Executed,
        }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        CallError::Failed { method: None, failure, report: None }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Failed { method, failure, report } => match (failure, method) {
                (Failure::TimedOut(timeout), Some(method)) => {
                    write!(f, "`{method}` timed out: {timeout}")
                }
                (Failure::Malformed(error), Some(method)) => {
                    write!(f, "invalid response to `{method}`: {error}")
                }
                (Failure::Closed(delivery), _) => {
                    f.write_str(match delivery {
                        Delivery::NotSent => "unavailable: the request was not sent",
                        _ => "unavailable: the connection closed before the response",
                    })?;
                    match report {
                        Some(report) => write!(f, "; {report}"),
                        None => Ok(()),
                    }
                }
                (failure, _) => failure.fmt(f),
            },
            CallError::Unsendable(error) => {
                write!(f, "the arguments cannot be serialized as JSON: {error}")
            }
            CallError::Unsupported(what) => write!(f, "the server does not support {what}"),
            CallError::Undeclared(what) => {
                write!(
                    f,
                    "the server requested `{what}`, a capability that this host did not declare"
                )
            }
            CallError::Declined(what) => write!(f, "the host declined: {what}"),
            CallError::TooManyRounds { rounds } => {
                write!(f, "the server requested input {rounds} times in a row")
            }
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CallError::Failed { failure: Failure::Rejected(error), .. } => Some(error),
            _ => None,
        }
    }
}

/// Creates an error with this description of an invalid message.
pub(crate) fn problem(text: impl fmt::Display) -> ShapeError {
    serde::de::Error::custom(text)
}
