//! MCP servers become tools of an agent, and stay tools through crashes, logins, updates and hostile content.
//!
//! Start with [`Bridge`]: it takes [`ServerConfig`]s and gives [`Snapshot`]s of [`Tool`]s, which is all an
//! agent loop needs to see. Everything else is a choice with a default, a field of [`BridgeOptions`]:
//! who is [trusted](Policy) and [asked](Approver), what [happens around](Hook) a call, how servers are
//! [reached](Connector), when they are [tried again](Backoff).
//!
//! This crate speaks no protocol itself; `mcp-client` does.

mod backoff;
mod bridge;
mod check;
mod connector;
mod context;
mod envelope;
mod events;
mod explain;
mod folder;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod hooks;
mod hygiene;
mod lazy;
mod lease;
mod lifecycle;
mod login;
#[cfg(feature = "auth")]
mod logins;
mod name;
mod options;
mod outcome;
mod publish;
mod redact;
mod registry;
mod repair;
mod router;
mod schema;
mod serve;
mod server;
mod spill;
mod status;
mod tool;
mod trace;
mod trust;

pub use mcp_client::{
    BoxFuture, Content, Delivery, ErrorClass, Handler, LogLevel, RawJson, ShapeError,
};
pub use mcp_config::{CustomStep, CustomTool, ServerConfig};

#[cfg(feature = "auth")]
pub use crate::logins::{InteractFor, Logins, LoginsOptions};
#[cfg(feature = "serve-http")]
pub use crate::serve::{HttpBody, HttpServeOptions, HttpServer};
pub use crate::{
    backoff::Backoff,
    bridge::{
        Bridge, BridgeOptions, Command, CustomToolError, DeadLetter, Instructions, ResourceRef,
        ResourceUpdates, TemplateRef,
    },
    connector::{Connector, DefaultConnector, Identify, Identity, Login, TellUser, Way},
    context::{CallContext, Cancel, Cancelled, OnLog},
    envelope::OutputLimits,
    events::{Counters, Event, Events},
    explain::Explanation,
    hooks::{Hook, HookCall, Verdict},
    lease::{Conversation, Lease, LeaseOptions, Snapshot},
    name::NameScheme,
    outcome::{Failure, FailureKind, Note, ToolOutcome},
    publish::Quarantined,
    redact::redact,
    schema::provider_safe,
    serve::{
        Call, ClientNeed, CompletionOf, CompletionQuestion, Completions, Nothing, Prompts,
        Question, Resources, ServeError, ServeOptions, ServedTool, ToolServer,
    },
    spill::Spill,
    status::{Detail, ServerState, ServerStatus},
    tool::{Concurrency, Hints, Origin, Tool, ToolSpec},
    trace::{TraceParent, TraceParentError},
    trust::{
        Action, Approval, ApprovalRequest, Approver, AskTerminal, Decision, DenyAll, Planned,
        Policy, PolicyCall, Rule, Rules, ToolApprovals, ToolApprovalsError, TrustPolicy,
    },
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
