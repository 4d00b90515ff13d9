//! Names of failures, as used in JSON and in traces.

use mcp_client::{Delivery, diagnostics::ErrorClass};
use mcp_tool::FailureKind;

/// The name of an error class.
pub(crate) fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Transient => "transient",
        ErrorClass::Auth => "auth",
        ErrorClass::Session => "session",
        ErrorClass::Permanent => "permanent",
    }
}

/// The name of a failure kind.
pub(crate) fn failure_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unavailable => "unavailable",
        FailureKind::Auth => "auth",
        FailureKind::TimedOut => "timed-out",
        FailureKind::InvalidArguments => "invalid-arguments",
        FailureKind::Rejected => "rejected",
        FailureKind::InvalidResult => "invalid-result",
        FailureKind::Denied => "denied",
        FailureKind::Queued => "queued",
        FailureKind::DefinitionChanged => "definition-changed",
        FailureKind::NotFound => "not-found",
        FailureKind::Cancelled => "cancelled",
        FailureKind::TooLarge => "too-large",
        _ => "internal",
    }
}

/// The name of a delivery status.
pub(crate) fn delivery_name(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::NotSent => "not-sent",
        Delivery::Unknown => "unknown",
        Delivery::Executed => "executed",
    }
}
