//! The [`Api`] trait: the format of one model API.

use std::sync::Arc;

use mcp_jsonrpc::RawJson;
use mcp_tool::{Tool, ToolOutcome, ToolSpec};
use mcp_types::{CreateMessageRequest, CreateMessageResult, GetPromptResult};

use crate::{
    call::ModelCall,
    loss::{Loss, Lost},
    name::Limits,
    sampling::SamplingError,
};

/// The format of one model API: tools, calls, results, prompts and sampling requests.
///
/// All methods are pure. The host sends requests and receives responses.
pub trait Api: Send + Sync {
    /// The API's limits.
    fn limits(&self) -> Limits;

    /// The definition of one tool, as an entry of the request's list of tools.
    fn definition(&self, tool: &ToolSpec) -> Definition;

    /// The request's `tools`, made of definitions.
    fn tools(&self, definitions: &[RawJson]) -> RawJson {
        array(definitions)
    }

    /// The calls in a response, in order. Empty for a response without calls.
    fn calls(&self, response: &RawJson) -> Vec<ModelCall>;

    /// The messages that answer the calls of one response. All of its calls belong in one list.
    fn results(&self, results: &[CallResult<'_>]) -> Vec<RawJson>;

    /// The messages that answer a response with one call.
    fn result(&self, call: &ModelCall, outcome: &ToolOutcome) -> Vec<RawJson> {
        self.results(&[CallResult { call, outcome }])
    }

    /// The messages of a prompt.
    fn prompt(&self, prompt: &GetPromptResult) -> Vec<RawJson>;

    /// The body of a request that runs `model` for a server (`sampling/createMessage`).
    fn sampling_request(
        &self,
        request: &CreateMessageRequest,
        model: &str,
    ) -> Result<RawJson, SamplingError>;

    /// The result for the server, from the response to a [sampling request](Api::sampling_request).
    fn sampling_result(&self, response: &RawJson) -> Result<CreateMessageResult, SamplingError>;
}

/// A tool in the format of an API.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Definition {
    /// The name of the tool in the API. It differs from the tool's name if the API does not allow that.
    pub name: String,
    /// The entry of the request's list of tools.
    pub json: RawJson,
    /// The parts of the tool's definition that the API does not support.
    pub losses: Vec<Loss>,
}

/// A call and its outcome.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a pair with names")]
pub struct CallResult<'a> {
    /// The call that the model made.
    pub call: &'a ModelCall,
    /// Its outcome.
    pub outcome: &'a ToolOutcome,
}

/// A JSON array of JSON values.
pub(crate) fn array(items: &[RawJson]) -> RawJson {
    RawJson::encode(items).unwrap_or_else(|_| RawJson::null())
}

/// The definitions of a turn's tools, and the losses by tool name. Tools beyond the API's limit are omitted and
/// reported.
///
/// `tools` are descriptions or the tools themselves, such as those of a snapshot of `mcp-bridge`.
///
/// ```
/// use mcp_providers::{anthropic::Anthropic, definitions};
/// use mcp_tool::ToolSpec;
///
/// let (tools, losses) = definitions(&Anthropic::default(), [&ToolSpec::new("clock", "Tells the time.")]);
/// assert_eq!(tools[0].get("name").unwrap().as_str(), r#""clock""#);
/// assert!(losses.is_empty());
/// ```
pub fn definitions<'t, T: AsSpec + ?Sized + 't>(
    api: &dyn Api,
    tools: impl IntoIterator<Item = &'t T>,
) -> (Vec<RawJson>, Vec<(String, Loss)>) {
    let most = api.limits().tools;
    let (mut definitions, mut losses) = (Vec::new(), Vec::new());
    for tool in tools.into_iter().map(AsSpec::as_spec) {
        if let Some(most) = most.filter(|most| definitions.len() >= *most) {
            losses.push((tool.name.clone(), Loss::of_tool(Lost::TooMany(most))));
            continue;
        }
        let definition = api.definition(tool);
        losses.extend(definition.losses.into_iter().map(|loss| (tool.name.clone(), loss)));
        definitions.push(definition.json);
    }
    (definitions, losses)
}

/// A tool description, or a tool that has one.
pub trait AsSpec {
    /// The description.
    fn as_spec(&self) -> &ToolSpec;
}

impl AsSpec for ToolSpec {
    fn as_spec(&self) -> &ToolSpec {
        self
    }
}

impl<T: AsSpec + ?Sized> AsSpec for &T {
    fn as_spec(&self) -> &ToolSpec {
        (**self).as_spec()
    }
}

impl AsSpec for dyn Tool {
    fn as_spec(&self) -> &ToolSpec {
        self.spec()
    }
}

impl<T: Tool + ?Sized> AsSpec for Arc<T> {
    fn as_spec(&self) -> &ToolSpec {
        self.spec()
    }
}
