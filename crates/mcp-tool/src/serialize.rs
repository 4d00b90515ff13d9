//! JSON serialization of specs and outcomes, for logs and user interfaces.
//!
//! Both extend objects of the protocol: [`ToolSpec`] is serialized as a `Tool` and [`ToolOutcome`] as a
//! `CallToolResult`, each with additional members of the host. The shapes are part of the crate's API. They are
//! written by hand, to avoid a dependency on proc macros.

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    origin::{Offer, Origin},
    outcome::{Failure, FailureKind, Note, ToolOutcome},
    tool::{Hints, ToolSpec},
};

/// Writes a member unless it is `None`.
fn optional<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &'static str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}

impl Serialize for ToolSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        optional(&mut map, "title", self.title.as_ref())?;
        map.serialize_entry("description", &self.description)?;
        map.serialize_entry("inputSchema", &self.input_schema)?;
        optional(&mut map, "outputSchema", self.output_schema.as_ref())?;
        map.serialize_entry("hints", &self.hints)?;
        map.serialize_entry("origin", &self.origin)?;
        if !self.hash.is_empty() {
            map.serialize_entry("hash", &self.hash)?;
            map.serialize_entry("generation", &self.generation)?;
        }
        optional(&mut map, "_meta", self.meta.as_ref())?;
        map.end()
    }
}

impl Serialize for Hints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        optional(&mut map, "readOnly", self.read_only.as_ref())?;
        optional(&mut map, "destructive", self.destructive.as_ref())?;
        optional(&mut map, "idempotent", self.idempotent.as_ref())?;
        optional(&mut map, "openWorld", self.open_world.as_ref())?;
        map.serialize_entry("trusted", &self.trusted)?;
        map.end()
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Origin::Host => map.serialize_entry("type", "host")?,
            Origin::Custom => map.serialize_entry("type", "custom")?,
            Origin::Server { server, tool } => {
                map.serialize_entry("type", "server")?;
                map.serialize_entry("server", &**server)?;
                map.serialize_entry("tool", &**tool)?;
            }
            Origin::Offer { server, offer } => {
                let kind = match offer {
                    Offer::Resource { .. } => "resource",
                    Offer::Prompt { .. } => "prompt",
                    Offer::Instructions => "instructions",
                    Offer::Login => "login",
                };
                map.serialize_entry("type", kind)?;
                map.serialize_entry("server", &**server)?;
                match offer {
                    Offer::Resource { uri, listed } => {
                        map.serialize_entry("uri", &**uri)?;
                        map.serialize_entry("listed", listed)?;
                    }
                    Offer::Prompt { name } => map.serialize_entry("name", &**name)?,
                    Offer::Instructions | Offer::Login => {}
                }
            }
        }
        map.end()
    }
}

impl Serialize for ToolOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("content", &self.content)?;
        optional(&mut map, "structuredContent", self.structured.as_ref())?;
        map.serialize_entry("isError", &self.is_error)?;
        optional(&mut map, "failure", self.failure.as_ref())?;
        if !self.notes.is_empty() {
            map.serialize_entry("notes", &self.notes)?;
        }
        optional(&mut map, "_meta", self.meta.as_ref())?;
        map.end()
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("delivery", Failure::delivery_name(self.delivery))?;
        optional(&mut map, "missing", self.missing.as_ref())?;
        map.end()
    }
}

impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Note::Truncated { chars, kept_in } => {
                map.serialize_entry("type", "truncated")?;
                map.serialize_entry("chars", chars)?;
                let kept_in = kept_in.as_ref().map(|path| path.to_string_lossy());
                optional(&mut map, "keptIn", kept_in.as_ref())?;
            }
            Note::Repaired { changes } => {
                map.serialize_entry("type", "repaired")?;
                map.serialize_entry("changes", changes)?;
            }
            Note::Retried { failures, waited } => {
                map.serialize_entry("type", "retried")?;
                map.serialize_entry("failures", failures)?;
                let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
                map.serialize_entry("waitedMs", &waited)?;
            }
            Note::Redacted => map.serialize_entry("type", "redacted")?,
            Note::DefinitionChanged => map.serialize_entry("type", "definition_changed")?,
            Note::OutputMismatch { problem } => {
                map.serialize_entry("type", "output_mismatch")?;
                map.serialize_entry("problem", problem)?;
            }
            Note::Unchecked { reason } => {
                map.serialize_entry("type", "unchecked")?;
                map.serialize_entry("reason", reason)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcp_jsonrpc::{Delivery, RawJson};
    use mcp_types::CallToolResult;

    use super::*;

    fn json(value: &impl Serialize) -> String {
        RawJson::encode(value).unwrap().as_str().to_owned()
    }

    #[test]
    fn outcome_is_written_as_a_result_with_its_failure_and_notes() {
        let mut outcome =
            ToolOutcome::failed(FailureKind::TimedOut, Delivery::Unknown, "no answer after 5 s");
        outcome.meta = RawJson::parse(r#"{"a/b":1}"#).ok();
        outcome.notes = vec![
            Note::Truncated { chars: 9, kept_in: Some("/tmp/x".into()) },
            Note::Repaired { changes: vec!["b: text → number".into()] },
            Note::Retried { failures: 2, waited: Duration::from_millis(1500) },
            Note::Redacted,
            Note::DefinitionChanged,
            Note::OutputMismatch { problem: "p".into() },
            Note::Unchecked { reason: "r".into() },
        ];
        let written = json(&outcome);
        assert_eq!(
            written,
            concat!(
                r#"{"content":[{"type":"text","text":"no answer after 5 s"}],"isError":true,"#,
                r#""failure":{"kind":"timed_out","delivery":"unknown"},"notes":["#,
                r#"{"type":"truncated","chars":9,"keptIn":"/tmp/x"},"#,
                r#"{"type":"repaired","changes":["b: text → number"]},"#,
                r#"{"type":"retried","failures":2,"waitedMs":1500},"#,
                r#"{"type":"redacted"},{"type":"definition_changed"},"#,
                r#"{"type":"output_mismatch","problem":"p"},"#,
                r#"{"type":"unchecked","reason":"r"}],"_meta":{"a/b":1}}"#,
            )
        );
        let read: CallToolResult = RawJson::parse(written).unwrap().decode().unwrap();
        assert!(read.is_error && read.text() == "no answer after 5 s");
        let plain = ToolOutcome::structured(&[1, 2]);
        assert_eq!(
            json(&plain),
            r#"{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2],"isError":false}"#
        );
    }

    #[test]
    fn spec_is_written_as_a_tool_with_its_hints_and_origin() {
        let mut spec = ToolSpec::new("mcp__files__read", "Reads a file.");
        spec.title = Some("Read".into());
        spec.hints = Hints::reading();
        spec.origin = Origin::Server { server: "files".into(), tool: "read".into() };
        spec.hash = "c0ffee".into();
        spec.generation = 3;
        spec.meta = RawJson::parse(r#"{"ui":{}}"#).ok();
        assert_eq!(
            json(&spec),
            concat!(
                r#"{"name":"mcp__files__read","title":"Read","description":"Reads a file.","#,
                r#""inputSchema":{"type":"object","properties":{}},"#,
                r#""hints":{"readOnly":true,"destructive":false,"idempotent":true,"#,
                r#""openWorld":false,"trusted":true},"#,
                r#""origin":{"type":"server","server":"files","tool":"read"},"#,
                r#""hash":"c0ffee","generation":3,"_meta":{"ui":{}}}"#,
            )
        );
        let offered = |offer| json(&Origin::Offer { server: "s".into(), offer });
        let resource = Offer::Resource { uri: "a:b".into(), listed: true };
        assert_eq!(
            offered(resource),
            r#"{"type":"resource","server":"s","uri":"a:b","listed":true}"#
        );
        assert_eq!(offered(Offer::Login), r#"{"type":"login","server":"s"}"#);
        assert_eq!(json(&Origin::Host), r#"{"type":"host"}"#);
    }
}
