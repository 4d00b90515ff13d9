//! Sampling with Chat Completions.

use mcp_jsonrpc::RawJson;
use mcp_types::{CreateMessageRequest, CreateMessageResult};

use super::{Chat, assistant, media_message, message_of, tool_message, user};
use crate::{
    api::Api,
    json::{Json, object},
    sampling::{self, Block, Choice, Message, SamplingError, Stop},
};

/// The maximum of the API.
const MOST_STOP_SEQUENCES: usize = 4;

pub(super) fn request(
    api: Chat,
    request: &CreateMessageRequest,
    model: &str,
) -> Result<RawJson, SamplingError> {
    let mut messages = Vec::new();
    if let Some(system) = &request.system_prompt {
        messages.push(object! { "role" => "system", "content" => system.as_str() }.into());
    }
    for message in sampling::messages(request)? {
        translate(message, &mut messages);
    }
    let mut body = object! { "model" => model, "messages" => messages };
    sampling::set_numbers(&mut body, request, "max_completion_tokens", "temperature");
    if !request.stop_sequences.is_empty() {
        let mut stop = sampling::stop_sequences(request);
        stop.truncate(MOST_STOP_SEQUENCES);
        body.set("stop", stop);
    }
    if let Some(tools) = sampling::tools(request)? {
        let definitions: Vec<Json> =
            tools.specs.iter().map(|spec| Json::read(&api.definition(spec).json)).collect();
        let choice = match tools.choice {
            Choice::Auto => "auto",
            Choice::Required => "required",
            Choice::None => "none",
        };
        body.set("tools", definitions).set("tool_choice", choice);
    }
    Ok(Json::from(body).raw())
}

fn translate(from: Message, messages: &mut Vec<Json>) {
    let (mut parts, mut calls, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for block in from.blocks {
        match block {
            Block::Part(part) => parts.push(part),
            Block::Use { id, name, input } => {
                let function = object! { "name" => name, "arguments" => input.as_str() };
                calls.push(
                    object! { "id" => id, "type" => "function", "function" => function }.into(),
                );
            }
            Block::Result { id, parts, is_error } => {
                messages.push(tool_message(&id, parts, is_error, &mut after));
            }
        }
    }
    messages.extend(media_message(after));
    if from.is_assistant && !(parts.is_empty() && calls.is_empty()) {
        messages.push(assistant(parts, calls));
    } else if !parts.is_empty() {
        messages.push(user(parts));
    }
}

pub(super) fn result(response: &RawJson) -> Result<CreateMessageResult, SamplingError> {
    let response = Json::read(response);
    let message = message_of(&response).ok_or(SamplingError::Response("choices"))?;
    let mut blocks = Vec::new();
    if let Some(text) = message.get("content").and_then(Json::as_str).filter(|t| !t.is_empty()) {
        blocks.push(sampling::text_block(text));
    }
    let calls = message.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
    for call in calls.iter().filter_map(super::call) {
        blocks.push(sampling::call_block(&call)?);
    }
    let choice = response.get("choices").and_then(Json::as_array).and_then(<[Json]>::first);
    let stop = match choice.and_then(|choice| choice.get("finish_reason")?.as_str()) {
        Some("length") => Stop::MaxTokens,
        Some("tool_calls" | "function_call") => Stop::ToolUse,
        _ => Stop::EndTurn,
    };
    let model = response.get("model").and_then(Json::as_str).unwrap_or_default();
    Ok(sampling::result(model, blocks, stop))
}
