//! Detects the dialect of a file from its content, or from its path if the content is ambiguous.

use super::{catalogue::Dialect, custom_tool::KEY, shape::HOST_KEYS};
use crate::{
    diagnostic::printable,
    format::{Format, Node},
};

/// The keys of servers in any dialect, for the message if none is present.
pub(crate) const CONTAINERS: &str =
    "`mcpServers`, `servers`, `mcp`, `context_servers`, `mcp_servers` or `extensions`";

pub(crate) fn format(file: &str) -> Format {
    match file.rsplit('.').next() {
        Some("toml") => Format::Toml,
        Some("yaml" | "yml") => Format::Yaml,
        _ => Format::Json,
    }
}

/// The dialect of a parsed file, or `None` if it is unknown.
pub(crate) fn dialect(file: &str, root: &Node<'_>) -> Option<Dialect> {
    let file = file.replace('\\', "/");
    let name = file.rsplit('/').next().unwrap_or_default();
    if let Some(dialect) = by_name(&file, name) {
        return Some(dialect);
    }
    let object = |key: &str| root.get(key).and_then(Node::members);
    // Many tools create an empty object. Only the file name can tell them apart.
    if root.members().is_some_and(<[_]>::is_empty) {
        return Some(of_new_file(&file));
    }
    if name == ".mcp.json" && object("mcpServers").is_some() {
        return Some(Dialect::McpJson);
    }
    if object("mcp_servers").is_some() {
        return Some(Dialect::Codex);
    }
    if object("amp.mcpServers").is_some() {
        return Some(Dialect::Amp);
    }
    if object("context_servers").is_some() {
        return Some(Dialect::Zed);
    }
    if object("extensions").is_some() && format(&file) == Format::Yaml {
        return Some(Dialect::Goose);
    }
    // Gemini CLI also has `mcp`, beside its `mcpServers`.
    if object("mcpServers").is_some() {
        return Some(mcp_servers(root));
    }
    if let Some(members) = object("mcp") {
        let is_object = |key| root.path(&["mcp", key]).is_some_and(|node| node.members().is_some());
        let entry_has = |key| members.iter().any(|member| member.value.get(key).is_some());
        // The connector guide accepts the fields of both; opencode's own file is opencode's.
        return Some(match () {
            () if is_object("servers") || is_timeouts_object(root.path(&["mcp", "timeout"])) => {
                Dialect::OpenCode2
            }
            () if name.starts_with("opencode.json") && !entry_has("timeout_ms") => {
                Dialect::OpenCode
            }
            () => Dialect::Connector,
        });
    }
    if let Some(members) = object("servers") {
        let typed = members.iter().any(|member| member.value.get("type").is_some());
        let vs_code = typed || root.get("inputs").is_some() || file.contains("/Code/User/");
        return Some(if vs_code { Dialect::VsCode } else { Dialect::Attocode });
    }
    if [
        "allowedMcpServers",
        "deniedMcpServers",
        "enabledMcpjsonServers",
        "disabledMcpjsonServers",
        "managedMcpServers",
    ]
    .iter()
    .any(|key| root.get(key).is_some())
    {
        return Some(Dialect::ClaudeSettings);
    }
    // A file with only custom tools, whose servers are in other files.
    if object(KEY).is_some() {
        return Some(Dialect::McpJson);
    }
    if is_flat(root) {
        return Some(Dialect::Flat);
    }
    // A file with only host settings.
    HOST_KEYS.iter().any(|key| root.get(key).is_some()).then_some(Dialect::McpJson)
}

/// The dialect for a file that does not exist yet.
pub(crate) fn of_new_file(file: &str) -> Dialect {
    let file = file.replace('\\', "/");
    let name = file.rsplit('/').next().unwrap_or_default();
    by_name(&file, name).unwrap_or(match format(&file) {
        Format::Toml => Dialect::Codex,
        Format::Yaml => Dialect::Goose,
        Format::Json if name.starts_with("opencode.json") => Dialect::OpenCode,
        Format::Json => Dialect::McpJson,
    })
}

