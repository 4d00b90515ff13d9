//! What a request says about itself: its `_meta`, and on HTTP its headers.

use mcp_client::{LogLevel, ProtocolVersion, RawJson};

use crate::trace::TraceParent;

const PREFIX: &str = "io.modelcontextprotocol/";

/// The newest revision with a session.
pub(crate) const NEWEST_LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
/// The revisions without one that we serve.
pub(crate) const MODERN: &[ProtocolVersion] = &[ProtocolVersion::V2026_07_28];

/// What `_meta` of a request says.
#[derive(Debug, Default)]
pub(crate) struct Meta {
    pub(crate) version: Option<String>,
    pub(crate) capabilities: Option<RawJson>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) progress_token: Option<RawJson>,
    pub(crate) trace_parent: Option<TraceParent>,
}

impl Meta {
    pub(crate) fn of(params: Option<&RawJson>) -> Self {
        let mut meta = Self::default();
        for (key, value) in params.and_then(|p| p.get("_meta")).iter().flat_map(RawJson::members) {
            let text = || value.decode::<String>().ok();
            match key.strip_prefix(PREFIX).unwrap_or(&key) {
                "protocolVersion" => meta.version = text(),
                "clientCapabilities" => {
                    meta.capabilities = Some(value).filter(RawJson::is_object);
                }
                "logLevel" => meta.log_level = text().as_deref().and_then(parse_level),
                "progressToken" => meta.progress_token = Some(value.detached()),
                "traceparent" => meta.trace_parent = text().and_then(|text| text.parse().ok()),
                _ => {}
            }
        }
        meta
    }
}

pub(crate) fn parse_level(text: &str) -> Option<LogLevel> {
    use LogLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
    [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency]
        .into_iter()
        .find(|level| level.as_str() == text)
}

/// What came with a message besides itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The headers that say something about the message, if it came by HTTP.
    pub(crate) headers: Option<Headers>,
}

/// Headers that repeat parts of the body, so that machines in between need not read it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers {
    pub(crate) version: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) name: Option<String>,
    /// `Mcp-Param-…`, by name in lower case.
    pub(crate) params: Vec<(String, String)>,
}

impl Headers {
    /// Whether they are of the era without sessions.
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
                "io.modelcontextprotocol/logLevel":"notice"}}"#,
        );
        let meta = Meta::of(Some(&params.unwrap()));
        assert_eq!(meta.version.as_deref(), Some("2026-07-28"));
        assert!(meta.capabilities.is_some());
        assert_eq!(meta.progress_token.unwrap().as_str(), "7");
        assert_eq!(meta.log_level, Some(LogLevel::Notice));
        assert!(Meta::of(None).version.is_none());
    }
}
