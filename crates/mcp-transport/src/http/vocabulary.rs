//! The part of MCP's vocabulary that Streamable HTTP needs to put a request's method, name and protocol version into
//! headers.

use std::borrow::Cow;

use http::{HeaderName, HeaderValue};
use mcp_jsonrpc::{Message, RawJson, Request};
use mcp_types::{header, meta, method};

pub(super) const SESSION: HeaderName = HeaderName::from_static(header::SESSION_ID);
pub(super) const VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
pub(super) const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
pub(super) const NAME: HeaderName = HeaderName::from_static(header::NAME);
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The member of a tool call with its arguments.
const ARGUMENTS: &str = "arguments";
/// Longer strings are not protocol versions.
const LONGEST_VERSION: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A request that names its protocol version.
    Modern,
    /// The request that asks whether the server is a modern one.
    Probe,
    /// The first request to a legacy server.
    Initialize,
    /// The notification that the session is open.
    Initialized,
    /// Any other message to a legacy server.
    Legacy,
}

impl Kind {
    /// Whether the request names its protocol version, and does not need a session.
    pub(super) fn is_modern(self) -> bool {
        matches!(self, Self::Modern | Self::Probe)
    }
}

/// The parts of a message that its headers are made of.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) kind: Kind,
    /// The protocol version that a modern request names.
    pub(super) version: Option<String>,
    /// The target of a modern request: the tool, prompt, resource or task.
    pub(super) name: Option<String>,
    /// The arguments of a modern tool call.
    pub(super) arguments: Option<RawJson>,
    /// The request has a progress token: its caller tracks it and decides how long it may take.
    pub(super) is_call: bool,
}

impl Description {
    pub(super) fn of(message: &Message) -> Self {
        match message {
            Message::Request(request) => Self::of_request(request),
            Message::Notification(note) if note.method == method::INITIALIZED => {
                Self::legacy(Kind::Initialized)
            }
            _ => Self::legacy(Kind::Legacy),
        }
    }

    fn legacy(kind: Kind) -> Self {
        Self { kind, version: None, name: None, arguments: None, is_call: false }
    }

    fn of_request(request: &Request) -> Self {
        let legacy = match &*request.method {
            method::INITIALIZE => Kind::Initialize,
            _ => Kind::Legacy,
        };
        let Some(params) = &request.params else { return Self::legacy(legacy) };
        let name_of = name_member(&request.method);
        let is_tool_call = request.method == method::TOOLS_CALL;
        let (mut version, mut name, mut arguments, mut is_call) = (None, None, None, false);
        // Legacy requests need only `is_call`, so the rest is copied only once a version is known. Our client writes
        // `_meta` first; a host may send another order.
        let mut is_incomplete = false;
        // One pass over the params: of members that are there twice, the last one counts.
        params.visit(|member, value| {
            if member == meta::META {
                (version, is_call) = (None, false);
                value.visit(|key, value| match key {
                    meta::PROTOCOL_VERSION => version = value.string().map(Cow::into_owned),
                    meta::PROGRESS_TOKEN => is_call = true,
                    _ => {}
                });
            } else if Some(member) == name_of || is_tool_call && member == ARGUMENTS {
                if version.is_none() {
                    is_incomplete = true;
                } else if member == ARGUMENTS {
                    arguments = value.raw();
                } else {
                    name = value.string().map(Cow::into_owned);
                }
            }
        });
        if is_incomplete && version.is_some() {
            name = name_of.and_then(|member| params.get(member)?.decode().ok());
            arguments = params.get(ARGUMENTS).filter(|_| is_tool_call);
        }
        if version.is_none() {
            return Self { is_call, ..Self::legacy(legacy) };
        }
        let kind = match &*request.method {
            method::SERVER_DISCOVER => Kind::Probe,
            _ => Kind::Modern,
        };
        Self { kind, version, name, arguments, is_call }
    }
}

/// Returns the member of params that names the target of a modern request.
fn name_member(method: &str) -> Option<&'static str> {
    match method {
        method::TOOLS_CALL | method::PROMPTS_GET => Some("name"),
        method::RESOURCES_READ => Some("uri"),
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => Some("taskId"),
        _ => None,
    }
}

/// Whether a request lasts until it is cancelled.
pub(super) fn is_subscription(request: &Request) -> bool {
    request.method == method::SUBSCRIPTIONS_LISTEN
}

/// Returns the revision in the result of `initialize`.
pub(super) fn agreed_version(result: &RawJson) -> Option<HeaderValue> {
    let version = result.get("protocolVersion")?.decode::<String>().ok()?;
    if version.len() > LONGEST_VERSION {
        return None;
    }
    HeaderValue::from_str(&version).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: &str, params: &str) -> (Kind, Option<String>, Option<String>, bool) {
        let wire = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let decoded = mcp_jsonrpc::wire::decode(&wire.into());
        let Ok(mcp_jsonrpc::wire::Decoded::One(message)) = decoded else { panic!("{method}") };
        let Description { kind, version, name, arguments, .. } = Description::of(&message);
        (kind, version, name, arguments.is_some())
    }

    #[test]
    fn a_request_with_a_progress_token_is_a_call() {
        let is_call = |params: &str| {
            let wire = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            let decoded = mcp_jsonrpc::wire::decode(&wire.into());
            let Ok(mcp_jsonrpc::wire::Decoded::One(message)) = decoded else { panic!("{params}") };
            Description::of(&message).is_call
        };
        let version = r#""io.modelcontextprotocol/protocolVersion":"v""#;
        assert!(is_call(r#"{"_meta":{"progressToken":1},"name":"t"}"#));
        assert!(is_call(&format!(r#"{{"_meta":{{{version},"progressToken":1}}}}"#)));
        assert!(!is_call(r#"{"name":"progressToken"}"#) && !is_call(r#"{"progressToken":1}"#));
        assert!(!is_call(&format!(r#"{{"_meta":{{{version}}}}}"#)));
    }

    #[test]
    fn a_request_is_modern_if_it_names_its_version() {
        let modern = |rest: &str| {
            format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"v"}}{rest}}}"#)
        };
        let v = || Some("v".to_owned());
        let call = modern(r#","name":"t","arguments":{}"#);
        assert_eq!(of("tools/call", &call), (Kind::Modern, v(), Some("t".into()), true));
        let version = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"v"}"#;
        let last = format!(r#"{{"name":"first","arguments":{{}},"name":"t",{version}}}"#);
        assert_eq!(of("tools/call", &last), (Kind::Modern, v(), Some("t".into()), true));
        let split = format!(r#"{{"name":"first",{version},"name":"t"}}"#);
        assert_eq!(of("tools/call", &split), (Kind::Modern, v(), Some("t".into()), false));
        let read = modern(r#","uri":"a:b","name":"x""#);
        assert_eq!(of("resources/read", &read), (Kind::Modern, v(), Some("a:b".into()), false));
        assert_eq!(of("tasks/get", &modern(r#","taskId":7"#)), (Kind::Modern, v(), None, false));
        assert_eq!(of("server/discover", &modern("")), (Kind::Probe, v(), None, false));
        let legacy = (Kind::Legacy, None, None, false);
        assert_eq!(of("tools/call", r#"{"name":"protocolVersion"}"#), legacy);
        let twice = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"v"},"_meta":{}}"#;
        assert_eq!(of("tools/call", twice), legacy);
        assert_eq!(of("initialize", r#"{"protocolVersion":"v"}"#).0, Kind::Initialize);
        assert_eq!(of("server/discover", "{}").0, Kind::Legacy);
    }
}