/// File names and folders that belong to exactly one tool.
fn by_name(file: &str, name: &str) -> Option<Dialect> {
    let inside = |folder: &str| {
        file.strip_suffix(name).is_some_and(|parent| {
            let parent = parent.trim_end_matches('/');
            parent == folder || parent.strip_suffix(folder).is_some_and(|rest| rest.ends_with('/'))
        })
    };
    Some(match name {
        ".claude.json" => Dialect::ClaudeCode,
        "managed-mcp.json" => Dialect::ClaudeManaged,
        "managed-settings.json" => Dialect::ClaudeSettings,
        "settings.json" | "settings.local.json" if inside(".claude") => Dialect::ClaudeSettings,
        "claude_desktop_config.json" => Dialect::ClaudeDesktop,
        "mcp_config.json" => Dialect::Windsurf,
        "mcp-config.json" if inside(".copilot") => Dialect::CopilotCli,
        "cline_mcp_settings.json" => Dialect::Cline,
        "mcp_settings.json" => Dialect::Roo,
        "mcp.json" if inside(".roo") => Dialect::Roo,
        "mcp.json" if inside(".kiro/settings") => Dialect::Kiro,
        "mcp.json" if inside(".lmstudio") => Dialect::LmStudio,
        "mcp.json" if inside(".junie/mcp") => Dialect::Junie,
        "settings.json" if inside(".amp") || inside(".config/amp") => Dialect::Amp,
        "settings.json" | "settings.local.json" if inside(".qwen") => Dialect::Qwen,
        "mcp.json" if inside(".cursor") => Dialect::Cursor,
        "mcp.json" if inside(".vscode") || inside("Code/User") => Dialect::VsCode,
        "settings.json" | "system-defaults.json" if inside(".gemini") || inside("gemini-cli") => {
            Dialect::Gemini
        }
        "settings.json" if inside(".zed") || inside("zed") || inside("Zed") => Dialect::Zed,
        _ => return None,
    })
}

/// Distinguishes the tools with `mcpServers` by keys that only one of them writes.
fn mcp_servers(root: &Node<'_>) -> Dialect {
    let servers = root.get("mcpServers").and_then(Node::members).unwrap_or_default();
    let has = |key: &str| servers.iter().any(|member| member.value.get(key).is_some());
    let has_auth = servers.iter().any(|member| member.value.path(&["auth", "CLIENT_ID"]).is_some());
    match () {
        () if has("serverUrl") => Dialect::Windsurf,
        () if has("httpUrl") || has("includeTools") || has("excludeTools") => Dialect::Gemini,
        () if has_auth => Dialect::Cursor,
        () if root.get("projects").is_some() => Dialect::ClaudeCode,
        () => Dialect::McpJson,
    }
}

/// Whether this is the timeouts object of the second schema, not a server named `timeout` in the first.
fn is_timeouts_object(timeout: Option<&Node<'_>>) -> bool {
    timeout.is_some_and(|node| ["startup", "request"].iter().any(|key| node.get(key).is_some()))
}

/// Whether the object has at least one member that is a server.
fn is_flat(root: &Node<'_>) -> bool {
    root.members().unwrap_or_default().iter().any(|member| is_server(&member.value))
}

/// Whether an object has a key that says how to connect to a server.
pub(super) fn is_server(node: &Node<'_>) -> bool {
    let is_sdk = node.get("type").and_then(Node::as_str) == Some("sdk");
    is_sdk || ["command", "url"].iter().any(|key| node.get(key).is_some())
}

/// The first keys of a file of unknown dialect, for the message.
pub(crate) fn keys_seen(root: &Node<'_>) -> String {
    let Some(members) = root.members() else { return root.kind().to_owned() };
    if members.is_empty() {
        return "an empty object".to_owned();
    }
    let keys: Vec<String> =
        members.iter().take(5).map(|m| format!("`{}`", printable(&m.key))).collect();
    let more = if members.len() > 5 { " and more" } else { "" };
    format!("the keys {}{more}", keys.join(", "))
}
