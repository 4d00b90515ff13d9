//! Conversion of a server to any dialect, and to and from the list that Agent Client Protocol clients send.

use serde_json::{Map, Value as Json, json};

use super::{
    catalogue::Dialect,
    document::{Document, ReadOptions},
    read::read,
    write::{encode, fits, read_entry},
};
use crate::{
    expand::Expanded,
    format::parse_json,
    model::{SecretMap, SecretText, ServerConfig, Template, Transport},
};

/// The label of servers received over the Agent Client Protocol.
const ACP_LABEL: &str = "session/new";

/// A server reduced to the settings a dialect supports.
pub(crate) struct Representable {
    /// The server without the settings that are lost.
    pub(crate) config: ServerConfig,
    /// The names of the settings that the dialect does not support.
    pub(crate) lost: Vec<&'static str>,
}

/// Reduces `config` to the settings of `dialect`; `None` if it does not support this kind of server.
pub(crate) fn representable(dialect: Dialect, config: &ServerConfig) -> Option<Representable> {
    // ACP has no type for WebSocket, so the URL would be read as another transport's.
    if dialect == Dialect::Acp && matches!(config.transport, Transport::Ws(_)) {
        return None;
    }
    let lost = fits(dialect, config);
    if lost.is_empty() {
        return Some(Representable { config: config.clone(), lost });
    }
    let members: Map<String, Json> = encode(dialect, config).into_iter().collect();
    let text = Json::Object(members).to_string();
    let (node, _) = parse_json(&text).ok()?;
    let config = read_entry(dialect, &config.name, &node)?;
    Some(Representable { config, lost })
}

/// Reads `mcpServers` of an Agent Client Protocol `session/new` or `session/load` request: an array of
/// servers. Invalid servers are reported in the document's diagnostics.
///
/// ```
/// use mcp_config::{Transport, dialect::read_acp};
///
/// let servers = serde_json::json!([
///     {"name": "files", "command": "/bin/mcp-files", "args": ["."], "env": [{"name": "KEY", "value": "$1"}]},
///     {"type": "http", "name": "docs", "url": "https://example.com/mcp", "headers": []},
/// ]);
/// let document = read_acp(&servers);
/// assert_eq!(document.entries.len(), 2);
/// let Transport::Stdio(program) = &document.get("files").unwrap().config.transport else { panic!() };
/// assert_eq!(program.env.get("KEY").unwrap().expose(), "$1");
/// ```
pub fn read_acp(mcp_servers: &Json) -> Document {
    let text = json!({ "mcpServers": mcp_servers }).to_string();
    let mut options = ReadOptions::new(ACP_LABEL);
    options.dialect = Some(Dialect::Acp);
    read(text.as_bytes(), &options)
}

/// The server as an Agent Client Protocol client sends it to an agent, with the names of the settings that
/// are lost. Those are settings that a host applies itself, such as timeouts, and settings that an agent does
/// not know, such as a login. `None` for a server that no agent can reach: in this process, or over
/// WebSocket.
///
/// The values are expanded, so the result contains secrets.
pub fn to_acp(server: &Expanded) -> Option<(Json, Vec<&'static str>)> {
    let literal = literal(server);
    let Representable { config, lost } = representable(Dialect::Acp, &literal)?;
    let members: Map<String, Json> = encode(Dialect::Acp, &config).into_iter().collect();
    Some((Json::Object(members), lost))
}

/// The server with values in place of variables.
fn literal(server: &Expanded) -> ServerConfig {
    let text = |template: &Template| Template::literal(template.expose());
    let map = |map: &SecretMap| -> SecretMap {
        map.iter().map(|(name, value)| (name, SecretText::literal(value.expose()))).collect()
    };
    let mut config = ServerConfig::clone(server);
    match &mut config.transport {
        Transport::Stdio(stdio) => {
            stdio.command = text(&stdio.command);
            stdio.args = stdio.args.iter().map(text).collect();
            stdio.env = map(&stdio.env);
        }
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            remote.url = text(&remote.url);
            remote.headers = map(&remote.headers);
        }
        Transport::Sdk(_) => {}
    }
    config
}
