//! OpenAI's Chat Completions API, and compatible servers.

mod sampling;

use mcp_jsonrpc::RawJson;
use mcp_tool::ToolSpec;
use mcp_types::{CreateMessageRequest, CreateMessageResult, GetPromptResult, PromptMessage};

use super::{LIMITS, dialect, is_image, is_pdf, with_error};
use crate::{
    api::{Api, CallResult, Definition},
    call::ModelCall,
    content::{self, Media, Part},
    define::fitted,
    json::{Json, Object, object},
    name::Limits,
    sampling::SamplingError,
};

/// OpenAI's Chat Completions API. It does not support deferred tools.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Chat {
    /// Whether to request arguments that satisfy the schema. A tool whose schema does not allow it is sent without.
    pub strict: bool,
}

impl Chat {
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
}

impl Api for Chat {
    fn limits(&self) -> Limits {
        LIMITS
    }

    fn definition(&self, tool: &ToolSpec) -> Definition {
        let tool = fitted(tool, LIMITS, dialect(self.strict));
        let mut function = tool.head(Object::default());
        function.set("parameters", tool.schema);
        if self.strict {
            function.set("strict", tool.is_strict);
        }
        let object = object! { "type" => "function", "function" => function };
        Definition { name: tool.name, json: Json::from(object).raw(), losses: tool.losses }
    }

    fn calls(&self, response: &RawJson) -> Vec<ModelCall> {
        let response = Json::read(response);
        let message = message_of(&response).unwrap_or(&response);
        let calls = message.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
        calls.iter().filter_map(call).collect()
    }

    fn results(&self, results: &[CallResult<'_>]) -> Vec<RawJson> {
        let (mut messages, mut after) = (Vec::new(), Vec::new());
        for CallResult { call, outcome } in results {
            let parts = content::of_outcome(outcome);
            messages.push(tool_message(&call.id, parts, outcome.is_error, &mut after));
        }
        messages.extend(media_message(after));
        messages.iter().map(Json::raw).collect()
    }

    fn prompt(&self, prompt: &GetPromptResult) -> Vec<RawJson> {
        let write = |message: &PromptMessage| {
            let part = content::of_content(&message.content)?;
            Some(if message.role == "assistant" {
                assistant(vec![part], Vec::new()).raw()
            } else {
                user(vec![part]).raw()
            })
        };
        prompt.messages.iter().filter_map(write).collect()
    }

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

fn message_of(response: &Json) -> Option<&Json> {
    response.get("choices")?.as_array()?.first()?.get("message")
}

fn call(call: &Json) -> Option<ModelCall> {
    let function = call.get("function")?;
    let id = call.get("id").and_then(Json::as_str).unwrap_or_default();
    let name = function.get("name")?.as_str()?;
    // Some compatible servers send an object instead of its text.
    let arguments = match function.get("arguments") {
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.raw().as_str().to_owned(),
        None => String::new(),
    };
    Some(ModelCall::new(id, name, &arguments))
}

/// A result. It takes only text, so media go into a user message `after` all results.
fn tool_message(id: &str, parts: Vec<Part>, is_error: bool, after: &mut Vec<Json>) -> Json {
    let (mut text, media) = content::split(parts, is_taken);
    if !media.is_empty() {
        after.push(text_part(&format!("Attachments of the tool result {id}:")));
        after.extend(media.iter().map(media_part));
        if text.is_empty() {
            "(the result is attached to the next message)".clone_into(&mut text);
        }
    }
    let content = with_error(text, is_error);
    object! { "role" => "tool", "tool_call_id" => id, "content" => content }.into()
}

fn media_message(parts: Vec<Json>) -> Option<Json> {
    (!parts.is_empty()).then(|| object! { "role" => "user", "content" => parts }.into())
}

fn user(parts: Vec<Part>) -> Json {
    let write = |part| match part {
        Part::Text(text) => text_part(&text),
        Part::Media(media) if is_taken(&media) => media_part(&media),
        Part::Media(media) => text_part(&media.placeholder()),
    };
    let parts: Vec<Json> = parts.into_iter().map(write).collect();
    object! { "role" => "user", "content" => parts }.into()
}

/// A message of the model, which takes text and calls.
fn assistant(parts: Vec<Part>, calls: Vec<Json>) -> Json {
    let (text, _) = content::split(parts, |_| false);
    let mut message = object! { "role" => "assistant" };
    if calls.is_empty() || !text.is_empty() {
        message.set("content", text);
    }
    if !calls.is_empty() {
        message.set("tool_calls", calls);
    }
    message.into()
}

fn text_part(text: &str) -> Json {
    object! { "type" => "text", "text" => text }.into()
}

fn is_taken(media: &Media) -> bool {
    is_image(media) || is_pdf(media) || audio_format(media).is_some()
}

fn audio_format(media: &Media) -> Option<&'static str> {
    match media.mime_type.as_str() {
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

fn media_part(media: &Media) -> Json {
    if let Some(format) = audio_format(media) {
        let audio = object! { "data" => media.data.as_str(), "format" => format };
        return object! { "type" => "input_audio", "input_audio" => audio }.into();
    }
    if is_pdf(media) {
        let file = object! { "filename" => media.file_name(), "file_data" => media.data_url() };
        return object! { "type" => "file", "file" => file }.into();
    }
    object! { "type" => "image_url", "image_url" => object! { "url" => media.data_url() } }.into()
}
