//! Writes a tool's outcome as the result that each revision expects.

use mcp_jsonrpc::RawJson;
use mcp_tool::ToolOutcome;
use mcp_types::{Content, Era, ProtocolVersion};

use crate::{
    error::ServeError,
    shared::{CachePolicy, Shared},
};

/// Writes the result of a tool call.
pub(crate) fn tool_result(
    shared: &Shared,
    version: ProtocolVersion,
    outcome: Result<ToolOutcome, ServeError>,
) -> Result<RawJson, ServeError> {
    let outcome = match outcome {
        // Legacy revisions have no error code for this, so the model reads it as a tool error.
        Err(error @ ServeError::MissingCapability(_)) if version.era() == Era::Legacy => {
            ToolOutcome::error(error.to_string())
        }
        other => other?,
    };
    let mut content: Vec<Content> =
        outcome.content.into_iter().map(|block| downgrade(version, block)).collect();
    if let (Some(structured), true) = (&outcome.structured, content.is_empty()) {
        // Repeat structured content as text, for clients that ignore it:
        // <https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content>
        content.push(Content::text(structured.as_str()));
    }
    let structured = outcome.structured.filter(|value| takes_structured(version, value));
    let content = RawJson::encode(&content)?;
    Ok(shared.result_with_meta(version, CachePolicy::Undefined, outcome.meta.as_ref(), |result| {
        result.raw("content", &content);
        if let Some(structured) = &structured {
            result.raw("structuredContent", structured);
        }
        if outcome.is_error {
            result.boolean("isError", true);
        }
    }))
}

/// Structured content was added in 2025-06-18 for objects, and allows any value since 2026-07-28.
fn takes_structured(version: ProtocolVersion, value: &RawJson) -> bool {
    match version.era() {
        Era::Modern => true,
        Era::Legacy => version >= ProtocolVersion::V2025_06_18 && value.is_object(),
    }
}

/// Replaces a content block that does not exist in `version` by text.
fn downgrade(version: ProtocolVersion, block: Content) -> Content {
    match &block {
        Content::Audio(sound) if version < ProtocolVersion::V2025_03_26 => {
            Content::text(format!("[audio of type {}, omitted]", sound.mime_type))
        }
        Content::ResourceLink(link) if version < ProtocolVersion::V2025_06_18 => {
            Content::text(format!("{}: {}", link.name, link.uri))
        }
        _ => block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::ClientNeed, options::ServeOptions};

    fn result(version: ProtocolVersion, outcome: ToolOutcome) -> RawJson {
        let shared = Shared::new(ServeOptions::new("s", "1"), None);
        tool_result(&shared, version, Ok(outcome)).unwrap()
    }

    #[test]
    fn structured_content_is_sent_to_revisions_that_support_it() {
        let outcome = |json: &str| {
            let mut outcome = ToolOutcome::text("");
            outcome.content.clear();
            outcome.structured = Some(RawJson::parse(json.to_owned()).unwrap());
            outcome
        };
        let old = result(ProtocolVersion::V2025_03_26, outcome(r#"{"a":1}"#));
        assert!(old.get("structuredContent").is_none());
        assert!(old.get("content").unwrap().as_str().contains(r#"{\"a\":1}"#));
        let new = result(ProtocolVersion::V2025_11_25, outcome(r#"{"a":1}"#));
        assert_eq!(new.get("structuredContent").unwrap().as_str(), r#"{"a":1}"#);
        assert!(new.get("content").unwrap().as_str().contains(r#"{\"a\":1}"#));
        assert!(
            result(ProtocolVersion::V2025_11_25, outcome("7")).get("structuredContent").is_none()
        );
        let modern = result(ProtocolVersion::V2026_07_28, outcome("null"));
        assert!(modern.get("structuredContent").unwrap().is_null());
        assert_eq!(modern.get("resultType").unwrap().as_str(), r#""complete""#);
    }

    #[test]
    fn meta_of_an_outcome_reaches_clients_of_both_eras() {
        let mut outcome = ToolOutcome::text("");
        outcome.meta =
            RawJson::parse(r#"{"a/b":1,"io.modelcontextprotocol/serverInfo":"forged"}"#).ok();
        let old = result(ProtocolVersion::V2025_11_25, outcome.clone()).get("_meta").unwrap();
        assert_eq!(old.get("a/b").unwrap().as_str(), "1");
        let new = result(ProtocolVersion::V2026_07_28, outcome.clone()).get("_meta").unwrap();
        assert_eq!(new.get("a/b").unwrap().as_str(), "1");
        let info = new.get("io.modelcontextprotocol/serverInfo").unwrap();
        assert_eq!(info.get("name").unwrap().as_str(), r#""s""#);
        outcome.meta = RawJson::parse("[1]").ok();
        assert!(result(ProtocolVersion::V2025_11_25, outcome).get("_meta").is_none());
    }

    #[test]
    fn unsupported_content_is_replaced_by_text() {
        let mut outcome = ToolOutcome::text("");
        outcome.content = vec![Content::audio("AAAA", "audio/wav")];
        let old = result(ProtocolVersion::V2024_11_05, outcome.clone());
        assert!(old.get("content").unwrap().as_str().contains("audio/wav, omitted"));
        let new = result(ProtocolVersion::V2025_11_25, outcome);
        assert!(new.get("content").unwrap().as_str().contains(r#""type":"audio""#));
    }

    #[test]
    fn missing_capability_is_a_tool_error_for_legacy_clients() {
        let shared = Shared::new(ServeOptions::new("s", "1"), None);
        let missing = || Err(ServeError::MissingCapability(ClientNeed::Sampling));
        let old = tool_result(&shared, ProtocolVersion::V2025_11_25, missing()).unwrap();
        assert_eq!(old.get("isError").unwrap().as_str(), "true");
        assert!(tool_result(&shared, ProtocolVersion::V2026_07_28, missing()).is_err());
    }
}
