//! Tools made of others: renamed, narrowed, with fixed arguments, one after another.

use std::fmt;

use futures_core::future::BoxFuture;
use mcp_client::RawJson;
use serde_json::{Map, Value};

use crate::{
    context::CallContext,
    lease::Lease,
    outcome::ToolOutcome,
    tool::{Hints, Tool, ToolSpec},
};

/// The most steps a tool may have.
const MOST: usize = 8;

/// A tool made of others.
///
/// ```
/// use mcp_bridge::CustomTool;
///
/// let tool = CustomTool::parse(r#"{
///     "name": "my_open_issues",
///     "description": "The issues that are assigned to me.",
///     "parameters": {"type": "object", "properties": {"label": {"type": "string"}}},
///     "readOnly": true,
///     "steps": [{"tool": "mcp__github__list_issues", "fixed": {"assignee": "me"}}]
/// }"#)?;
/// assert_eq!(tool.steps.len(), 1);
/// # Ok::<(), mcp_bridge::CustomToolError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CustomTool {
    /// What the model calls it by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it takes. Default: nothing.
    pub parameters: Option<RawJson>,
    /// Whether it changes nothing, for plan mode. Default no.
    pub read_only: bool,
    /// What it does, in order. What the last step gives is its result; the first that fails ends it.
    pub steps: Vec<CustomStep>,
}

/// One call of another tool.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CustomStep {
    /// The other tool's name.
    pub tool: String,
    /// Arguments that are always the same. They win over those of the call.
    pub fixed: Map<String, Value>,
    /// Other names for the call's arguments: from ours to the other tool's.
    pub rename: Map<String, Value>,
    /// The argument that gets the text of the step before.
    pub result_as: Option<String>,
}

/// Why a description is not one of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomToolError(String);

impl fmt::Display for CustomToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CustomToolError {}

impl CustomTool {
    /// Reads a tool as configuration files describe it.
    pub fn parse(json: &str) -> Result<Self, CustomToolError> {
        let wrong = |what: &str| CustomToolError(what.to_owned());
        let value: Value =
            serde_json::from_str(json).map_err(|error| CustomToolError(error.to_string()))?;
        let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
        let object = |value: &Value, name: &str| match value.get(name) {
            None => Ok(Map::new()),
            Some(Value::Object(members)) => Ok(members.clone()),
            Some(_) => Err(CustomToolError(format!("`{name}` must be an object"))),
        };
        let name = text(&value, "name").filter(|name| crate::name::sanitise(name) == *name);
        let name =
            name.ok_or_else(|| wrong("`name` must have only letters, digits, `_` and `-`"))?;
        let steps = value.get("steps").and_then(Value::as_array);
        let steps = steps.filter(|steps| (1..=MOST).contains(&steps.len()));
        let steps = steps.ok_or_else(|| CustomToolError(format!("`steps` must be 1 to {MOST}")))?;
        let step = |step: &Value| {
            Ok(CustomStep {
                tool: text(step, "tool").ok_or_else(|| wrong("each step needs a `tool`"))?,
                fixed: object(step, "fixed")?,
                rename: object(step, "rename")?,
                result_as: text(step, "resultAs"),
            })
        };
        let parameters = match value.get("parameters") {
            None => None,
            Some(schema) => {
                let raw = RawJson::encode(schema).map_err(|e| CustomToolError(e.to_string()))?;
                Some(crate::schema::admit(&raw).map_err(|e| CustomToolError(e.to_string()))?)
            }
        };
        Ok(Self {
            description: text(&value, "description").unwrap_or_default(),
            parameters,
            read_only: value.get("readOnly").and_then(Value::as_bool).unwrap_or(false),
            steps: steps.iter().map(step).collect::<Result<_, _>>()?,
            name,
        })
    }
}

pub(super) struct Custom {
    spec: ToolSpec,
    steps: Vec<CustomStep>,
    lease: std::sync::Weak<crate::lease::LeaseCore>,
}

impl Custom {
    pub(super) fn new(tool: CustomTool, lease: &Lease) -> Self {
        let mut spec = ToolSpec::new(tool.name, tool.description);
        if let Some(parameters) = tool.parameters {
            spec.input_schema = parameters;
        }
        // Each step is judged by itself; only plan mode looks at the whole.
        spec.hints = Hints { read_only: Some(tool.read_only), trusted: true, ..Hints::default() };
        Self { spec, steps: tool.steps, lease: lease.weak() }
    }

    async fn run(&self, arguments: RawJson, context: CallContext) -> ToolOutcome {
        let Some(lease) = self.lease.upgrade() else {
            return ToolOutcome::error("this bridge is gone");
        };
        let given: Map<String, Value> =
            serde_json::from_str(arguments.as_str()).unwrap_or_default();
        let mut last: Option<ToolOutcome> = None;
        for (index, step) in self.steps.iter().enumerate() {
            let mut all = Map::new();
            // Later steps get what they ask for, the first one gets everything.
            for (name, value) in &given {
                match step.rename.get(name).and_then(Value::as_str) {
                    Some(other) => drop(all.insert(other.to_owned(), value.clone())),
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
                return outcome;
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
