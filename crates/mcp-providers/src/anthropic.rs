//! Anthropic's Messages API.

mod deferral;
mod sampling;

use mcp_jsonrpc::RawJson;
use mcp_tool::ToolSpec;
use mcp_types::{CreateMessageRequest, CreateMessageResult, GetPromptResult};

use crate::{
    api::{Api, CallResult, Definition},
    arguments::Arguments,
    call::ModelCall,
    content::{self, Media, Part},
    define::fitted,
    json::{Json, Object, object},
    name::Limits,
    sampling::SamplingError,
    schema::Dialect,
};

/// Anthropic's Messages API. Deferred tools are supported: see [`Session`](crate::Session).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Anthropic;

impl Api for Anthropic {
    fn limits(&self) -> Limits {
        Limits::new(64, None, None)
    }

    fn definition(&self, tool: &ToolSpec) -> Definition {
        let tool = fitted(tool, self.limits(), Dialect::Anthropic);
        let mut object = tool.head(Object::default());
        object.set("input_schema", tool.schema);
        Definition { name: tool.name, json: Json::from(object).raw(), losses: tool.losses }
    }

    fn calls(&self, response: &RawJson) -> Vec<ModelCall> {
        let response = Json::read(response);
        let blocks = response.get("content").and_then(Json::as_array).unwrap_or_default();
        blocks.iter().filter_map(call).collect()
    }

    fn results(&self, results: &[CallResult<'_>]) -> Vec<RawJson> {
        let (mut blocks, mut after) = (Vec::new(), Vec::new());
        for CallResult { call, outcome } in results {
            let parts = content::of_outcome(outcome);
            blocks.push(tool_result(&call.id, parts, outcome.is_error, &mut after));
        }
        blocks.extend(after);
        if blocks.is_empty() { Vec::new() } else { vec![message("user", blocks).raw()] }
    }

    fn prompt(&self, prompt: &GetPromptResult) -> Vec<RawJson> {
        let write = |message: &mcp_types::PromptMessage| {
            let part = content::of_content(&message.content)?;
            Some(if message.role == "assistant" {
                self::message("assistant", vec![text_only(part)]).raw()
            } else {
                self::message("user", vec![block(part)]).raw()
            })
        };
        prompt.messages.iter().filter_map(write).collect()
    }

    /// The temperature is omitted: the API no longer supports it.
    fn sampling_request(
        &self,
        request: &CreateMessageRequest,
        model: &str,
    ) -> Result<RawJson, SamplingError> {
        sampling::request(*self, request, model)
    }

    fn sampling_result(&self, response: &RawJson) -> Result<CreateMessageResult, SamplingError> {
        sampling::result(response)
    }
}

fn call(block: &Json) -> Option<ModelCall> {
    if block.get("type")?.as_str() != Some("tool_use") {
        return None;
    }
    Some(ModelCall {
        id: block.get("id")?.as_str()?.to_owned(),
        name: block.get("name")?.as_str()?.to_owned(),
        arguments: Arguments::of(block.get("input").map_or_else(RawJson::null, Json::raw)),
    })
}

fn message(role: &str, content: Vec<Json>) -> Json {
    object! { "role" => role, "content" => content }.into()
}

/// A result. Error results take only text, so their media go `after` all results.
fn tool_result(id: &str, parts: Vec<Part>, is_error: bool, after: &mut Vec<Json>) -> Json {
    let mut blocks = Vec::with_capacity(parts.len());
    for part in parts {
        let block = block(part);
        let is_text = block.get("type").and_then(Json::as_str) == Some("text");
        if is_error && !is_text { after.push(block) } else { blocks.push(block) }
    }
    if blocks.is_empty() {
        blocks.push(text("(see below)"));
    }
    let mut result = object! { "type" => "tool_result", "tool_use_id" => id, "content" => blocks };
    if is_error {
        result.set("is_error", true);
    }
    result.into()
}

fn block(part: Part) -> Json {
    let media = match part {
        Part::Text(content) => return text(&content),
        Part::Media(media) => media,
    };
    let kind = match media.mime_type.as_str() {
        "image/jpeg" | "image/png" | "image/gif" | "image/webp" => "image",
        "application/pdf" => "document",
        _ => return text(&media.placeholder()),
    };
    object! { "type" => kind, "source" => source(&media) }.into()
}

fn source(media: &Media) -> Object {
    object! {
        "type" => "base64",
        "media_type" => media.mime_type.as_str(),
        "data" => media.data.as_str(),
    }
}

/// Messages of the model take only text.
fn text_only(part: Part) -> Json {
    match part {
        Part::Text(content) => text(&content),
        Part::Media(media) => text(&media.placeholder()),
    }
}

fn text(text: &str) -> Json {
    object! { "type" => "text", "text" => text }.into()
}
