//! Tools made of others: renamed, narrowed, with fixed arguments, one after another.

use std::fmt;

use futures_core::future::BoxFuture;
use mcp_client::{Content, Delivery, RawJson};
use mcp_config::{CustomStep, CustomTool, Fingerprint};
use serde_json::{Map, Value};

use crate::{
    context::CallContext,
    hygiene::clean,
    lease::{Lease, LeaseCore},
    outcome::{FailureKind, ToolOutcome},
    tool::{Hints, Origin, Tool, ToolSpec},
};

/// Why a tool made of others cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CustomToolError {
    /// Another tool has this name.
    NameTaken(String),
    /// No provider would take its name, given here: it must have letters, digits, `_` and `-` only.
    BadName(String),
    /// The parameters of the tool named here are no schema of an object, for this reason.
    BadSchema(String, String),
}

impl fmt::Display for CustomToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken(name) => write!(f, "there is another tool called `{name}`"),
            Self::BadName(name) => write!(f, "no model could call a tool `{name}`"),
            Self::BadSchema(name, why) => write!(f, "the parameters of `{name}`: {why}"),
        }
    }
}

impl std::error::Error for CustomToolError {}

pub(super) struct Custom {
    spec: ToolSpec,
    steps: Vec<CustomStep>,
    lease: std::sync::Weak<LeaseCore>,
}

impl Custom {
    pub(super) fn new(tool: CustomTool, lease: &Lease) -> Result<Self, CustomToolError> {
        if tool.name.is_empty() || crate::name::sanitise(&tool.name) != tool.name {
            return Err(CustomToolError::BadName(tool.name));
        }
        // Another definition is another tool to whoever planned or approved this one.
        let hash = Fingerprint::of_tool(&tool).to_string();
        let mut spec = ToolSpec::new(tool.name, tool.description);
        if let Some(parameters) = tool.parameters {
            let bad = |why: String| CustomToolError::BadSchema(spec.name.clone(), why);
            let raw = RawJson::encode(&parameters).map_err(|error| bad(error.to_string()))?;
            spec.input_schema =
                crate::schema::admit(&raw).map_err(|error| bad(error.to_string()))?;
        }
        spec.origin = Origin::Custom;
        spec.hash = hash;
        // Each step is judged by itself. What it says of itself is no hint: it is as safe as its steps are.
        spec.hints = Hints { trusted: true, ..Hints::default() };
        Ok(Self { spec, steps: tool.steps, lease: lease.weak() })
    }

    async fn run(&self, arguments: RawJson, context: CallContext) -> ToolOutcome {
        // The bridge's own view of the tools; where only a conversation is left of it, one like that.
        let core = || context.lease.as_ref().map(|lease| lease.core.clone());
        let lease = self.lease.upgrade().or_else(|| Some(LeaseCore::plain(core()?)));
        let Some(lease) = lease else { return ToolOutcome::error("this bridge is gone") };
        let given: Map<String, Value> =
            serde_json::from_str(arguments.as_str()).unwrap_or_default();
        let mut last: Option<ToolOutcome> = None;
        for (index, step) in self.steps.iter().enumerate() {
            let mut all = Map::new();
            // Later steps get what they ask for, the first one gets everything.
            for (name, value) in &given {
                match step.rename.get(name) {
                    Some(other) => drop(all.insert(other.clone(), value.clone())),
                    None if index == 0 => drop(all.insert(name.clone(), value.clone())),
                    None => {}
                }
            }
            all.extend(step.fixed.clone());
            if let (Some(name), Some(last)) = (&step.result_as, &last) {
                all.insert(name.clone(), Value::String(last.text_content()));
            }
            let Ok(arguments) = RawJson::encode(&all) else {
                return ToolOutcome::error("its arguments cannot be written");
            };
            let outcome = lease.step(&step.tool, arguments, context.clone()).await;
            if outcome.is_error {
                return failed(outcome, index, self.steps.len(), &step.tool);
            }
            last = Some(outcome);
        }
        last.unwrap_or_else(|| ToolOutcome::error("it has no steps"))
    }
}

impl Tool for Custom {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(self.run(arguments, context))
    }
}

/// What a step's failure is to whoever called the whole.
fn failed(mut outcome: ToolOutcome, index: usize, steps: usize, tool: &str) -> ToolOutcome {
    let tool = clean(tool, 200).text;
    let before = match index {
        0 => String::new(),
        1 => "; step 1 has run".to_owned(),
        _ => format!("; steps 1 to {index} have run"),
    };
    let text = format!("step {} of {steps}, {tool}, failed{before}:", index + 1);
    outcome.content.insert(0, Content::text(text));
    if let Some(failure) = &mut outcome.failure {
        if index > 0 {
            // Whatever became of this one: trying again would do the others again.
            failure.delivery = Delivery::Executed;
        }
        if matches!(failure.kind, FailureKind::InvalidArguments) {
            // They are not the caller's, whose own were checked.
            failure.kind = FailureKind::Rejected;
        }
    }
    outcome
}
