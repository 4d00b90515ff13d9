//! Determines whether two requests are the same.

use mcp_jsonrpc::{RawJson, Request};
use mcp_types::{meta, method};
use serde_json::Value;

/// Members of `_meta` that do not affect the request: trace context, log level, and the client's name and
/// capabilities, which depend on the terminal and the release that made the recording.
const INCIDENTAL: &[&str] = &[
    // <https://www.w3.org/TR/trace-context/>, <https://www.w3.org/TR/baggage/>
    "traceparent",
    "tracestate",
    "baggage",
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
];

/// A request without the parts that change from run to run: its id, its progress token, its trace context, and the
/// client's description.
#[derive(Debug, PartialEq)]
pub(super) struct Key {
    method: String,
    params: Option<Value>,
}

impl Key {
    /// Returns the key of `request`, and the progress token, which is not part of it.
    pub(super) fn of(request: &Request) -> (Self, Option<Value>) {
        let mut params: Option<Value> =
            request.params.as_ref().and_then(|params| params.decode().ok());
        let token = params.as_mut().and_then(take_token);
        if let Some(params) = params.as_mut().and_then(Value::as_object_mut)
            && request.method == method::INITIALIZE
        {
            params.remove("capabilities");
            params.remove("clientInfo");
        }
        (Self { method: request.method.to_string(), params }, token)
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }
}

/// Removes the progress token and all incidental members from the `_meta` of params. An empty `_meta` is removed too,
/// because a host that does not want progress omits it.
fn take_token(params: &mut Value) -> Option<Value> {
    let params = params.as_object_mut()?;
    let members = params.get_mut(meta::META)?.as_object_mut()?;
    let token = members.remove(meta::PROGRESS_TOKEN);
    members.retain(|name, _| !INCIDENTAL.contains(&name.as_str()));
    if members.is_empty() {
        params.remove(meta::META);
    }
    token
}

/// Returns `params` with its member `name` replaced by the result of `change`, if it returns one.
pub(super) fn rewritten(
    params: Option<&RawJson>,
    name: &str,
    change: impl FnOnce(&Value) -> Option<Value>,
) -> Option<RawJson> {
    let mut params: Value = params?.decode().ok()?;
    let member = params.as_object_mut()?.get_mut(name)?;
    *member = change(member)?;
    RawJson::encode(&params).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(method: &'static str, params: &str) -> Key {
        Key::of(&Request::new(1, method, RawJson::parse(params.to_owned()).ok())).0
    }

    #[test]
    fn trace_context_and_client_capabilities_do_not_tell_requests_apart() {
        let traced = r#"{"name":"a","_meta":{"traceparent":"00-1-1-01","tracestate":"v=1","progressToken":7,
            "io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}"#;
        assert_eq!(key("tools/call", traced), key("tools/call", r#"{"name":"a"}"#));
        let own = r#"{"name":"a","_meta":{"example.com/mode":"x"}}"#;
        assert_ne!(key("tools/call", own), key("tools/call", r#"{"name":"a"}"#));
        let hello = |form: &str| {
            let version = r#""protocolVersion":"2025-11-25""#;
            format!(r#"{{{version},"capabilities":{{"elicitation":{form}}},"clientInfo":{{}}}}"#)
        };
        assert_eq!(key("initialize", &hello("{}")), key("initialize", &hello(r#"{"url":{}}"#)));
    }
}
