//! Validates arguments and results against the schemas of a server.

#[cfg(feature = "validate")]
mod validator;

use std::sync::{Arc, OnceLock};

use mcp_client::RawJson;
use mcp_tool::{Note, ToolOutcome, ToolSpec};
use serde_json::Value;

#[cfg(feature = "validate")]
use self::validator::Validator;
use crate::tools::repair::repair;

/// The validators of a tool, compiled on first use.
#[derive(Default)]
pub(crate) struct Check {
    schema: OnceLock<Value>,
    #[cfg(feature = "validate")]
    input: Validator,
    #[cfg(feature = "validate")]
    output: Validator,
}

/// Arguments that may be sent, with their parsed value so that they are parsed once.
pub(crate) struct Checked {
    /// The text to send in place of the original.
    pub(crate) repaired: Option<RawJson>,
    pub(crate) value: Arc<Value>,
    /// Repairs, and the reason if the arguments were not checked.
    pub(crate) notes: Vec<Note>,
}

impl Checked {
    /// Accepts arguments without validation. They must still be an object.
    pub(crate) fn as_given(arguments: &RawJson) -> Result<Self, Vec<String>> {
        match serde_json::from_str::<Value>(arguments.as_str()) {
            Ok(value) if value.is_object() => {
                Ok(Self { repaired: None, value: Arc::new(value), notes: Vec::new() })
            }
            Ok(_) => Err(vec!["arguments: must be an object".into()]),
            Err(_) => Err(vec!["arguments: not JSON".into()]),
        }
    }
}

impl Check {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Repairs and validates the arguments of a call. The error lists the problems.
    ///
    /// # Cancel safety
    /// A check on another thread continues there until it is done.
    #[cfg_attr(
        not(feature = "validate"),
        expect(clippy::unused_async, reason = "only the feature awaits")
    )]
    pub(crate) async fn arguments(
        &self,
        spec: &ToolSpec,
        arguments: &RawJson,
    ) -> Result<Checked, Vec<String>> {
        let schema = self
            .schema
            .get_or_init(|| serde_json::from_str(spec.input_schema.as_str()).unwrap_or_default());
        let Ok(mut value) = serde_json::from_str::<Value>(arguments.as_str()) else {
            return Err(vec!["arguments: not JSON".into()]);
        };
        let was_null = value.is_null();
        let changes = repair(&mut value, schema);
        if !value.is_object() {
            return Err(vec!["arguments: must be an object".into()]);
        }
        let repaired = (was_null || !changes.is_empty()).then(|| RawJson::encode(&value));
        let repaired = repaired.transpose().map_err(|error| vec![error.to_string()])?;
        let mut notes = Vec::new();
        if !changes.is_empty() {
            notes.push(Note::Repaired { changes });
        }
        let value = Arc::new(value);
        #[cfg(feature = "validate")]
        match self.input.problems(&spec.input_schema, arguments, Some(value.clone())).await {
            Ok(problems) if problems.is_empty() => {}
            Ok(problems) => return Err(problems),
            Err(reason) => notes.push(unchecked("arguments", &spec.name, &reason)),
        }
        Ok(Checked { repaired, value, notes })
    }

    /// Validates a result before the model sees it. An invalid result is passed on with a note, because the
    /// model can still read it.
    #[cfg(feature = "validate")]
    pub(crate) async fn result(&self, spec: &ToolSpec, outcome: &mut ToolOutcome) {
        let Some(schema) = spec.output_schema.as_ref().filter(|_| !outcome.is_error) else {
            return;
        };
        let found = match &outcome.structured {
            None => Ok(vec!["structured content is missing".to_owned()]),
            Some(structured) => self.output.problems(schema, structured, None).await,
        };
        outcome.notes.extend(match found {
            Ok(problems) => {
                problems.into_iter().next().map(|problem| Note::OutputMismatch { problem })
            }
            Err(reason) => Some(unchecked("the result", &spec.name, &reason)),
        });
    }

    /// Without the feature, results are not validated.
    #[cfg(not(feature = "validate"))]
    #[expect(clippy::unused_async, reason = "same signature as with the feature")]
    pub(crate) async fn result(&self, _: &ToolSpec, _: &mut ToolOutcome) {}
}

#[cfg(feature = "validate")]
fn unchecked(what: &str, tool: &str, reason: &str) -> Note {
    let reason = format!("{what} not checked: {reason}");
    tracing::warn!(tool, reason, "called unchecked");
    Note::Unchecked { reason }
}
