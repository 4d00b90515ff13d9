//! All dialects, and the table that describes each.

use std::fmt;

use super::{agents, claude, clients, editors, shape::Shape};
use crate::format::Format;

/// A file format of some host for its MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Our own format: `.mcp.json` with `mcpServers`, a superset of Claude Code's project file.
    McpJson,
    /// The same format without the outer `mcpServers`.
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
    /// Copilot CLI's `mcp-config.json`.
    CopilotCli,
    /// Cline's `cline_mcp_settings.json`.
    Cline,
    /// Roo Code's `mcp_settings.json`.
    Roo,
    /// Kiro's `mcp.json`.
    Kiro,
    /// Amp's `settings.json`.
    Amp,
    /// Qwen Code's `settings.json`.
    Qwen,
    /// LM Studio's `mcp.json`.
    LmStudio,
    /// Junie's `mcp.json`.
    Junie,
    /// `mcpServers` of the Agent Client Protocol, which is not a file; see
    /// [`read_acp`](crate::dialect::read_acp).
    Acp,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 26] = [
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
        Self::CopilotCli,
        Self::Cline,
        Self::Roo,
        Self::Kiro,
        Self::Amp,
        Self::Qwen,
        Self::LmStudio,
        Self::Junie,
        Self::Acp,
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
            Self::CopilotCli => &clients::COPILOT,
            Self::Cline => &clients::CLINE,
            Self::Roo => &clients::ROO,
            Self::Kiro => &clients::KIRO,
            Self::Amp => &clients::AMP,
            Self::Qwen => &clients::QWEN,
            Self::LmStudio => &clients::LM_STUDIO,
            Self::Junie => &clients::JUNIE,
            Self::Acp => &clients::ACP,
        }
    }

    /// The tool's name, for display.
    pub fn title(self) -> &'static str {
        self.shape().title
    }

    /// The syntax of its files.
    pub fn format(self) -> Format {
        self.shape().format
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.title())
    }
}
