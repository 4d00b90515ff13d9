//! Composed tools: other tools renamed, narrowed, given fixed arguments, or run in sequence.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use futures_core::future::BoxFuture;
use mcp_client::{Content, Delivery, RawJson};
use mcp_config::{
    approval::Fingerprint,
    custom::{CustomStep, CustomTool},
};
use mcp_tool::{CallContext, FailureKind, Hints, Origin, ToolOutcome, ToolSpec};
use serde_json::{Map, Value};

use crate::{
    call::{gate::Gate, not_found},
    directory::Directory,
    sanitize::clean,
    tools::{
        name::{is_called, is_safe},
        registry::Registered,
        schema,
        scope::{Scope, ScopedTool},
    },
};

/// Why a composed tool cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CustomToolError {
    /// Another tool has this name.
    NameTaken(String),
    /// The name, given here, is invalid for model providers: it may have letters, digits, `_` and `-` only.
    BadName(String),
    /// The parameters of the tool named here are not an object schema, for this reason.
    BadSchema(String, String),
}

impl fmt::Display for CustomToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken(name) => write!(f, "the tool name `{name}` is already in use"),
            Self::BadName(name) => {
                write!(f, "invalid tool name `{name}`: use letters, digits, `_` and `-`")
            }
            Self::BadSchema(name, why) => write!(f, "the parameters of `{name}`: {why}"),
        }
    }
}

impl std::error::Error for CustomToolError {}

/// A tool composed of other tools.
pub(crate) struct Custom {
    spec: ToolSpec,
    steps: Vec<CustomStep>,
    /// Weak, because the directory owns its tools.
    directory: Weak<Directory>,
}

impl Custom {
    pub(crate) fn new(
        tool: CustomTool,
        directory: &Arc<Directory>,
    ) -> Result<Self, CustomToolError> {
        if !is_safe(&tool.name) {
            return Err(CustomToolError::BadName(tool.name));
        }
        // The hash covers the whole definition, so plans and approvals do not carry over to a changed definition.
        let hash = Fingerprint::of_tool(&tool).to_string();
        let mut spec = ToolSpec::new(tool.name, tool.description);
        if let Some(parameters) = tool.parameters {
            let bad = |why: String| CustomToolError::BadSchema(spec.name.clone(), why);
            let raw = RawJson::encode(&parameters).map_err(|error| bad(error.to_string()))?;
            spec.input_schema = schema::admit(&raw).map_err(|error| bad(error.to_string()))?;
        }
        spec.origin = Origin::Custom;
        spec.hash = hash;
        // Each step is checked separately, so the tool's own claims are not used as hints: it is as safe as its steps.
        spec.hints = Hints::default();
        spec.hints.trusted = true;
        Ok(Self { spec, steps: tool.steps, directory: Arc::downgrade(directory) })
    }

    async fn run(&self, arguments: RawJson, context: CallContext, scope: Scope) -> ToolOutcome {
        let Some(directory) = self.directory.upgrade() else {
            return ToolOutcome::error("the bridge was shut down");
        };
        let given: Map<String, Value> =
            serde_json::from_str(arguments.as_str()).unwrap_or_default();
        let mut last: Option<ToolOutcome> = None;
        for (index, step) in self.steps.iter().enumerate() {
            let mut all = Map::new();
            // The first step receives all arguments; later steps receive only those they rename.
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
                return ToolOutcome::error("the arguments of a step cannot be encoded as JSON");
            };
            let outcome =
                call_step(&directory, &step.tool, arguments, context.clone(), &scope).await;
            if outcome.is_error {
                return failed(outcome, index, self.steps.len(), &step.tool);
            }
            last = Some(outcome);
        }
        last.unwrap_or_else(|| ToolOutcome::error("this tool has an empty list of steps"))
    }
}

impl ScopedTool for Custom {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(
        &self,
        arguments: RawJson,
        context: CallContext,
        scope: Scope,
    ) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(self.run(arguments, context, scope))
    }
}

/// Calls a tool as a step of a composed tool. A composed tool cannot be a step.
async fn call_step(
    directory: &Arc<Directory>,
    name: &str,
    arguments: RawJson,
    context: CallContext,
    scope: &Scope,
) -> ToolOutcome {
    let mut registered = meant(directory, name);
    if registered.is_none()
        && let Some((server, tool)) = directory.server_of(name)
        && server.look_for(tool).await
    {
        registered = meant(directory, name);
    }
    // The steps may be tools that the conversation does not see, but not tools that are denied to it.
    let denies = |r: &Arc<Registered>| scope.caller.filter.denies(r.tool.spec());
    let Some(registered) = registered.filter(|r| !denies(r)) else { return not_found(name, &[]) };
    let gate = Gate { registered, directory: directory.clone(), caller: scope.caller.clone() };
    Box::pin(gate.run(arguments, context, scope.step())).await
}

/// Finds a server's tool by the name in a step: the name that models use, or `server/tool`.
fn meant(directory: &Directory, name: &str) -> Option<Arc<Registered>> {
    let (_, all) = directory.hub.registry.all();
    let is_meant = |registered: &&Arc<Registered>| match &registered.tool.spec().origin {
        Origin::Server { server, tool } => {
            let rest = name.strip_prefix(&**server).and_then(|rest| rest.strip_prefix('/'));
            is_called(&registered.tool.spec().name, name) || rest == Some(&**tool)
        }
        _ => false,
    };
    all.iter().find(is_meant).cloned()
}

/// Converts the failure of a step into a failure of the composed tool.
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
            // Retrying would repeat the earlier steps, regardless of how this one failed.
            failure.delivery = Delivery::Executed;
        }
        if matches!(failure.kind, FailureKind::InvalidArguments) {
            // The invalid arguments are those of the step; the caller's own arguments were valid.
            failure.kind = FailureKind::Rejected;
        }
    }
    outcome
}
