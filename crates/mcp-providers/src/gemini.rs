//! Google's Gemini API (`generateContent`).

mod sampling;

use mcp_jsonrpc::RawJson;
use mcp_tool::ToolSpec;
use mcp_types::{CreateMessageRequest, CreateMessageResult, GetPromptResult, PromptMessage};

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

/// Google's Gemini API. It does not support deferred tools.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Gemini {
    /// The form of input schemas.
    pub schemas: Schemas,
    /// Whether images and PDF are put into function responses, which Gemini 3 and later support. Other media
    /// follow in a user message.
    pub media_in_responses: bool,
}

/// The two forms of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Schemas {
    /// JSON Schema in `parametersJsonSchema`.
    #[default]
    Json,
    /// A subset of OpenAPI 3.0 in `parameters`, for older models and endpoints.
    OpenApi,
}

impl Gemini {
    /// The API with parameters in the older form.
    pub fn open_api() -> Self {
        Self { schemas: Schemas::OpenApi, ..Self::default() }
    }

    /// Puts images and PDF into function responses.
    #[must_use]
    pub fn with_media_in_responses(mut self) -> Self {
        self.media_in_responses = true;
        self
    }
}

impl Api for Gemini {
    fn limits(&self) -> Limits {
        Limits::new(64, None, Some(512))
    }

    /// The function declaration. [`Api::tools`] wraps a list of them.
    fn definition(&self, tool: &ToolSpec) -> Definition {
        let (dialect, member) = match self.schemas {
            Schemas::Json => (Dialect::Gemini, "parametersJsonSchema"),
            Schemas::OpenApi => (Dialect::GeminiOpenApi, "parameters"),
        };
        let tool = fitted(tool, self.limits(), dialect);
        let mut object = tool.head(Object::default());
        let properties = tool.schema.get("properties").and_then(Json::as_object);
        // An object without properties is rejected; a function without parameters omits them.
        if self.schemas == Schemas::Json || properties.is_some() {
            object.set(member, tool.schema);
        }
        Definition { name: tool.name, json: Json::from(object).raw(), losses: tool.losses }
    }

    fn tools(&self, definitions: &[RawJson]) -> RawJson {
        let declarations: Vec<Json> = definitions.iter().map(Json::read).collect();
        Json::Array(vec![object! { "functionDeclarations" => declarations }.into()]).raw()
    }

    fn calls(&self, response: &RawJson) -> Vec<ModelCall> {
        let response = Json::read(response);
        parts_of(&response).unwrap_or_default().iter().filter_map(call).collect()
    }

    fn results(&self, results: &[CallResult<'_>]) -> Vec<RawJson> {
        let (mut parts, mut after) = (Vec::new(), Vec::new());
        for CallResult { call, outcome } in results {
            let content = content::of_outcome(outcome);
            parts.push(self.response(&call.id, &call.name, content, outcome.is_error, &mut after));
        }
        let messages = [parts, after].into_iter().filter(|parts| !parts.is_empty());
        messages.map(|parts| message("user", parts).raw()).collect()
    }

    fn prompt(&self, prompt: &GetPromptResult) -> Vec<RawJson> {
        let write = |message: &PromptMessage| {
            let part = part(content::of_content(&message.content)?);
            let role = if message.role == "assistant" { "model" } else { "user" };
            Some(self::message(role, vec![part]).raw())
        };
        prompt.messages.iter().filter_map(write).collect()
    }

    /// The body of the REST request. The model is part of the path, not of the body.
    fn sampling_request(
        &self,
        request: &CreateMessageRequest,
        _model: &str,
    ) -> Result<RawJson, SamplingError> {
        sampling::request(*self, request)
    }

    fn sampling_result(&self, response: &RawJson) -> Result<CreateMessageResult, SamplingError> {
        sampling::result(response)
    }
}

impl Gemini {
    fn response(
        self,
        id: &str,
        name: &str,
        parts: Vec<Part>,
        is_error: bool,
        after: &mut Vec<Json>,
    ) -> Json {
        let (text, media) = content::split(parts, is_taken);
        let key = if is_error { "error" } else { "output" };
        let mut answer = Object::default();
        answer.set(key, text);
        let mut response = Object::default();
        if !id.is_empty() {
            response.set("id", id);
        }
        response.set("name", name).set("response", answer);
        let (inside, outside): (Vec<Media>, Vec<Media>) = media
            .into_iter()
            .partition(|media| self.media_in_responses && is_taken_in_responses(media));
        let write = |media: Vec<Media>| media.into_iter().map(|media| part(Part::Media(media)));
        if !inside.is_empty() {
            response.set("parts", write(inside).collect::<Vec<_>>());
        }
        if !outside.is_empty() {
            let of = object! { "text" => format!("Attachments of the result of {name}:") };
            after.push(of.into());
            after.extend(write(outside));
        }
        object! { "functionResponse" => response }.into()
    }
}

fn parts_of(response: &Json) -> Option<&[Json]> {
    let candidate = response.get("candidates")?.as_array()?.first()?;
    candidate.get("content")?.get("parts")?.as_array()
}

fn call(part: &Json) -> Option<ModelCall> {
    let call = part.get("functionCall")?;
    Some(ModelCall {
        id: call.get("id").and_then(Json::as_str).unwrap_or_default().to_owned(),
        name: call.get("name")?.as_str()?.to_owned(),
        arguments: Arguments::of(call.get("args").map_or_else(RawJson::null, Json::raw)),
    })
}

fn message(role: &str, parts: Vec<Json>) -> Json {
    object! { "role" => role, "parts" => parts }.into()
}

/// Whether the API documents this type. Another one fails the whole request.
fn is_taken(media: &Media) -> bool {
    let (kind, format) = media.mime_type.split_once('/').unwrap_or_default();
    match kind {
        "image" => matches!(format, "png" | "jpeg" | "webp" | "heic" | "heif"),
        "audio" => matches!(format, "wav" | "mp3" | "mpeg" | "aiff" | "aac" | "ogg" | "flac"),
        "video" => matches!(format, "mp4" | "mpeg" | "quicktime" | "webm" | "3gpp"),
        _ => media.mime_type == "application/pdf",
    }
}

/// Function responses support fewer types than messages.
fn is_taken_in_responses(media: &Media) -> bool {
    let types = ["image/png", "image/jpeg", "image/webp", "application/pdf"];
    types.contains(&media.mime_type.as_str())
}

fn part(part: Part) -> Json {
    match part {
        Part::Text(text) => object! { "text" => text }.into(),
        Part::Media(media) if is_taken(&media) => {
            let blob = object! { "mimeType" => media.mime_type, "data" => media.data };
            object! { "inlineData" => blob }.into()
        }
        Part::Media(media) => object! { "text" => media.placeholder() }.into(),
    }
}
