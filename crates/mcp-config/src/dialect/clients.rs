//! Tables for more tools with `mcpServers`: Copilot CLI, Cline, Roo Code, Kiro, Amp, Qwen Code, LM Studio and
//! Junie; and for the list that an Agent Client Protocol client sends.

use super::{
    agents::GEMINI,
    claude::CLAUDE_DESKTOP,
    shape::{Field, Kind, Section, Shape, Slot, Step, Switch, Unit, field},
};
use crate::model::Syntax;

/// `~/.copilot/mcp-config.json`: `tools` is required, and `["*"]` means every tool.
pub(super) const COPILOT: Shape = Shape {
    title: "Copilot CLI",
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("timeout", Slot::Call(Unit::Millis)),
        field("tools", Slot::AllowAlways),
    ],
    syntax: Syntax::PLAIN,
    kinds: &[
        ("local", Kind::Stdio),
        ("stdio", Kind::Stdio),
        ("http", Kind::Http),
        ("sse", Kind::Sse),
    ],
    ..CLAUDE_DESKTOP
};

/// `cline_mcp_settings.json`.
pub(super) const CLINE: Shape = Shape {
    title: "Cline",
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("disabled", Slot::Disabled),
        field("timeout", Slot::Call(Unit::Seconds)),
    ],
    opaque: &["autoApprove", "alwaysAllow"],
    kinds: &[("stdio", Kind::Stdio), ("streamableHttp", Kind::Http), ("sse", Kind::Sse)],
    switch: Switch::Field,
    ..CLAUDE_DESKTOP
};

/// Roo Code's `mcp_settings.json` and `.roo/mcp.json`.
pub(super) const ROO: Shape = Shape {
    title: "Roo Code",
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("disabled", Slot::Disabled),
        field("timeout", Slot::Call(Unit::Seconds)),
        field("disabledTools", Slot::Deny),
    ],
    opaque: &["alwaysAllow", "watchPaths"],
    syntax: Syntax::EDITOR,
    kinds: &[("stdio", Kind::Stdio), ("streamable-http", Kind::Http), ("sse", Kind::Sse)],
    ..CLINE
};

/// `.kiro/settings/mcp.json`.
pub(super) const KIRO: Shape = Shape {
    title: "Kiro",
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("oauth", Slot::Group(KIRO_OAUTH)),
        field("oauthScopes", Slot::Scopes),
        field("disabled", Slot::Disabled),
        field("disabledTools", Slot::Deny),
    ],
    opaque: &["autoApprove"],
    syntax: Syntax::PLAIN,
    switch: Switch::Field,
    ..CLAUDE_DESKTOP
};
const KIRO_OAUTH: &[Field] = &[field("clientId", Slot::ClientId)];

/// Amp's `settings.json`: a single key that contains a dot.
pub(super) const AMP: Shape = Shape {
    title: "Amp",
    comments: true,
    sections: &[Section { path: &[Step::Key("amp.mcpServers")], scope: None }],
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("includeTools", Slot::Allow),
        field("disabled", Slot::Disabled),
    ],
    opaque: &["oauth"],
    syntax: Syntax::PLAIN,
    switch: Switch::Field,
    ..CLAUDE_DESKTOP
};

/// `.qwen/settings.json`: like Gemini CLI's, where the key of the URL determines the transport.
pub(super) const QWEN: Shape = Shape {
    title: "Qwen Code",
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("cwd", Slot::Cwd),
        field("httpUrl", Slot::UrlOf(Kind::Http)),
        field("url", Slot::UrlOf(Kind::Sse)),
        field("tcp", Slot::UrlOf(Kind::Ws)),
        field("headers", Slot::Headers),
        field("oauth", Slot::OAuth(super::agents::GEMINI_OAUTH)),
        field("timeout", Slot::Call(Unit::Millis)),
        field("trust", Slot::Trust),
        field("description", Slot::Description),
        field("includeTools", Slot::Allow),
        field("excludeTools", Slot::Deny),
    ],
    kinds: &[],
    ..GEMINI
};

/// `~/.lmstudio/mcp.json`: like Cursor's, without variables.
pub(super) const LM_STUDIO: Shape = Shape {
    title: "LM Studio",
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
    ],
    ..CLAUDE_DESKTOP
};

/// `.junie/mcp/mcp.json` of Junie, an agent in IDEs. The AI Assistant keeps its servers in the IDE settings.
pub(super) const JUNIE: Shape = Shape { title: "Junie", ..LM_STUDIO };

/// `mcpServers` of `session/new`: an array, in which variables and headers are arrays too. No variable
/// syntax.
pub(super) const ACP: Shape = Shape {
    title: "Agent Client Protocol",
    fields: &[
        field("type", Slot::Type),
        field("name", Slot::NameAgain),
        field("command", Slot::Command),
        field("args", Slot::ArgsAlways),
        field("env", Slot::EnvPairs),
        field("url", Slot::Url),
        field("headers", Slot::HeaderPairs),
    ],
    opaque: &["_meta"],
    kinds: &[("http", Kind::Http), ("sse", Kind::Sse)],
    ..CLAUDE_DESKTOP
};
