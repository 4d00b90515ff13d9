//! The Agent Client Protocol: MCP servers that an editor gives to an agent.
//!
//! [`servers`] reads the servers of `session/new` and `session/load`, and [`mcp_capabilities`] is the agent's answer to
//! the question which of them it can reach. Both are JSON in and out: any library for the protocol fits.
//!
//! ```
//! use mcp_host::{RawJson, acp, config::Transport};
//!
//! // In the result of `initialize`, as `agentCapabilities.mcpCapabilities`.
//! # #[cfg(feature = "http")]
//! assert_eq!(acp::mcp_capabilities().as_str(), r#"{"http":true,"sse":true}"#);
//!
//! let params = RawJson::parse(
//!     r#"{"cwd":"/project","mcpServers":[
//!         {"name":"My files","command":"/usr/bin/files","args":["--stdio"],"env":[{"name":"LEVEL","value":"2"}]},
//!         {"type":"http","name":"api","url":"https://api.example/mcp","headers":[]}]}"#,
//! )?;
//! let servers = acp::servers(&params)?;
//! assert_eq!(servers[0].name.as_str(), "My_files");
//! assert!(matches!(servers[1].transport, Transport::Http(_)));
//! // for server in servers { bridge.add_server_as_written(server) }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{collections::BTreeMap, fmt};

use mcp_bridge::connect::DefaultConnector;
use mcp_config::{Remote, SecretText, ServerConfig, ServerName, Stdio, Template, Transport};
use mcp_tool::RawJson;

/// The longest name of a server.
const MAX_NAME: usize = 64;

/// Why a server of an editor cannot be used. Values of variables and headers are never part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcpError {
    /// The params have no list `mcpServers`.
    NoList,
    /// A required member of a server is missing or has another type. The number of the server counts from 0.
    Member(usize, &'static str),
    /// The server has this type, which the protocol does not define.
    Type(usize, String),
}

impl fmt::Display for AcpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoList => f.write_str("`mcpServers` is not a list"),
            Self::Member(at, name) => {
                write!(f, "`mcpServers[{at}].{name}` is missing or has the wrong type")
            }
            Self::Type(at, kind) => write!(f, "`mcpServers[{at}]` has the unknown type `{kind}`"),
        }
    }
}

impl std::error::Error for AcpError {}

/// The agent's `mcpCapabilities`: the transports of this build besides stdio.
pub fn mcp_capabilities() -> RawJson {
    let has = |kind| DefaultConnector::transports().any(|built| built == kind);
    let all = BTreeMap::from(["http", "sse"].map(|kind| (kind, has(kind))));
    RawJson::encode(&all).unwrap_or_else(|_| RawJson::empty_object())
}

/// The servers in the params of `session/new` or `session/load`.
///
/// Text is taken as it is: `${…}` is not expanded. Names keep letters, digits, `-` and `_`, and are unique. The servers
/// are not trusted; set [`ServerConfig::trust`] if your user has chosen them in the editor.
///
/// # Errors
/// The first server that cannot be read.
pub fn servers(params: &RawJson) -> Result<Vec<ServerConfig>, AcpError> {
    let list: Vec<RawJson> = params
        .get("mcpServers")
        .and_then(|servers| servers.decode().ok())
        .ok_or(AcpError::NoList)?;
    let mut servers: Vec<ServerConfig> = Vec::with_capacity(list.len());
    for (at, server) in list.iter().enumerate() {
        let transport = transport(at, server)?;
        let is_taken = |name: &ServerName| servers.iter().any(|other| other.name == *name);
        let name =
            unique(&text(at, server, "name")?, is_taken).ok_or(AcpError::Member(at, "name"))?;
        servers.push(ServerConfig::new(name, transport));
    }
    Ok(servers)
}

fn transport(at: usize, server: &RawJson) -> Result<Transport, AcpError> {
    let remote = || {
        let url = text(at, server, "url")?;
        let mut remote = Remote::new(Template::literal(url));
        for (name, value) in pairs(at, server, "headers")? {
            remote = remote.with_header(name, SecretText::literal(value));
        }
        Ok(remote)
    };
    match server.get("type").map(|kind| kind.decode::<String>().unwrap_or_default()).as_deref() {
        // Servers without a type are those over stdio.
        None | Some("stdio") => {
            let mut stdio = Stdio::new(Template::literal(text(at, server, "command")?));
            let args = server.get("args").map(|args| args.decode::<Vec<String>>());
            let args = args.transpose().map_err(|_| AcpError::Member(at, "args"))?;
            stdio = stdio.with_args(args.unwrap_or_default().into_iter().map(Template::literal));
            for (name, value) in pairs(at, server, "env")? {
                stdio = stdio.with_env(name, SecretText::literal(value));
            }
            Ok(Transport::Stdio(stdio))
        }
        Some("http") => remote().map(Transport::Http),
        Some("sse") => remote().map(Transport::Sse),
        Some(other) => Err(AcpError::Type(at, other.chars().take(MAX_NAME).collect())),
    }
}

