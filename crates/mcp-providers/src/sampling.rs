//! The common part of sampling: a server's request to run the host's model.

use std::fmt;

use mcp_jsonrpc::{RawJson, ShapeError};
use mcp_tool::ToolSpec;
use mcp_types::{Content, CreateMessageRequest, CreateMessageResult, Tool};

use crate::{
    arguments::Arguments,
    call::ModelCall,
    content::{self, Part},
    json::{Json, Object, object},
};

/// Why a sampling request or its response cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SamplingError {
    /// The server's request is not valid in MCP.
    Request(ShapeError),
    /// The API's response lacks the member of this name.
    Response(&'static str),
    /// The model called the tool of this name with arguments that are not a JSON object.
    Arguments(String),
}

impl fmt::Display for SamplingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SamplingError::Request(problem) => {
                write!(f, "the sampling request is not valid: {problem}")
            }
            SamplingError::Response(missing) => {
                write!(f, "the response of the model API has no `{missing}`")
            }
            SamplingError::Arguments(tool) => {
                write!(f, "the model's arguments for `{tool}` are not a JSON object")
            }
        }
    }
}

impl std::error::Error for SamplingError {}

impl From<ShapeError> for SamplingError {
    fn from(problem: ShapeError) -> Self {
        SamplingError::Request(problem)
    }
}

/// A message in a server's request.
pub(crate) struct Message {
    pub(crate) is_assistant: bool,
    pub(crate) blocks: Vec<Block>,
}

pub(crate) enum Block {
    Part(Part),
    Use { id: String, name: String, input: RawJson },
    Result { id: String, parts: Vec<Part>, is_error: bool },
}

/// The tools of a request, and whether the model has to use one.
pub(crate) struct Tools {
    pub(crate) specs: Vec<ToolSpec>,
    pub(crate) choice: Choice,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Auto,
    Required,
    None,
}

/// Why a model stopped.
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    EndTurn,
    MaxTokens,
    Sequence,
    ToolUse,
}

pub(crate) fn messages(request: &CreateMessageRequest) -> Result<Vec<Message>, SamplingError> {
    request.check_tool_results()?;
    request.messages.iter().map(message).collect()
}

fn message(raw: &RawJson) -> Result<Message, SamplingError> {
    let role: Option<String> = raw.get("role").and_then(|role| role.decode().ok());
    let content = raw.get("content").unwrap_or_else(RawJson::null);
    let blocks = content.decode::<Vec<RawJson>>().unwrap_or_else(|_| vec![content]);
    let blocks = blocks.iter().map(block).collect::<Result<Vec<_>, _>>()?;
    let blocks = blocks.into_iter().flatten().collect();
    Ok(Message { is_assistant: role.as_deref() == Some("assistant"), blocks })
}

fn block(raw: &RawJson) -> Result<Option<Block>, SamplingError> {
    let text = |name: &str| -> String {
        raw.get(name).and_then(|value| value.decode().ok()).unwrap_or_default()
    };
    Ok(match text("type").as_str() {
        "tool_use" => Some(Block::Use {
            id: text("id"),
            name: text("name"),
            input: raw
                .get("input")
                .filter(RawJson::is_object)
                .unwrap_or_else(RawJson::empty_object),
        }),
        "tool_result" => {
            let content: Vec<Content> = match raw.get("content") {
                Some(content) => content.decode()?,
                None => Vec::new(),
            };
            let mut outcome = mcp_tool::ToolOutcome::new(content);
            outcome.structured = raw.get("structuredContent");
            let is_error = raw.get("isError").is_some_and(|flag| flag.as_str() == "true");
            let parts = content::of_outcome(&outcome);
            Some(Block::Result { id: text("toolUseId"), parts, is_error })
        }
        _ => content::of_content(&raw.decode::<Content>()?).map(Block::Part),
    })
}

/// The tools of a request, if it has any.
pub(crate) fn tools(request: &CreateMessageRequest) -> Result<Option<Tools>, SamplingError> {
    let Some(tools) = &request.tools else { return Ok(None) };
    let tools: Vec<Tool> = tools.decode()?;
    if tools.is_empty() {
        return Ok(None);
    }
    let mode = request.tool_choice.as_ref().and_then(|choice| choice.get("mode"));
    let choice = match mode.as_ref().map(RawJson::as_str) {
        Some(r#""required""#) => Choice::Required,
        Some(r#""none""#) => Choice::None,
        _ => Choice::Auto,
    };
    let spec = |tool: Tool| {
        let mut spec = ToolSpec::new(tool.name, tool.description.unwrap_or_default());
        spec.input_schema = tool.input_schema;
        spec
    };
    Ok(Some(Tools { specs: tools.into_iter().map(spec).collect(), choice }))
}

/// The result for the server.
pub(crate) fn result(model: &str, blocks: Vec<Json>, stop: Stop) -> CreateMessageResult {
    let mut result = CreateMessageResult::text(model, "");
    let mut blocks = blocks;
    if blocks.is_empty() {
        blocks.push(text_block(""));
    }
    let content = if blocks.len() == 1 { blocks.remove(0) } else { Json::Array(blocks) };
    result.content = content.raw();
    let reason = match stop {
        Stop::EndTurn => "endTurn",
        Stop::MaxTokens => "maxTokens",
        Stop::Sequence => "stopSequence",
        Stop::ToolUse => "toolUse",
    };
    result.stop_reason = Some(reason.to_owned());
    result
}

pub(crate) fn text_block(text: &str) -> Json {
    object! { "type" => "text", "text" => text }.into()
}

pub(crate) fn use_block(id: &str, name: &str, input: &RawJson) -> Json {
    object! { "type" => "tool_use", "id" => id, "name" => name, "input" => Json::read(input) }
        .into()
}

/// A call of the model, for a server that has to run it.
pub(crate) fn call_block(call: &ModelCall) -> Result<Json, SamplingError> {
    match &call.arguments {
        Arguments::Ready(input) => Ok(use_block(&call.id, &call.name, input)),
        Arguments::Refused(_) => Err(SamplingError::Arguments(call.name.clone())),
    }
}

/// Sets the maximum tokens and the temperature of the request, if present, under the API's names.
pub(crate) fn set_numbers(
    body: &mut Object,
    request: &CreateMessageRequest,
    max_tokens: &str,
    temperature: &str,
) {
    if let Some(most) = request.max_tokens {
        body.set(max_tokens, whole(most));
    }
    if let Some(degree) = request.temperature {
        body.set(temperature, degree);
    }
}

/// A number of tokens without a fraction, which APIs reject.
pub(crate) fn whole(number: f64) -> Json {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates, and a count beyond u32 is not meant"
    )]
    let count = number.max(1.0).min(f64::from(u32::MAX)) as u32;
    Json::Scalar(RawJson::encode(&count).unwrap_or_else(|_| RawJson::null()))
}

pub(crate) fn stop_sequences(request: &CreateMessageRequest) -> Vec<Json> {
    request.stop_sequences.iter().map(|text| text.as_str().into()).collect()
}
