//! The vocabulary of MCP, as much of it as a host reads.

mod content;
mod elicit;
mod listing;
mod open;
mod prompt;
mod resource;
mod sampling;
mod server;
#[cfg(feature = "skills")]
mod skill;
mod task;
mod tool;

pub(crate) use self::server::{DiscoverResult, InitializeResult};
#[cfg(feature = "skills")]
pub use self::skill::{Skill, SkillFrontmatter, SkillResource, SkillResources};
pub use self::{
    content::{
        Content, EmbeddedResource, MediaContent, OtherContent, ResourceContents, TextContent,
    },
    elicit::{ElicitAction, ElicitRequest, ElicitResult},
    listing::{CacheScope, Freshness, Listing, Rejected},
    open::Extra,
    prompt::{Completion, GetPromptResult, Prompt, PromptArgument, PromptMessage},
    resource::{ReadResourceResult, Resource, ResourceTemplate},
    sampling::{CreateMessageRequest, CreateMessageResult, Root},
    server::{
        Implementation, ListChanged, LogLevel, LogMessage, ResourcesCapability, ServerCapabilities,
    },
    task::{Task, TaskStatus},
    tool::{CallToolResult, TaskSupport, Tool, ToolAnnotations},
};
pub(crate) use self::{
    listing::{Page, Rejectable},
    resource::ReadPage,
};
