//! Arguments and results against the schemas a server published.

#[cfg(feature = "validate")]
mod validator;

use std::sync::OnceLock;

use mcp_client::RawJson;
use serde_json::Value;

#[cfg(feature = "validate")]
use self::validator::Validator;
use crate::{outcome::ToolOutcome, repair::repair, tool::ToolSpec};

/// What is prepared once for all calls of a tool, when the first one needs it.
#[derive(Default)]
pub(crate) struct Check {
    schema: OnceLock<Value>,
    #[cfg(feature = "validate")]
    input: OnceLock<Validator>,
    #[cfg(feature = "validate")]
    output: OnceLock<Validator>,
}

/// What became of arguments.
pub(crate) enum Checked {
    /// As they were.
    Same,
    /// Put right, in these places.
    Repaired(RawJson, Vec<String>),
    /// Wrong, for these reasons.
    Invalid(Vec<String>),
}

impl Check {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Looks at the arguments of a call before they leave.
    pub(crate) fn arguments(&self, spec: &ToolSpec, arguments: &RawJson) -> Checked {
        let schema = self
            .schema
            .get_or_init(|| serde_json::from_str(spec.input_schema.as_str()).unwrap_or_default());
        let Ok(mut value) = serde_json::from_str::<Value>(arguments.as_str()) else {
            return Checked::Invalid(vec!["arguments: not JSON".into()]);
        };
        let was_null = value.is_null();
        let changes = repair(&mut value, schema);
        if !value.is_object() {
            return Checked::Invalid(vec!["arguments: must be an object".into()]);
        }
        #[cfg(feature = "validate")]
        {
            let validator = self.input.get_or_init(|| Validator::new(schema, &spec.name));
            let problems = validator.problems(&value);
            if !problems.is_empty() {
                return Checked::Invalid(problems);
            }
        }
        if changes.is_empty() && !was_null {
            return Checked::Same;
        }
        match RawJson::encode(&value) {
            Ok(repaired) => Checked::Repaired(repaired, changes),
            Err(error) => Checked::Invalid(vec![error.to_string()]),
        }
    }

    /// Looks at a result before the model sees it. One that does not fit is passed on all the same, with a
    /// note: the model can read it, and a program is warned.
    #[cfg(feature = "validate")]
    pub(crate) fn result(&self, spec: &ToolSpec, outcome: &mut ToolOutcome) {
        let Some(schema) = spec.output_schema.as_ref().filter(|_| !outcome.is_error) else {
            return;
        };
        let validator = self.output.get_or_init(|| {
            let schema = serde_json::from_str(schema.as_str()).unwrap_or_default();
            Validator::new(&schema, &spec.name)
        });
        let problem = match &outcome.structured {
            None => Some("there is no structured content".to_owned()),
            Some(raw) => match serde_json::from_str(raw.as_str()) {
                Ok(value) => validator.problems(&value).into_iter().next(),
                Err(_) => Some("it is not JSON".to_owned()),
            },
        };
        if let Some(problem) = problem {
            outcome.notes.push(crate::outcome::Note::OutputMismatch { problem });
        }
    }

    /// Nothing is checked in this build.
    #[cfg(not(feature = "validate"))]
    #[expect(clippy::unused_self, reason = "the same method checks when the feature is on")]
    pub(crate) fn result(&self, _: &ToolSpec, _: &mut ToolOutcome) {}
}
