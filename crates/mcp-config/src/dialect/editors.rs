//! VS Code, Cursor, Windsurf and Zed.

use super::{
    claude::MCP_SERVERS,
    shape::{Kind, Section, Shape, Slot, Step, Switch, Unit, field},
};
use crate::{template::Syntax, text::Format};

/// `.vscode/mcp.json`: `servers`, and `inputs` that the user is asked for.
pub(super) const VS_CODE: Shape = Shape {
    title: "VS Code",
    format: Format::Json,
    comments: true,
    sections: &[Section { path: &[Step::Key("servers")], scope: None }],
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::EnvOrNull),
        field("envFile", Slot::EnvFile),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
    ],
    opaque: &["dev", "sandbox", "sandboxEnabled", "gallery", "version"],
    syntax: Syntax::EDITOR,
    kinds: &[("stdio", Kind::Stdio), ("http", Kind::Http), ("sse", Kind::Sse)],
    switch: Switch::Nowhere,
};

/// `.cursor/mcp.json`.
pub(super) const CURSOR: Shape = Shape {
    title: "Cursor",
    format: Format::Json,
    comments: true,
    sections: MCP_SERVERS,
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("envFile", Slot::EnvFile),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field(
            "auth",
            Slot::Group(&[
                field("CLIENT_ID", Slot::ClientId),
                field("CLIENT_SECRET", Slot::ClientSecret),
                field("scopes", Slot::Scopes),
            ]),
        ),
        field("transport", Slot::TypeAlias),
    ],
    opaque: &[],
    syntax: Syntax::EDITOR,
    kinds: &[
        ("stdio", Kind::Stdio),
        ("sse", Kind::Sse),
        ("http", Kind::Http),
        ("streamable-http", Kind::Http),
    ],
    switch: Switch::Nowhere,
};

/// `mcp_config.json`: `serverUrl`, and no transport but the inferred one.
pub(super) const WINDSURF: Shape = Shape {
    title: "Windsurf",
    format: Format::Json,
    comments: false,
    sections: MCP_SERVERS,
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("serverUrl", Slot::Url),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("transport", Slot::TypeAlias),
    ],
    opaque: &["disabledTools", "alwaysAllow"],
    syntax: Syntax::EDITOR_AND_FILE,
    kinds: &[],
    switch: Switch::Nowhere,
};

/// `settings.json`, `context_servers`.
pub(super) const ZED: Shape = Shape {
    title: "Zed",
    format: Format::Json,
    comments: true,
    sections: &[Section { path: &[Step::Key("context_servers")], scope: None }],
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field(
            "oauth",
            Slot::Group(&[
                field("client_id", Slot::ClientId),
                field("client_secret", Slot::ClientSecret),
            ]),
        ),
        field("enabled", Slot::Enabled),
        field("timeout", Slot::Call(Unit::Seconds)),
    ],
    opaque: &["source", "settings", "remote"],
    syntax: Syntax::NONE,
    kinds: &[],
    switch: Switch::Field,
};
