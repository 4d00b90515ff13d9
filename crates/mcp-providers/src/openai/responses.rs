//! OpenAI's Responses API.

mod deferral;
mod sampling;

use mcp_jsonrpc::RawJson;
use mcp_tool::ToolSpec;
use mcp_types::{CreateMessageRequest, CreateMessageResult, GetPromptResult, PromptMessage};

use super::{LIMITS, dialect, is_image, is_pdf, with_error};
use crate::{
    api::{Api, CallResult, Definition},
    arguments::Arguments,
    call::ModelCall,
    content::{self, Media, Part},
    define::fitted,
    json::{Json, object},
    name::Limits,
    sampling::SamplingError,
    schema::Dialect,
};

/// OpenAI's Responses API. Deferred tools are supported: see [`Session`](crate::Session).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Responses {
    /// Whether to request arguments that satisfy the schema. A tool whose schema does not allow it is sent without.
    pub strict: bool,
}

impl Responses {
    /// The API in strict mode.
    pub fn strict() -> Self {
        Self { strict: true }
    }

    /// Sets [`strict`](Self::strict).
    #[must_use]
    pub fn with_strict(mut self, is_strict: bool) -> Self {
        self.strict = is_strict;
        self
    }

    fn dialect(self) -> Dialect {
        dialect(self.strict)
    }
}

impl Api for Responses {
    fn limits(&self) -> Limits {
        LIMITS
    }

    fn definition(&self, tool: &ToolSpec) -> Definition {
        let tool = fitted(tool, LIMITS, self.dialect());
        let mut object = tool.head(object! { "type" => "function" });
        object.set("parameters", tool.schema).set("strict", tool.is_strict);
        Definition { name: tool.name, json: Json::from(object).raw(), losses: tool.losses }
    }

    fn calls(&self, response: &RawJson) -> Vec<ModelCall> {
        let response = Json::read(response);
        let items = response.get("output").and_then(Json::as_array).unwrap_or_default();
        items.iter().filter_map(call).collect()
    }

    fn results(&self, results: &[CallResult<'_>]) -> Vec<RawJson> {
        let write = |result: &CallResult<'_>| {
            let parts = content::of_outcome(result.outcome);
            output(&result.call.id, parts, result.outcome.is_error).raw()
        };
        results.iter().map(write).collect()
    }

    fn prompt(&self, prompt: &GetPromptResult) -> Vec<RawJson> {
        let write = |message: &PromptMessage| {
            let part = content::of_content(&message.content)?;
            Some(if message.role == "assistant" {
                assistant(vec![part]).raw()
            } else {
                user(vec![part]).raw()
            })
        };
        prompt.messages.iter().filter_map(write).collect()
    }

    /// Stop sequences are omitted: the API does not support them.
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

fn call(item: &Json) -> Option<ModelCall> {
    let id = item.get("call_id").and_then(Json::as_str).unwrap_or_default();
    match item.get("type")?.as_str()? {
        "function_call" => {
            let arguments = item.get("arguments").and_then(Json::as_str).unwrap_or_default();
            Some(ModelCall::new(id, item.get("name")?.as_str()?, arguments))
        }
        // Searches executed by OpenAI already have their output.
        "tool_search_call" if item.get("execution")?.as_str() == Some("client") => {
            Some(ModelCall {
                id: id.to_owned(),
                name: deferral::SEARCH.to_owned(),
                arguments: Arguments::of(
                    item.get("arguments").map_or_else(RawJson::null, Json::raw),
                ),
            })
        }
        _ => None,
    }
}

/// A result: text only, or a list of parts if there are media.
fn output(id: &str, parts: Vec<Part>, is_error: bool) -> Json {
    let is_plain = !parts.iter().any(|part| matches!(part, Part::Media(media) if is_taken(media)));
    let output = if is_plain {
        Json::from(with_error(content::split(parts, |_| false).0, is_error))
    } else {
        let mut list: Vec<Json> = parts.into_iter().map(input).collect();
        if is_error {
            list.insert(0, text("Error:"));
        }
        Json::Array(list)
    };
    object! { "type" => "function_call_output", "call_id" => id, "output" => output }.into()
}

fn is_taken(media: &Media) -> bool {
    is_image(media) || is_pdf(media)
}

fn user(parts: Vec<Part>) -> Json {
    let parts: Vec<Json> = parts.into_iter().map(input).collect();
    object! { "role" => "user", "content" => parts }.into()
}

fn assistant(parts: Vec<Part>) -> Json {
    let (text, _) = content::split(parts, |_| false);
    object! { "role" => "assistant", "content" => text }.into()
}

fn input(part: Part) -> Json {
    match part {
        Part::Text(content) => text(&content),
        Part::Media(media) if is_image(&media) => {
            object! { "type" => "input_image", "detail" => "auto", "image_url" => media.data_url() }
                .into()
        }
        Part::Media(media) if is_pdf(&media) => object! {
            "type" => "input_file",
            "filename" => media.file_name(),
            "file_data" => media.data_url(),
        }
        .into(),
        Part::Media(media) => text(&media.placeholder()),
    }
}

fn text(text: &str) -> Json {
    object! { "type" => "input_text", "text" => text }.into()
}
