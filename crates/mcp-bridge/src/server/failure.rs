//! Records of failures, for explanations.

use std::sync::Arc;

use mcp_client::{
    CallError, HandshakeError,
    diagnostics::{CloseReport, Diagnostics, ErrorClass, FailureCause},
};
use mcp_transport::ConnectError;
use mcp_types::method;

use crate::sanitize::clean;

/// The phase of a failure after the start.
pub(crate) const CONNECTED: &str = "connected";

/// One failure of a server.
#[derive(Clone, Debug)]
pub(crate) struct FailureRecord {
    /// The operation that failed.
    pub(crate) phase: &'static str,
    pub(crate) class: ErrorClass,
    pub(crate) cause: FailureCause,
    /// The failure in one line, sanitized.
    pub(crate) text: Arc<str>,
    pub(crate) retry_after: Option<std::time::Duration>,
    pub(crate) diagnostics: Option<Diagnostics>,
    /// The directories that were searched for the program.
    pub(crate) searched: Vec<String>,
}

impl FailureRecord {
    pub(crate) fn new(phase: &'static str, class: ErrorClass, text: &str) -> Self {
        Self {
            phase,
            class,
            cause: FailureCause::Other,
            text: clean(text, 1_000).text.into(),
            retry_after: None,
            diagnostics: None,
            searched: Vec::new(),
        }
    }

    pub(crate) fn connect(error: &ConnectError) -> Self {
        let searched = match error {
            ConnectError::ProgramNotFound { searched, .. } => {
                searched.iter().map(|path| path.display().to_string()).collect()
            }
            _ => Vec::new(),
        };
        let mut text = error.to_string();
        if let Some(source) = std::error::Error::source(error) {
            text = format!("{text}: {source}");
        }
        let (cause, retry_after) = (error.cause(), error.retry_after());
        Self { cause, retry_after, searched, ..Self::new("connect", error.class(), &text) }
    }

    pub(crate) fn handshake(error: &HandshakeError) -> Self {
        let (phase, diagnostics) = match error {
            HandshakeError::Connect(error) => return Self::connect(error),
            HandshakeError::Closed { phase, report } => (*phase, Some(report.diagnostics.clone())),
            HandshakeError::TimedOut { phase, diagnostics, .. } => {
                (*phase, Some((**diagnostics).clone()))
            }
            HandshakeError::Rejected { phase, .. }
            | HandshakeError::Unavailable { phase, .. }
            | HandshakeError::Shape { phase, .. } => (*phase, None),
            _ => ("negotiation", None),
        };
        let (cause, retry_after) = (error.cause(), error.retry_after());
        let failure = Self::new(phase, error.class(), &error.to_string());
        Self { cause, retry_after, diagnostics, ..failure }
    }

    pub(crate) fn list(error: &CallError, diagnostics: Diagnostics) -> Self {
        // A failed listing is retried even if the error looks permanent, because the server may be able to list
        // later.
        let class = match error.class() {
            ErrorClass::Auth => ErrorClass::Auth,
            _ => ErrorClass::Transient,
        };
        let (cause, retry_after) = (error.cause(), error.retry_after());
        let diagnostics = Some(diagnostics);
        let failure = Self::new(method::TOOLS_LIST, class, &error.to_string());
        Self { cause, retry_after, diagnostics, ..failure }
    }

    pub(crate) fn closed(report: &CloseReport) -> Self {
        let class = match report.reason.class() {
            ErrorClass::Permanent => ErrorClass::Transient,
            class => class,
        };
        let diagnostics = Some(report.diagnostics.clone());
        let cause = report.reason.cause();
        Self { cause, diagnostics, ..Self::new(CONNECTED, class, &report.to_string()) }
    }
}
