//! What a tool's outcome looks like to a client of each revision.

use mcp_client::{Content, Era, ProtocolVersion, RawJson};

use crate::{
    outcome::ToolOutcome,
    serve::{
        error::ServeError,
        shared::{Keep, Shared},
    },
};

/// Writes the result of a call.
pub(crate) fn tool_result(
    shared: &Shared,
    version: ProtocolVersion,
    outcome: Result<ToolOutcome, ServeError>,
) -> Result<RawJson, ServeError> {
    let outcome = match outcome {
        // Old clients have no error for this, so their model gets to read it.
        Err(error @ ServeError::MissingCapability(_)) if version.era() == Era::Legacy => {
            ToolOutcome::error(error.to_string())
        }
        other => other?,
    };
    let mut content: Vec<Content> =
        outcome.content.into_iter().map(|block| as_known(version, block)).collect();
    if let (Some(structured), true) = (&outcome.structured, content.is_empty()) {
        // For those who do not look at structured content.
        content.push(Content::text(structured.as_str()));
    }
    let structured = outcome.structured.filter(|value| takes_structured(version, value));
    let content = RawJson::encode(&content)?;
    Ok(shared.result(version, Keep::Never, |result| {
        result.raw("content", &content);
        if let Some(structured) = &structured {
            result.raw("structuredContent", structured);
        }
        if outcome.is_error {
            result.boolean("isError", true);
        }
    }))
}

/// Structured content came with 2025-06-18 as objects, and is any value since 2026-07-28.
fn takes_structured(version: ProtocolVersion, value: &RawJson) -> bool {
    match version.era() {
        Era::Modern => true,
        Era::Legacy => version >= ProtocolVersion::V2025_06_18 && value.is_object(),
    }
}

/// A block that did not exist in `version` yet is told of in words.
fn as_known(version: ProtocolVersion, block: Content) -> Content {
    match &block {
        Content::Audio(sound) if version < ProtocolVersion::V2025_03_26 => {
            Content::text(format!("[a sound of type {}, left out]", sound.mime_type))
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
    use crate::serve::{error::ClientNeed, options::ServeOptions};

    fn result(version: ProtocolVersion, outcome: ToolOutcome) -> RawJson {
        let shared = Shared::new(ServeOptions::new("s", "1"), None);
        tool_result(&shared, version, Ok(outcome)).unwrap()
    }

    #[test]
    fn structured_content_reaches_those_who_know_it() {
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
    fn blocks_an_old_client_cannot_read_are_told_in_words() {
        let mut outcome = ToolOutcome::text("");
        outcome.content = vec![Content::audio("AAAA", "audio/wav")];
        let old = result(ProtocolVersion::V2024_11_05, outcome.clone());
        assert!(old.get("content").unwrap().as_str().contains("audio/wav, left out"));
        let new = result(ProtocolVersion::V2025_11_25, outcome);
        assert!(new.get("content").unwrap().as_str().contains(r#""type":"audio""#));
    }

    #[test]
    fn an_old_clients_model_reads_what_its_host_lacks() {
        let shared = Shared::new(ServeOptions::new("s", "1"), None);
        let missing = || Err(ServeError::MissingCapability(ClientNeed::Sampling));
        let old = tool_result(&shared, ProtocolVersion::V2025_11_25, missing()).unwrap();
        assert_eq!(old.get("isError").unwrap().as_str(), "true");
        assert!(tool_result(&shared, ProtocolVersion::V2026_07_28, missing()).is_err());
    }
}
