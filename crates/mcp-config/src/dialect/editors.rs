//! Tables for VS Code, Cursor, Windsurf and Zed.

use super::{
    claude::CLAUDE_DESKTOP,
    shape::{Field, Kind, Section, Shape, Slot, Step, Switch, Unit, field},
};
use crate::model::Syntax;

/// `.vscode/mcp.json`: `servers`, and `inputs` that the user enters.
pub(super) const VS_CODE: Shape = Shape {
    title: "VS Code",
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
    ..CLAUDE_DESKTOP
};

/// `.cursor/mcp.json`.
pub(super) const CURSOR: Shape = Shape {
    title: "Cursor",
    comments: true,
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("envFile", Slot::EnvFile),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("auth", Slot::Group(CURSOR_AUTH)),
        field("transport", Slot::TypeAlias),
    ],
    syntax: Syntax::EDITOR,
    kinds: &[
        ("stdio", Kind::Stdio),
        ("sse", Kind::Sse),
        ("http", Kind::Http),
        ("streamable-http", Kind::Http),
    ],
    ..CLAUDE_DESKTOP
};
const CURSOR_AUTH: &[Field] = &[
    field("CLIENT_ID", Slot::ClientId),
    field("CLIENT_SECRET", Slot::ClientSecret),
    field("scopes", Slot::Scopes),
];

/// `mcp_config.json`: `serverUrl`; the transport is always inferred.
pub(super) const WINDSURF: Shape = Shape {
    title: "Windsurf",
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
    ..CLAUDE_DESKTOP
};

/// `settings.json`, `context_servers`.
pub(super) const ZED: Shape = Shape {
    title: "Zed",
    comments: true,
    sections: &[Section { path: &[Step::Key("context_servers")], scope: None }],
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("oauth", Slot::Group(ZED_OAUTH)),
        field("enabled", Slot::Enabled),
        field("timeout", Slot::Call(Unit::Seconds)),
    ],
    opaque: &["source", "settings", "remote"],
    switch: Switch::Field,
    ..CLAUDE_DESKTOP
};
const ZED_OAUTH: &[Field] =
    &[field("client_id", Slot::ClientId), field("client_secret", Slot::ClientSecret)];
