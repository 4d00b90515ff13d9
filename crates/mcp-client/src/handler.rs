//! What a server may ask of its host, and tell it.

use std::fmt;

use futures_core::future::BoxFuture;
use mcp_jsonrpc::{Notification, Progress};

use crate::{
    capabilities::ClientCapabilities,
    types::{
        CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult, LogMessage, Root,
        Task,
    },
};

/// Answers what a server asks, and hears what it tells. [`Decline`] is the handler of hosts that
/// offer nothing.
///
/// Only what [`capabilities`](Self::capabilities) declares is ever asked: everything else is refused
/// before it gets here.
///
/// ```
/// use mcp_client::{BoxFuture, ClientCapabilities, ElicitRequest, ElicitResult, Handler};
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
    /// What this host offers to servers. Default: nothing.
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    /// Asks the user. Default: declines.
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let _ = request;
        Box::pin(async { ElicitResult::decline() })
    }

    /// Runs the host's model. Default: refuses.
    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        let _ = request;
        Box::pin(async { Err(Refusal::new("this host does not sample")) })
    }

    /// Names the directories the server may work in. Default: refuses.
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Refusal>> {
        Box::pin(async { Err(Refusal::new("this host has no roots")) })
    }

    /// Hears of something. Called in order, one at a time, on a task of the runtime: whoever has more
    /// to do than to take a note should hand it to another task. A handler that is too slow for [`ClientOptions::max_events`](crate::ClientOptions::max_events) misses some.
    fn event(&self, event: ServerEvent) {
        let _ = event;
    }
}

/// Offers nothing, declines everything, hears nothing.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to add")]
pub struct Decline;

impl Handler for Decline {}

/// Why a host does not do what a server asks. The server gets to see the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// For this reason.
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

/// Something a server told us.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// Its tools changed.
    ToolsChanged,
    /// Its prompts changed.
    PromptsChanged,
    /// Its list of resources changed.
    ResourcesChanged,
    /// This resource changed.
    ResourceUpdated {
        /// The resource, or a part of the one that was subscribed to.
        uri: String,
    },
    /// A line of its log.
    Log(LogMessage),
    /// A call of ours is getting on.
    Progress {
        /// What was called: the method, and for a tool its name.
        call: String,
        /// How far it is.
        progress: Progress,
    },
    /// A task that was subscribed to moved on.
    TaskUpdated(Box<Task>),
    /// The user is done with the page they were sent to (2025-11-25).
    ElicitationComplete {
        /// Which question it was.
        elicitation_id: String,
    },
    /// So many notifications were dropped because the handler was too slow.
    Missed(u64),
    /// Anything else.
    Other(Notification),
}
