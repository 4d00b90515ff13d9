//! Tables for Codex, opencode, Gemini CLI, goose, Attocode, and the connector guide.

use super::{
    claude::CLAUDE_DESKTOP,
    shape::{Field, Kind, Section, Shape, Slot, Step, Switch, Unit, field},
};
use crate::{format::Format, model::Syntax};

/// `config.toml`, `[mcp_servers.name]`: fields with names of variables instead of variables in text.
pub(super) const CODEX: Shape = Shape {
    title: "Codex",
    format: Format::Toml,
    comments: true,
    sections: &[Section { path: &[Step::Key("mcp_servers")], scope: None }],
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("env_vars", Slot::EnvPass),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("bearer_token_env_var", Slot::BearerVariable),
        field("env_http_headers", Slot::HeaderVariables),
        field("http_headers", Slot::Headers),
        field("http_headers_helper", Slot::HeadersHelper),
        field("scopes", Slot::Scopes),
        field("oauth_resource", Slot::Resource),
        field("oauth", Slot::Group(CODEX_OAUTH)),
        field("enabled", Slot::Enabled),
        field("startup_timeout_sec", Slot::Startup(Unit::Seconds)),
        field("startup_timeout_ms", Slot::Startup(Unit::Millis)),
        field("tool_timeout_sec", Slot::Call(Unit::Seconds)),
        field("enabled_tools", Slot::Allow),
        field("disabled_tools", Slot::Deny),
    ],
    opaque: &[
        "required",
        "auth",
        "environment_id",
        "omit_tools_from",
        "supports_parallel_tool_calls",
        "default_tools_approval_mode",
        "tools",
    ],
    switch: Switch::Field,
    ..CLAUDE_DESKTOP
};
const CODEX_OAUTH: &[Field] = &[
    field("client_id", Slot::ClientId),
    field("callback_port", Slot::CallbackPort),
    field("callback_url", Slot::RedirectUri),
];

const LOCAL_REMOTE: &[(&str, Kind)] = &[("local", Kind::Local), ("remote", Kind::Remote)];
const MCP: &[Section] = &[Section { path: &[Step::Key("mcp")], scope: None }];

/// `opencode.json`, first schema.
pub(super) const OPENCODE: Shape = Shape {
    title: "opencode",
    comments: true,
    sections: MCP,
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::CommandLine),
        field("environment", Slot::Env),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("oauth", Slot::OAuth(OPENCODE_OAUTH)),
        field("enabled", Slot::Enabled),
        field("timeout", Slot::Call(Unit::Millis)),
    ],
    syntax: Syntax::BRACES,
    kinds: LOCAL_REMOTE,
    switch: Switch::Field,
    ..CLAUDE_DESKTOP
};
const OPENCODE_OAUTH: &[Field] = &[
    field("clientId", Slot::ClientId),
    field("clientSecret", Slot::ClientSecret),
    field("scope", Slot::ScopesText),
    field("callbackPort", Slot::CallbackPort),
    field("redirectUri", Slot::RedirectUri),
];

/// `opencode.json`, second schema: `mcp.servers`, snake case, `disabled`.
pub(super) const OPENCODE2: Shape = Shape {
    title: "opencode 2",
    sections: &[Section { path: &[Step::Key("mcp"), Step::Key("servers")], scope: None }],
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::CommandLine),
        field("environment", Slot::Env),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("oauth", Slot::OAuth(OPENCODE2_OAUTH)),
        field("disabled", Slot::Disabled),
        field("timeout", Slot::Group(OPENCODE2_TIMEOUT)),
    ],
    ..OPENCODE
};
const OPENCODE2_OAUTH: &[Field] = &[
    field("client_id", Slot::ClientId),
    field("client_secret", Slot::ClientSecret),
    field("scope", Slot::ScopesText),
    field("callback_port", Slot::CallbackPort),
    field("redirect_uri", Slot::RedirectUri),
];
const OPENCODE2_TIMEOUT: &[Field] =
    &[field("startup", Slot::Startup(Unit::Millis)), field("request", Slot::Call(Unit::Millis))];

