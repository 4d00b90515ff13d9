//! Metadata of a request: its `_meta`, and its HTTP headers.

use mcp_jsonrpc::RawJson;
use mcp_tool::TraceParent;
use mcp_types::{LogLevel, ProtocolVersion, meta::RESERVED_PREFIX};

/// The supported revisions without sessions.
pub(crate) const MODERN: &[ProtocolVersion] = &[ProtocolVersion::V2026_07_28];

/// The parsed `_meta` of a request.
#[derive(Debug, Default)]
pub(crate) struct Meta {
    pub(crate) version: Option<String>,
    pub(crate) capabilities: Option<RawJson>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) progress_token: Option<RawJson>,
    /// The name and version of the client, as it gave them.
    pub(crate) client_info: Option<RawJson>,
    pub(crate) trace_parent: Option<TraceParent>,
    pub(crate) trace_state: Option<String>,
    /// Keys that the protocol does not define.
    pub(crate) extra: Vec<(String, RawJson)>,
}

impl Meta {
    pub(crate) fn of(params: Option<&RawJson>) -> Self {
        let mut meta = Self::default();
        for (key, value) in params.and_then(|p| p.get("_meta")).iter().flat_map(RawJson::members) {
            let text = || value.decode::<String>().ok();
            match key.strip_prefix(RESERVED_PREFIX).unwrap_or(&key) {
                "protocolVersion" => meta.version = text(),
                "clientCapabilities" => {
                    meta.capabilities = Some(value).filter(RawJson::is_object);
                }
                "logLevel" => meta.log_level = text().as_deref().and_then(LogLevel::parse),
                "clientInfo" => meta.client_info = Some(value.detached()),
                "progressToken" => meta.progress_token = Some(value.detached()),
                "tracestate" => meta.trace_state = text(),
                "traceparent" => meta.trace_parent = text().and_then(|text| text.parse().ok()),
                _ => {
                    let value = value.detached();
                    meta.extra.push((key, value));
                }
            }
        }
        meta
    }
}

/// Metadata that the transport delivers with a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The MCP headers, if the message came over HTTP.
    pub(crate) headers: Option<Headers>,
}

/// Headers that repeat parts of the body, so that proxies need not parse it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers {
    pub(crate) version: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) name: Option<String>,
    /// `Mcp-Param-…`, by name in lower case.
    pub(crate) params: Vec<(String, String)>,
}

impl Headers {
    /// Whether the headers are of the era without sessions.
    pub(crate) fn is_modern(&self) -> bool {
        let known = self.version.as_deref().and_then(ProtocolVersion::parse);
        known.is_some_and(|version| MODERN.contains(&version))
    }

    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.params.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_is_read_with_and_without_its_prefix() {
        let params = RawJson::parse(
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
                "io.modelcontextprotocol/clientCapabilities":{},"progressToken":7,
                "io.modelcontextprotocol/logLevel":"notice","example/own":[1]}}"#,
        );
        let meta = Meta::of(Some(&params.unwrap()));
        assert_eq!(meta.version.as_deref(), Some("2026-07-28"));
        assert!(meta.capabilities.is_some());
        assert_eq!(meta.progress_token.unwrap().as_str(), "7");
        assert_eq!(meta.log_level, Some(LogLevel::Notice));
        assert!(
            matches!(&meta.extra[..], [(key, value)] if key == "example/own" && value.as_str() == "[1]")
        );
        assert!(Meta::of(None).version.is_none());
    }
}
