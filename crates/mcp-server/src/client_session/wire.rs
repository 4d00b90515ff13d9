//! The protocol details of one request that decide how its response is written.

use std::sync::Arc;

use mcp_jsonrpc::Request;
use mcp_types::{ClientCapabilities, LogLevel, ProtocolVersion};

use super::state::Running;
use crate::{
    call::{inbox::ReportSender, waiting::Subject},
    request::Meta,
};

/// How to write the response to a request.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    /// The least severe level of log messages that a modern client wants.
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) meta: Meta,
}

impl Wire {
    pub(super) fn running(
        &self,
        request: &Request,
        line: Arc<ReportSender>,
        subject: Subject,
    ) -> Running {
        Running {
            id: request.id.clone(),
            version: self.version,
            progress_token: self.meta.progress_token.clone(),
            last_progress: None,
            log_level: self.log_level,
            line,
            task: None,
            open: Vec::new(),
            subject,
        }
    }
}
