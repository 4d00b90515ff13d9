//! Why a request failed over HTTP, and whether it may have reached the server.

use http::{HeaderMap, StatusCode};
use mcp_jsonrpc::{Delivery, ErrorClass, FailureCause, Loss};
use url::Url;

use crate::{
    cause::{self, causes},
    net::{origin::shown, response::HttpError},
    retry_after::retry_after,
};

/// The request was sent and got no response.
pub(super) fn lost(cause: FailureCause, reason: impl Into<Box<str>>) -> Loss {
    Loss::new(Delivery::Unknown, ErrorClass::Transient, cause, reason)
}

/// The server refused the request because it has ended the session.
pub(super) fn session_lost() -> Loss {
    let reason = "the session no longer exists on the server";
    Loss::new(Delivery::NotSent, ErrorClass::Session, FailureCause::Session, reason)
}

/// The request was not sent, and a retry would fail.
pub(super) fn permanent(cause: FailureCause, reason: impl Into<Box<str>>) -> Loss {
    Loss::new(Delivery::NotSent, ErrorClass::Permanent, cause, reason)
}

/// The request was not sent, and may be retried.
pub(super) fn transient(cause: FailureCause, reason: impl Into<Box<str>>) -> Loss {
    Loss::new(Delivery::NotSent, ErrorClass::Transient, cause, reason)
}

/// The response is not MCP.
pub(super) fn not_mcp(delivery: Delivery, reason: impl Into<Box<str>>) -> Loss {
    Loss::new(delivery, ErrorClass::Permanent, FailureCause::NotMcp, reason)
}

/// The request or its response was lost to a network error.
pub(super) fn broken(url: &Url, error: &HttpError) -> Loss {
    let delivery = if error.is_connect() { Delivery::NotSent } else { Delivery::Unknown };
    let what = if error.is_connect() { "could not connect to" } else { "lost the connection to" };
    let class = if distrusts(error) { ErrorClass::Permanent } else { ErrorClass::Transient };
    let cause = cause::of(error);
    if error.is_hang_up() {
        let reason = format!(
            "{what} {}: the server closed the connection before the response was complete",
            shown(url)
        );
        return Loss::new(delivery, class, cause, reason);
    }
    // The innermost source is the most specific. None of the causes contains the URL, which may have a secret in its
    // query.
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    Loss::new(delivery, class, cause, format!("{what} {}: {innermost}", shown(url)))
}

/// Whether the server's certificate was rejected, which a retry does not fix.
fn distrusts(error: &HttpError) -> bool {
    causes(error)
        .any(|source| matches!(source.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))))
}

/// The server refused the request with this status.
pub(super) fn by_status(url: &Url, status: StatusCode, headers: &HeaderMap) -> Loss {
    let (delivery, class) = match status.as_u16() {
        // The server refused to process the request: <https://www.rfc-editor.org/rfc/rfc9110#section-15.5.9>,
        // <https://www.rfc-editor.org/rfc/rfc8470#section-5.2>, <https://www.rfc-editor.org/rfc/rfc6585#section-4>
        408 | 425 | 429 => (Delivery::NotSent, ErrorClass::Transient),
        // A gateway may have lost the response after the server executed the request.
        500..=599 => (Delivery::Unknown, ErrorClass::Transient),
        300..=499 => (Delivery::NotSent, ErrorClass::Permanent),
        _ => (Delivery::Unknown, ErrorClass::Permanent),
    };
    let reason = status.canonical_reason().unwrap_or("unknown status");
    let mut loss = Loss::new(
        delivery,
        class,
        FailureCause::Status(status.as_u16()),
        format!("{} answered with status {} {reason}", shown(url), status.as_u16()),
    );
    if matches!(status.as_u16(), 429 | 503) {
        loss.retry_after = retry_after(headers);
    }
    loss
}