fn text(at: usize, server: &RawJson, member: &'static str) -> Result<String, AcpError> {
    let value = server.get(member).and_then(|value| value.decode().ok());
    value.ok_or(AcpError::Member(at, member))
}

/// A list of names with values, which may be absent.
fn pairs(
    at: usize,
    server: &RawJson,
    member: &'static str,
) -> Result<Vec<(String, String)>, AcpError> {
    let wrong = AcpError::Member(at, member);
    let Some(list) = server.get(member) else { return Ok(Vec::new()) };
    let list: Vec<RawJson> = list.decode().map_err(|_| wrong.clone())?;
    let pair = |entry: &RawJson| {
        Some((entry.get("name")?.decode().ok()?, entry.get("value")?.decode().ok()?))
    };
    list.iter().map(|entry| pair(entry).ok_or_else(|| wrong.clone())).collect()
}

/// The name in the bridge: other characters become `_`, and a name that is taken gets a number.
fn unique(name: &str, is_taken: impl Fn(&ServerName) -> bool) -> Option<ServerName> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let base: String =
        name.chars().take(MAX_NAME).map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if base.is_empty() {
        return None;
    }
    let numbered = (2..1_000).map(|number| {
        let end = format!("_{number}");
        format!("{}{end}", &base[..base.len().min(MAX_NAME - end.len())])
    });
    std::iter::once(base.clone())
        .chain(numbered)
        .filter_map(|name| name.parse().ok())
        .find(|name| !is_taken(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(servers_json: &str) -> Result<Vec<ServerConfig>, AcpError> {
        servers(&RawJson::parse(format!(r#"{{"mcpServers":{servers_json}}}"#)).unwrap())
    }

    #[test]
    fn every_transport_of_the_protocol_is_read_literally() {
        let all = read(
            r#"[{"name":"a","command":"/bin/${HOME}","args":["${X}"],"env":[{"name":"K","value":"${V}"}]},
                {"type":"http","name":"b","url":"https://b/mcp","headers":[{"name":"X-Key","value":"k"}]},
                {"type":"sse","name":"c","url":"https://c/sse","headers":[]}]"#,
        )
        .unwrap();
        let kinds: Vec<&str> = all.iter().map(|server| server.transport.kind()).collect();
        assert_eq!(kinds, ["stdio", "http", "sse"]);
        let Transport::Stdio(stdio) = &all[0].transport else { panic!() };
        assert_eq!(stdio.command.expose(), "/bin/${HOME}");
        assert!(stdio.command.is_final() && stdio.args[0].is_final(), "nothing is expanded");
        assert_eq!(stdio.env.get("K").unwrap().expose(), "${V}");
        let Transport::Http(remote) = &all[1].transport else { panic!() };
        assert_eq!(remote.headers.get("X-Key").unwrap().expose(), "k");
        assert!(all.iter().all(|server| !server.trust));
    }

    #[test]
    fn names_are_valid_and_unique() {
        let one = r#"{"name":"My files!","command":"x"}"#;
        let long = format!(r#"{{"name":"{}","command":"x"}}"#, "é".repeat(99));
        let all = read(&format!("[{one},{one},{long},{long}]")).unwrap();
        let names: Vec<&str> = all.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names[..2], ["My_files_", "My_files__2"]);
        assert_eq!((names[2].len(), names[3].len()), (MAX_NAME, MAX_NAME));
        assert_ne!(names[2], names[3]);
    }

    #[test]
    fn errors_name_the_member_and_no_value() {
        assert_eq!(servers(&RawJson::empty_object()).unwrap_err(), AcpError::NoList);
        assert_eq!(read(r#"[{"name":"a"}]"#).unwrap_err(), AcpError::Member(0, "command"));
        let env = r#"[{"name":"a","command":"x","env":[{"name":"K","value":{"a":"hidden"}}]}]"#;
        let error = read(env).unwrap_err().to_string();
        assert_eq!(error, "`mcpServers[0].env` is missing or has the wrong type");
        let odd = read(r#"[{"type":"pigeon","name":"a"}]"#).unwrap_err();
        assert_eq!(odd, AcpError::Type(0, "pigeon".into()));
        assert_eq!(
            read(r#"[{"name":"","command":"x"}]"#).unwrap_err(),
            AcpError::Member(0, "name")
        );
    }

    #[test]
    fn capabilities_are_those_of_the_build() {
        let said: BTreeMap<String, bool> = mcp_capabilities().decode().unwrap();
        for (kind, is_built) in said {
            assert_eq!(
                is_built,
                DefaultConnector::transports().any(|built| built == kind),
                "{kind}"
            );
        }
    }
}
