//! Which dialect is this? By content first where content is telling, by place where it is not.

use super::{CUSTOM_TOOLS, Dialect};
use crate::{
    diagnostic::printable,
    text::{Format, Node},
};

/// What a file we can use must contain, for the message when it does not.
pub(crate) const CONTAINERS: &str =
    "`mcpServers`, `servers`, `mcp`, `context_servers`, `mcp_servers` or `extensions`";

pub(crate) fn format(file: &str) -> Format {
    match file.rsplit('.').next() {
        Some("toml") => Format::Toml,
        Some("yaml" | "yml") => Format::Yaml,
        _ => Format::Json,
    }
}

/// The dialect of a parsed file, or `None` if it is none we know.
pub(crate) fn dialect(file: &str, root: &Node<'_>) -> Option<Dialect> {
    let file = file.replace('\\', "/");
    let name = file.rsplit('/').next().unwrap_or_default();
    if let Some(dialect) = by_name(&file, name) {
        return Some(dialect);
    }
    let object = |key: &str| root.get(key).and_then(Node::members);
    // What many tools start from; there is nothing to tell it by but its name.
    if root.members().is_some_and(<[_]>::is_empty) {
        return Some(of_new_file(&file));
    }
    if name == ".mcp.json" && object("mcpServers").is_some() {
        return Some(Dialect::McpJson);
    }
    if object("mcp_servers").is_some() {
        return Some(Dialect::Codex);
    }
    if object("context_servers").is_some() {
        return Some(Dialect::Zed);
    }
    if object("extensions").is_some() && format(&file) == Format::Yaml {
        return Some(Dialect::Goose);
    }
    // Gemini CLI also has an `mcp`, beside its `mcpServers`.
    if object("mcpServers").is_some() {
        return Some(mcp_servers(root));
    }
    if let Some(members) = object("mcp") {
        let is_object = |key| root.path(["mcp", key]).is_some_and(|node| node.members().is_some());
        let entry_has = |key| members.iter().any(|member| member.value.get(key).is_some());
        return Some(match () {
            () if is_object("servers") => Dialect::OpenCode2,
            () if entry_has("timeout_ms") => Dialect::Connector,
            () => Dialect::OpenCode,
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
    // A file of tools alone, made of servers in other files.
    if object(CUSTOM_TOOLS).is_some() {
        return Some(Dialect::McpJson);
    }
    is_flat(root).then_some(Dialect::Flat)
}

/// What a file that does not exist yet is going to be.
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

/// Names and folders that belong to one tool alone.
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
        "mcp.json" if inside(".cursor") => Dialect::Cursor,
        "mcp.json" if inside(".vscode") || inside("Code/User") => Dialect::VsCode,
        "settings.json" | "system-defaults.json" if inside(".gemini") || inside("gemini-cli") => {
            Dialect::Gemini
        }
        "settings.json" if inside(".zed") || inside("zed") || inside("Zed") => Dialect::Zed,
        _ => return None,
    })
}

/// Tells the users of `mcpServers` apart by what only one of them writes.
fn mcp_servers(root: &Node<'_>) -> Dialect {
    let servers = root.get("mcpServers").and_then(Node::members).unwrap_or_default();
    let has = |key: &str| servers.iter().any(|member| member.value.get(key).is_some());
    let has_auth = servers.iter().any(|member| member.value.path(["auth", "CLIENT_ID"]).is_some());
    match () {
        () if has("serverUrl") => Dialect::Windsurf,
        () if has("httpUrl") || has("includeTools") || has("excludeTools") => Dialect::Gemini,
        () if has_auth => Dialect::Cursor,
        () if root.get("projects").is_some() => Dialect::ClaudeCode,
        () => Dialect::McpJson,
    }
}

/// An object whose every object looks like a server, and which has at least one.
fn is_flat(root: &Node<'_>) -> bool {
    let entries =
        root.members().unwrap_or_default().iter().filter(|member| !member.key.starts_with('$'));
    let mut seen = false;
    entries.into_iter().all(|member| {
        seen = true;
        ["command", "url", "type"].iter().any(|key| member.value.get(key).is_some())
    }) && seen
}

/// The first keys of a file that is no dialect, for the message.
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
