//! A Model Context Protocol client over any link, for both eras of the protocol.
//!
#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! [`Client::connect`] opens a link and negotiates the revision. After that the same methods list,
//! call, read and subscribe in both eras. The server's requests to its host (elicitation, sampling,
//! roots) go to a [`Handler`].
//!
//! This crate handles one session. Server names, trust and retries belong to `mcp-bridge`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod connect;
mod engine;
mod era;
mod error;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod host;
mod options;
mod progress;
mod setters;
mod subscriptions;
mod sync;
mod telemetry;

pub use mcp_jsonrpc::{Delivery, Progress, RawJson};
/// All protocol types. The most common ones are re-exported at the root.
pub use mcp_types as types;
pub use mcp_types::{
    BoxFuture, CallToolResult, Callbacks, ClientCapabilities, Content, ElicitRequest, ElicitResult,
    Handler, Implementation, events::ServerEvent,
};

pub use crate::{
    client::{Client, PendingCall, Subscription},
    connect::ServerProfile,
    era::EraChoice,
    error::{CallError, HandshakeError},
    options::{CallOptions, ClientOptions},
    progress::ProgressStream,
};

/// JSON-RPC errors and ids that appear in [`CallError`] and [`HandshakeError`].
pub mod rpc {
    pub use mcp_jsonrpc::{ErrorObject, Failure, RequestId, ShapeError, Timeout};
}

/// Link diagnostics and the report of how a link ended.
pub mod diagnostics {
    pub use mcp_transport::{
        ErrorClass, FailureCause,
        diagnostics::{CloseReason, CloseReport, Diagnostics},
    };
}

/// Parameters of completions, subscriptions and handshakes.
pub mod request {
    pub use crate::{client::CompletionTarget, era::RememberedEra, subscriptions::ListenFilter};
}

/// Server skills (SEP-2640), with verified files.
#[cfg(feature = "skills")]
pub mod skills {
    pub use mcp_types::skills::{Skill, SkillFrontmatter, SkillResource, SkillResources};

    pub use crate::client::skills::{LoadedSkill, SkillError, SkillFile};
}