/// The connector guide: `mcp`, `local` or `remote`, `timeout_ms`. Also accepts the fields of opencode, which
/// has the same structure.
pub(super) const CONNECTOR: Shape = Shape {
    title: "connector guide",
    comments: false,
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::CommandLine),
        field("environment", Slot::Env),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("headers", Slot::Headers),
        field("oauth", Slot::OAuth(CONNECTOR_OAUTH)),
        field("enabled", Slot::Enabled),
        field("timeout_ms", Slot::Call(Unit::Millis)),
        field("timeout", Slot::Call(Unit::Millis)),
    ],
    // The guide does not define `oauth` or variables: those of opencode are accepted, and `${VAR}`.
    syntax: Syntax::PLAIN_AND_BRACES,
    ..OPENCODE
};
const CONNECTOR_OAUTH: &[Field] = &[
    field("client_id", Slot::ClientId),
    field("client_secret", Slot::ClientSecret),
    field("scopes", Slot::Scopes),
    field("callback_port", Slot::CallbackPort),
    field("redirect_uri", Slot::RedirectUri),
    field("clientId", Slot::ClientId),
    field("clientSecret", Slot::ClientSecret),
    field("scope", Slot::ScopesText),
    field("callbackPort", Slot::CallbackPort),
    field("redirectUri", Slot::RedirectUri),
];

/// Attocode's `.mcp.json`: `servers`, stdio only.
pub(super) const ATTOCODE: Shape = Shape {
    title: "Attocode",
    sections: &[Section { path: &[Step::Key("servers")], scope: None }],
    fields: &[
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("cwd", Slot::Cwd),
        field("alwaysLoadTools", Slot::AlwaysLoad),
    ],
    opaque: &["lazyLoading", "summaryDescriptionLimit", "maxToolsPerSearch"],
    syntax: Syntax::PLAIN,
    ..CLAUDE_DESKTOP
};

/// `.gemini/settings.json`.
pub(super) const GEMINI: Shape = Shape {
    title: "Gemini CLI",
    comments: true,
    fields: &[
        field("type", Slot::Type),
        field("command", Slot::Command),
        field("args", Slot::Args),
        field("env", Slot::Env),
        field("cwd", Slot::Cwd),
        field("url", Slot::Url),
        field("httpUrl", Slot::UrlOf(Kind::Http)),
        field("tcp", Slot::UrlOf(Kind::Ws)),
        field("headers", Slot::Headers),
        field("oauth", Slot::OAuth(GEMINI_OAUTH)),
        field("timeout", Slot::Call(Unit::Millis)),
        field("trust", Slot::Trust),
        field("description", Slot::Description),
        field("includeTools", Slot::Allow),
        field("excludeTools", Slot::Deny),
    ],
    opaque: &["authProviderType", "targetAudience", "targetServiceAccount", "extension"],
    syntax: Syntax::SHELL,
    kinds: &[("http", Kind::Http), ("sse", Kind::Sse)],
    switch: Switch::List(&[Step::Key("mcp"), Step::Key("excluded")]),
    ..CLAUDE_DESKTOP
};
pub(super) const GEMINI_OAUTH: &[Field] = &[
    field("enabled", Slot::OAuthEnabled),
    field("clientId", Slot::ClientId),
    field("clientSecret", Slot::ClientSecret),
    field("authorizationUrl", Slot::AuthorizationUrl),
    field("tokenUrl", Slot::TokenUrl),
    field("scopes", Slot::Scopes),
    field("redirectUri", Slot::RedirectUri),
];

/// `config.yaml`, `extensions`.
pub(super) const GOOSE: Shape = Shape {
    title: "goose",
    format: Format::Yaml,
    comments: true,
    sections: &[Section { path: &[Step::Key("extensions")], scope: None }],
    fields: &[
        field("enabled", Slot::EnabledAlways),
        field("type", Slot::Type),
        field("name", Slot::NameAgain),
        field("description", Slot::Description),
        field("cmd", Slot::Command),
        field("args", Slot::Args),
        field("envs", Slot::Env),
        field("env_keys", Slot::EnvPass),
        field("uri", Slot::Url),
        field("headers", Slot::Headers),
        field("timeout", Slot::Call(Unit::Seconds)),
        field("available_tools", Slot::Allow),
    ],
    opaque: &["bundled", "display_name"],
    syntax: Syntax::PLAIN,
    kinds: &[
        ("stdio", Kind::Stdio),
        ("streamable_http", Kind::Http),
        ("sse", Kind::Sse),
        ("builtin", Kind::Foreign),
        ("platform", Kind::Foreign),
        ("frontend", Kind::Foreign),
        ("inline_python", Kind::Foreign),
    ],
    switch: Switch::Field,
};
