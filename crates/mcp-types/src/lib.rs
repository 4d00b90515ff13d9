//! The types of the Model Context Protocol: objects, capabilities, revisions and their eras, and constants for method
//! names, `_meta` keys, error codes and HTTP header names.
//!
#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! Clients, servers and transports share this crate. It performs no I/O and depends on no runtime. Objects keep
//! unknown members in an [`Extra`], so that a host can pass them on.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod callbacks;
mod capabilities;
mod content;
mod elicit;
pub mod error_code;
pub mod form;
mod handler;
pub mod header;
mod listing;
pub mod meta;
pub mod method;
mod open;
mod prompt;
mod resource;
mod sampling;
mod server;
mod skill;
mod structured;
mod task;
mod tool;
mod version;

pub use futures_core::future::BoxFuture;

pub use crate::{
    callbacks::Callbacks,
    capabilities::ClientCapabilities,
    content::Content,
    elicit::{ElicitAction, ElicitRequest, ElicitResult},
    handler::{Handler, OnProgress},
    open::Extra,
    prompt::{Completion, GetPromptResult, Prompt, PromptArgument, PromptMessage},
    resource::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
    sampling::{CreateMessageRequest, CreateMessageResult, Root},
    server::{Implementation, LogLevel, ServerCapabilities},
    structured::StructuredError,
    tool::{CallToolResult, Tool, ToolAnnotations},
    version::{Era, ProtocolVersion},
};

/// Kinds of [`Content`].
pub mod parts {
    pub use crate::content::{EmbeddedResource, MediaContent, OtherContent, TextContent};
}

/// Pages of lists: their entries, how long they stay fresh, and entries that could not be read.
pub mod lists {
    pub use crate::{
        listing::{CacheScope, Freshness, Listing, Page, Rejectable, Rejected},
        resource::ReadPage,
        server::ListChanged,
    };
}

/// Results that open a connection: `initialize` and `server/discover`.
pub mod handshake {
    pub use crate::server::{DiscoverResult, InitializeResult, ResourcesCapability};
}

/// Notifications of a server, and refusals by a [`Handler`].
pub mod events {
    pub use crate::{
        handler::{Decline, Refusal, ServerEvent},
        server::LogMessage,
    };
}

/// Requests that run as tasks.
pub mod tasks {
    pub use crate::{
        task::{Task, TaskStatus},
        tool::TaskSupport,
    };
}

/// Skills: instructions and files that a server offers.
pub mod skills {
    pub use crate::skill::{Skill, SkillFrontmatter, SkillResource, SkillResources};
}
