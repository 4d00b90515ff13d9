//! Tables for Claude Code, Claude Desktop, and our own `.mcp.json`, which extends Claude Code's.

use super::shape::{Field, Kind, Section, Shape, Slot, Step, Switch, Unit, field};
use crate::{
    format::Format,
    model::{Scope, Syntax},
};

pub(super) const KINDS: &[(&str, Kind)] = &[
    ("stdio", Kind::Stdio),
    ("http", Kind::Http),
    ("sse", Kind::Sse),
    ("ws", Kind::Ws),
    ("sdk", Kind::Sdk),
    ("streamable-http", Kind::Http),
];

pub(super) const MCP_SERVERS: &[Section] =
    &[Section { path: &[Step::Key("mcpServers")], scope: None }];

/// Our own format, with every setting of [`ServerConfig`](crate::ServerConfig).
pub(super) const MCP_JSON: Shape = Shape {
    title: ".mcp.json",
    fields: OWN_FIELDS,
    syntax: Syntax::OWN,
    kinds: KINDS,
    switch: Switch::Field,
    ..CLAUDE_DESKTOP
};

/// Our own format without the outer `mcpServers`.
pub(super) const FLAT: Shape = Shape {
    title: ".mcp.json (flat)",
    sections: &[Section { path: &[], scope: None }],
    ..MCP_JSON
};

const OWN_FIELDS: &[Field] = &[
    field("type", Slot::Type),
    field("command", Slot::Command),
    field("args", Slot::Args),
    field("env", Slot::EnvOrNull),
    field("envPass", Slot::EnvPass),
    field("inheritEnv", Slot::InheritEnv),
    field("envFile", Slot::EnvFile),
    field("cwd", Slot::Cwd),
    field("sandbox", Slot::Sandbox),
    field("url", Slot::Url),
    field("headers", Slot::Headers),
    field("headersHelper", Slot::HeadersHelper),
    field("oauth", Slot::OAuth(OWN_OAUTH)),
    field("tls", Slot::Group(OWN_TLS)),
    field("server", Slot::SdkServer),
    field("enabled", Slot::Enabled),
    field("disabled", Slot::Disabled),
    field("timeout", Slot::Call(Unit::MillisFromOneSecond)),
    field("timeouts", Slot::Group(OWN_TIMEOUTS)),
    field("tools", Slot::Group(OWN_TOOLS)),
    field("alwaysLoad", Slot::AlwaysLoad),
    field("trust", Slot::Trust),
    field("limits", Slot::Group(OWN_LIMITS)),
    field("connect", Slot::Connect),
    field("era", Slot::Era),
    field("auth", Slot::Auth),
    field("description", Slot::Description),
    field("transport", Slot::TypeAlias),
];
const OWN_OAUTH: &[Field] = &[
    field("clientId", Slot::ClientId),
    field("clientSecret", Slot::ClientSecret),
    field("scopes", Slot::Scopes),
    field("callbackPort", Slot::CallbackPort),
    field("redirectUri", Slot::RedirectUri),
    field("authServerMetadataUrl", Slot::MetadataUrl),
    field("authorizationUrl", Slot::AuthorizationUrl),
    field("tokenUrl", Slot::TokenUrl),
    field("resource", Slot::Resource),
];
const OWN_TLS: &[Field] =
    &[field("ca", Slot::TlsCa), field("cert", Slot::TlsCert), field("key", Slot::TlsKey)];
const OWN_TIMEOUTS: &[Field] = &[
    field("startupMs", Slot::Startup(Unit::Millis)),
    field("callMs", Slot::Call(Unit::Millis)),
    field("totalMs", Slot::Total(Unit::Millis)),
];
const OWN_TOOLS: &[Field] = &[field("allow", Slot::Allow), field("deny", Slot::Deny)];
const OWN_LIMITS: &[Field] =
    &[field("description", Slot::DescriptionLimit), field("output", Slot::OutputLimit)];

const CLAUDE_FIELDS: &[Field] = &[
    field("type", Slot::Type),
    field("command", Slot::Command),
    field("args", Slot::Args),
    field("env", Slot::Env),
    field("url", Slot::Url),
    field("headers", Slot::Headers),
    field("headersHelper", Slot::HeadersHelper),
    field("oauth", Slot::OAuth(CLAUDE_OAUTH)),
    field("name", Slot::SdkServer),
    field("timeout", Slot::Call(Unit::MillisFromOneSecond)),
    field("alwaysLoad", Slot::AlwaysLoad),
    field("transport", Slot::TypeAlias),
];
const CLAUDE_OAUTH: &[Field] = &[
    field("clientId", Slot::ClientId),
    field("callbackPort", Slot::CallbackPort),
    field("scopes", Slot::ScopesText),
    field("authServerMetadataUrl", Slot::MetadataUrl),
];

/// `~/.claude.json`: the user's servers, and the local servers of each project.
pub(super) const CLAUDE_CODE: Shape = Shape {
    title: "Claude Code",
    sections: &[
        Section { path: &[Step::Key("mcpServers")], scope: None },
        Section {
            path: &[Step::Key("projects"), Step::Project, Step::Key("mcpServers")],
            scope: Some(Scope::Local),
        },
    ],
    fields: CLAUDE_FIELDS,
    syntax: Syntax::PLAIN,
    kinds: KINDS,
    switch: Switch::List(&[Step::Key("projects"), Step::Project, Step::Key("disabledMcpServers")]),
    ..CLAUDE_DESKTOP
};

/// `settings.json`, `settings.local.json`, `managed-settings.json`: lists of names, and servers in the oldest
/// and the newest releases.
pub(super) const CLAUDE_SETTINGS: Shape = Shape {
    title: "Claude Code settings",
    sections: &[
        Section { path: &[Step::Key("mcpServers")], scope: None },
        Section { path: &[Step::Key("managedMcpServers")], scope: None },
    ],
    // Its lists of names apply to `.mcp.json`. It cannot disable its own servers.
    switch: Switch::Nowhere,
    ..CLAUDE_CODE
};

/// `managed-mcp.json`: while it exists, no other file is loaded.
pub(super) const CLAUDE_MANAGED: Shape = Shape {
    title: "Claude Code managed",
    sections: MCP_SERVERS,
    switch: Switch::Nowhere,
    ..CLAUDE_CODE
};

/// `claude_desktop_config.json`: stdio only, no variables. The simplest dialect: the other tables are written
/// as differences from it.
pub(super) const CLAUDE_DESKTOP: Shape = Shape {
    title: "Claude Desktop",
    format: Format::Json,
    comments: false,
    sections: MCP_SERVERS,
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("transport", Slot::TypeAlias),
    ],
    opaque: &[],
    syntax: Syntax::NONE,
    kinds: &[],
    switch: Switch::Nowhere,
};
