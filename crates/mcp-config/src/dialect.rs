//! Everybody's file formats.
//!
//! Most dialects are the same idea under other keys, so each is a table (see [`shape`]): three
//! files of tables, one reader, one writer. What a file says besides its servers (policy, inputs,
//! lists of names) is in [`aside`].

use std::fmt;

mod agents;
mod aside;
mod claude;
mod custom;
mod detect;
mod draft;
mod editors;
mod finding;
mod read;
pub(crate) mod shape;
mod typo;
mod value;
mod write;

pub(crate) use self::detect::of_new_file;
pub use self::read::read;
use self::shape::Shape;
pub(crate) use self::{
    custom::{KEY as CUSTOM_TOOLS, read_custom_tool},
    read::parse,
    value::{AUTH, CONNECT},
    write::{encode, fits, read_entry},
};
use crate::text::Format;

/// A file format some host reads its MCP servers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Our own: `.mcp.json` with `mcpServers`, a superset of Claude Code's project file.
    McpJson,
    /// The same as a flat map of servers.
    Flat,
    /// Attocode's `.mcp.json` with `servers`.
    Attocode,
    /// The connector guide's `mcp`, with `timeout_ms`.
    Connector,
    /// Claude Code's `~/.claude.json`.
    ClaudeCode,
    /// Claude Code's `settings.json` and `managed-settings.json`.
    ClaudeSettings,
    /// Claude Code's `managed-mcp.json`.
    ClaudeManaged,
    /// `claude_desktop_config.json`.
    ClaudeDesktop,
    /// VS Code's `mcp.json`.
    VsCode,
    /// Cursor's `mcp.json`.
    Cursor,
    /// Windsurf's `mcp_config.json`.
    Windsurf,
    /// Zed's `settings.json`.
    Zed,
    /// Codex's `config.toml`.
    Codex,
    /// opencode's `opencode.json`, first schema.
    OpenCode,
    /// opencode's `opencode.json`, second schema.
    OpenCode2,
    /// Gemini CLI's `settings.json`.
    Gemini,
    /// goose's `config.yaml`.
    Goose,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 17] = [
        Self::McpJson,
        Self::Flat,
        Self::Attocode,
        Self::Connector,
        Self::ClaudeCode,
        Self::ClaudeSettings,
        Self::ClaudeManaged,
        Self::ClaudeDesktop,
        Self::VsCode,
        Self::Cursor,
        Self::Windsurf,
        Self::Zed,
        Self::Codex,
        Self::OpenCode,
        Self::OpenCode2,
        Self::Gemini,
        Self::Goose,
    ];

    pub(crate) fn shape(self) -> &'static Shape {
        match self {
            Self::McpJson => &claude::MCP_JSON,
            Self::Flat => &claude::FLAT,
            Self::Attocode => &agents::ATTOCODE,
            Self::Connector => &agents::CONNECTOR,
            Self::ClaudeCode => &claude::CLAUDE_CODE,
            Self::ClaudeSettings => &claude::CLAUDE_SETTINGS,
            Self::ClaudeManaged => &claude::CLAUDE_MANAGED,
            Self::ClaudeDesktop => &claude::CLAUDE_DESKTOP,
            Self::VsCode => &editors::VS_CODE,
            Self::Cursor => &editors::CURSOR,
            Self::Windsurf => &editors::WINDSURF,
            Self::Zed => &editors::ZED,
            Self::Codex => &agents::CODEX,
            Self::OpenCode => &agents::OPENCODE,
            Self::OpenCode2 => &agents::OPENCODE2,
            Self::Gemini => &agents::GEMINI,
            Self::Goose => &agents::GOOSE,
        }
    }

    /// The tool's name, for people.
    pub fn title(self) -> &'static str {
        self.shape().title
    }

    /// The language its files are written in.
    pub fn format(self) -> Format {
        self.shape().format
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.title())
    }
}
