//! A host's handler for the requests and notifications of servers.

mod event_json;

use std::{fmt, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::{Notification, Progress};

use crate::{
    capabilities::ClientCapabilities,
    elicit::{ElicitRequest, ElicitResult},
    sampling::{CreateMessageRequest, CreateMessageResult, Root},
    server::LogMessage,
    task::Task,
};

/// Called with each progress notification of a call.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Handles the requests and notifications of a server. [`Decline`] is the handler of hosts without capabilities.
///
/// Requests that need an undeclared [capability](Self::capabilities) are rejected before they reach
/// the handler.
///
/// ```
/// use mcp_types::{BoxFuture, ClientCapabilities, ElicitRequest, ElicitResult, Handler};
///
/// struct AskTheUser;
/// impl Handler for AskTheUser {
///     fn capabilities(&self) -> ClientCapabilities {
///         let mut offered = ClientCapabilities::default();
///         offered.elicitation_form = true;
///         offered
///     }
///     fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
///         // Show `request.message` and the form, let the user edit, decline or cancel.
///         Box::pin(async move { ElicitResult::accept(request.defaults()) })
///     }
/// }
/// ```
pub trait Handler: Send + Sync {
    /// The capabilities that this host declares. Default: none.
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    /// Elicits input from the user. Default: declines.
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let _ = request;
        Box::pin(async { ElicitResult::decline() })
    }

    /// Like [`elicit`](Self::elicit), with the name of the requesting server, for hosts with several servers.
    /// Default: ignores the name.
    fn elicit_for(&self, server: &str, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let _ = server;
        self.elicit(request)
    }

    /// Runs the host's model. Default: rejects.
    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        let _ = request;
        Box::pin(async { Err(Refusal::new("this host does not support sampling")) })
    }

    /// Like [`sample`](Self::sample), with the name of the requesting server, for hosts with several servers.
    /// Default: ignores the name.
    fn sample_for(
        &self,
        server: &str,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        let _ = server;
        self.sample(request)
    }

    /// Lists the roots. Default: rejects.
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Refusal>> {
        Box::pin(async { Err(Refusal::new("this host does not list roots")) })
    }

    /// Receives an event. Events are delivered in order, one at a time, on a task of the runtime. The handler should
    /// return quickly and leave longer work to another task: when its queue is full, the client drops events and
    /// reports [`ServerEvent::Missed`].
    fn event(&self, event: ServerEvent) {
        let _ = event;
    }
}

/// Declares no capabilities, declines every request, and ignores events.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct without state")]
pub struct Decline;

impl Handler for Decline {}

/// Why a host rejects a server's request. The server sees the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// A notification of a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// The list of tools changed.
    ToolsChanged,
    /// The list of prompts changed.
    PromptsChanged,
    /// The list of resources changed.
    ResourcesChanged,
    /// A subscribed resource changed.
    ResourceUpdated {
        /// The URI of the resource, or of a part of the subscribed one.
        uri: String,
    },
    /// A log message.
    Log(LogMessage),
    /// Progress of one of our requests.
    Progress {
        /// The request: its method, and for a tool call the name of the tool.
        call: String,
        /// The progress.
        progress: Progress,
    },
    /// The status of a subscribed task changed.
    TaskUpdated(Box<Task>),
    /// The user has finished at the URL of an elicitation (2025-11-25).
    ElicitationComplete {
        /// The id of the elicitation.
        elicitation_id: String,
    },
    /// This many events were dropped because the handler was too slow.
    Missed(u64),
    /// Any other notification.
    Other(Notification),
}
