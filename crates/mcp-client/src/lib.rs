//! A Model Context Protocol client over any link, for both eras of the protocol.
//!
//! [`Client::connect`] opens a link, finds out which revision the server speaks, and from then on
//! the era is a detail: the same methods list, call, read and subscribe. What a server asks of its
//! host (a question for the user, a completion, its roots) goes to a [`Handler`].
//!
//! This crate knows nothing of agents: no names, trust or retries. That is `mcp-bridge`.

mod call;
mod capabilities;
mod client;
mod dispatch;
mod engine;
mod era;
mod error;
#[cfg(feature = "__fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod handler;
mod handshake;
mod inputs;
mod listen;
mod methods;
mod negotiation;
mod options;
mod page;
mod paging;
mod plain_call;
mod profile;
mod progress;
mod request;
mod rounds;
#[cfg(feature = "skills")]
mod skills;
mod sync;
mod tasks;
mod types;

pub use futures_core::future::BoxFuture;
pub use mcp_jsonrpc::{Delivery, ErrorObject, Progress, RawJson, RequestId, ShapeError, Timeout};
pub use mcp_transport::{CloseReport, Diagnostics, ErrorClass, Trouble};

pub use crate::{
    call::ToolCall,
    capabilities::ClientCapabilities,
    client::Client,
    era::{Era, EraChoice, ProtocolVersion, RememberedEra},
    error::{CallError, HandshakeError},
    handler::{Decline, Handler, Refusal, ServerEvent},
    listen::{ListenFilter, Subscription},
    methods::CompletionTarget,
    options::{CallOptions, ClientOptions, OnProgress},
    plain_call::PlainCall,
    profile::ServerProfile,
    progress::ProgressStream,
    types::{
        CacheScope, CallToolResult, Completion, Content, CreateMessageRequest, CreateMessageResult,
        ElicitAction, ElicitRequest, ElicitResult, EmbeddedResource, Extra, Freshness,
        GetPromptResult, Implementation, ListChanged, Listing, LogLevel, LogMessage, MediaContent,
        OtherContent, Prompt, PromptArgument, PromptMessage, ReadResourceResult, Rejected,
        Resource, ResourceContents, ResourceTemplate, ResourcesCapability, Root,
        ServerCapabilities, Task, TaskStatus, TaskSupport, TextContent, Tool, ToolAnnotations,
    },
};

#[cfg(feature = "skills")]
pub use crate::{
    skills::{LoadedSkill, SkillError, SkillFile},
    types::{Skill, SkillFrontmatter, SkillResource, SkillResources},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
