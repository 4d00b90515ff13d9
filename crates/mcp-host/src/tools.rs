//! Tools, calls, conversations, resources and prompts.

pub use mcp_bridge::{
    Conversation, ConversationOptions, OutputLimits, Snapshot, ToolUse,
    error::{CustomToolError, MentionError, NameTaken, OfferError},
    offers::{Command, Instructions, Mention, ResourceRef, ResourceUpdates, TemplateRef},
    output::Spill,
    report::{Cost, Statistics},
    tool::{CustomStep, CustomTool, NameScheme},
    trust::{ConversationId, Planned},
};
pub use mcp_tool::*;
