//! What is kept of a failure, for whoever asks why.

use std::sync::Arc;

use mcp_client::{CallError, CloseReport, Diagnostics, ErrorClass, HandshakeError, Trouble};
use mcp_transport::ConnectError;

use crate::hygiene::clean;

/// One failure: enough to explain it later.
#[derive(Clone, Debug)]
pub(crate) struct FailureRecord {
    /// What we were doing.
    pub(crate) phase: &'static str,
    pub(crate) class: ErrorClass,
    pub(crate) trouble: Trouble,
    /// One line, cleaned.
    pub(crate) text: Arc<str>,
    pub(crate) retry_after: Option<std::time::Duration>,
    pub(crate) diagnostics: Option<Diagnostics>,
    /// Where programs were looked for.
    pub(crate) searched: Vec<String>,
}

impl FailureRecord {
    pub(crate) fn new(phase: &'static str, class: ErrorClass, text: &str) -> Self {
        Self {
            phase,
            class,
            trouble: Trouble::Other,
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
        let (trouble, retry_after) = (error.trouble(), error.retry_after());
        Self { trouble, retry_after, searched, ..Self::new("connect", error.class(), &text) }
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
        let (trouble, retry_after) = (error.trouble(), error.retry_after());
        let failure = Self::new(phase, error.class(), &error.to_string());
        Self { trouble, retry_after, diagnostics, ..failure }
    }

    pub(crate) fn list(error: &CallError, diagnostics: Diagnostics) -> Self {
        // A server that lists nothing now may do so in a minute, whatever it said.
        let class = match error.class() {
            ErrorClass::Auth => ErrorClass::Auth,
            _ => ErrorClass::Transient,
        };
        let (trouble, retry_after) = (error.trouble(), error.retry_after());
        let diagnostics = Some(diagnostics);
        let failure = Self::new("tools/list", class, &error.to_string());
        Self { trouble, retry_after, diagnostics, ..failure }
    }

    pub(crate) fn closed(report: &CloseReport) -> Self {
        let class = match report.reason.class() {
            ErrorClass::Permanent => ErrorClass::Transient,
            class => class,
        };
        let diagnostics = Some(report.diagnostics.clone());
        let trouble = report.reason.trouble();
        Self { trouble, diagnostics, ..Self::new("connected", class, &report.to_string()) }
    }
}
