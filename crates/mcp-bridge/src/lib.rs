//! Turns MCP servers into tools of an agent, through crashes, logins, updates and hostile content.
//!
//! ```text
//!  your loop ── Snapshot, Tool, ToolOutcome
//!     │
//!  mcp-bridge   Bridge: lifecycle, trust, search, limits of results
//!     │         mcp-tool · mcp-config · mcp-search · mcp-schema · mcp-auth · mcp-sandbox
//!  mcp-client · mcp-transport
//!     │
//!  MCP servers
//! ```
//!
//! ```no_run
//! use mcp_bridge::{Bridge, BridgeOptions, CallContext, RawJson, ServerConfig};
//! use mcp_config::{Stdio, Transport};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let bridge = Bridge::new(BridgeOptions::default());
//! let time = Transport::Stdio(Stdio::new("mcp-server-time"));
//! bridge.add_server_as_written(ServerConfig::new("time".parse()?, time));
//! bridge.start().await;
//!
//! let turn = bridge.snapshot(); // the tools of one turn of the model
//! let arguments = RawJson::parse(r#"{"timezone":"Europe/Berlin"}"#)?;
//! println!("{}", turn.call("mcp__time__get_current_time", arguments, CallContext::default()).await);
//! bridge.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! Start with [`Bridge`]: it takes [`ServerConfig`]s and returns [`Snapshot`]s of [`Tool`]s, which is all that an agent
//! loop needs. All other behaviour has defaults and is set in [`BridgeOptions`]. The root has the names that most hosts
//! use; the rest is one module down:
//!
//! | module | for |
//! |---|---|
//! | [`trust`] | rules, policies, approvals, plans |
//! | [`connect`] | how servers are reached, and how users log in |
//! | `login` | logins with OAuth, and where they are kept (feature `auth`) |
//! | [`lifecycle`] | the states of a server, and reconnect delays |
//! | [`output`] | limits of results |
//! | [`hooks`] | host code around every call |
//! | [`events`] | events as a stream and as counters |
//! | [`offers`] | prompts, resources, instructions |
//! | [`report`] | why something does not work |
//! | [`tool`] | the vocabulary of tools and calls |
//! | [`options`], [`error`] | settings and errors that are not in the root |
//! | `testing` | a bridge over one server, for tests (feature `testing`) |
//!
//! This crate does not implement the protocol itself; `mcp-client` does.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod bridge;
mod builtin;
mod call;
mod caller;
pub mod connect;
mod consent;
mod conversation;
mod digest;
mod directory;
pub mod events;
mod failure_names;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
pub mod hooks;
mod host_settings;
mod hub;
mod json;
pub mod lifecycle;
#[cfg(feature = "auth")]
pub mod login;
mod nearest;
pub mod options;
pub mod output;
mod question_lock;
mod random;
mod sanitize;
mod server;
mod setters;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;
mod tools;
mod trace;
pub mod trust;

pub use mcp_client::RawJson;
pub use mcp_config::ServerConfig;
pub use mcp_tool::{CallContext, FailureKind, Tool, ToolOutcome, ToolSpec};

#[cfg(feature = "auth")]
pub use crate::login::{Logins, LoginsOptions};
pub use crate::{
    bridge::Bridge,
    conversation::{Conversation, ConversationOptions, Snapshot, ToolUse},
    events::{Event, Events},
    lifecycle::{ServerState, ServerStatus},
    options::BridgeOptions,
    output::OutputLimits,
    trust::{Approval, ApprovalRequest, ApprovedServer, Approver, AskTerminal},
};

/// Prompts as commands, resources and instructions of servers.
pub mod offers {
    pub use crate::bridge::{
        Command, Instructions, Mention, ResourceRef, ResourceUpdates, TemplateRef,
    };
}

/// Explanations of failures, the cost of tools, and applied sandboxes.
pub mod report {
    #[cfg(feature = "sandbox")]
    pub use mcp_sandbox::{Measure, Missing, Report as SandboxReport};
    pub use mcp_search::cost::{Cost, Statistics};

    pub use crate::{
        directory::FailedCall, server::explain::Explanation, tools::publish::Quarantined,
    };
}

/// Errors of single operations.
pub mod error {
    pub use crate::{
        bridge::{MentionError, NameTaken, OfferError, UnknownServer},
        builtin::custom::CustomToolError,
    };
}

/// The vocabulary of tools and calls, from the crates below.
pub mod tool {
    pub use mcp_client::{
        BoxFuture, Content, Delivery, Handler, diagnostics::ErrorClass, rpc::ShapeError,
        types::LogLevel,
    };
    pub use mcp_config::custom::{CustomStep, CustomTool};
    pub use mcp_safe::secrets::redact;
    pub use mcp_tool::{
        Cancel, Cancelled, Concurrency, Failure, Hints, Note, Offer, OnLog, Origin, TraceParent,
        TraceParentError,
    };

    pub use crate::tools::name::NameScheme;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
