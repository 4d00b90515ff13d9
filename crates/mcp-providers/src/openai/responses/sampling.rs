//! Sampling with the Responses API.

use mcp_jsonrpc::RawJson;
use mcp_types::{CreateMessageRequest, CreateMessageResult};

use super::{Responses, assistant, output, user};
use crate::{
    api::Api,
    json::{Json, object},
    sampling::{self, Block, Choice, Message, SamplingError, Stop},
};

pub(super) fn request(
    api: Responses,
    request: &CreateMessageRequest,
    model: &str,
) -> Result<RawJson, SamplingError> {
    let mut items = Vec::new();
    for message in sampling::messages(request)? {
        translate(message, &mut items);
    }
    // Ask the API not to store a server's messages.
    let mut body = object! { "model" => model, "input" => items, "store" => false };
    if let Some(system) = &request.system_prompt {
        body.set("instructions", system.as_str());
    }
    sampling::set_numbers(&mut body, request, "max_output_tokens", "temperature");
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

fn translate(from: Message, items: &mut Vec<Json>) {
    let (mut parts, mut calls) = (Vec::new(), Vec::new());
    for block in from.blocks {
        match block {
            Block::Part(part) => parts.push(part),
            Block::Use { id, name, input } => calls.push(
                object! {
                    "type" => "function_call",
                    "call_id" => id,
                    "name" => name,
                    "arguments" => input.as_str(),
                }
                .into(),
            ),
            Block::Result { id, parts, is_error } => items.push(output(&id, parts, is_error)),
        }
    }
    if !parts.is_empty() {
        items.push(if from.is_assistant { assistant(parts) } else { user(parts) });
    }
    items.extend(calls);
}

pub(super) fn result(response: &RawJson) -> Result<CreateMessageResult, SamplingError> {
    let response = Json::read(response);
    let items = response.get("output").and_then(Json::as_array);
    let items = items.ok_or(SamplingError::Response("output"))?;
    let (mut blocks, mut has_calls) = (Vec::new(), false);
    for item in items {
        if let Some(call) = super::call(item) {
            has_calls = true;
            blocks.push(sampling::call_block(&call)?);
        }
        let content = item.get("content").and_then(Json::as_array).unwrap_or_default();
        let is_message = item.get("type").and_then(Json::as_str) == Some("message");
        let texts = content.iter().filter_map(|part| part.get("text")?.as_str());
        blocks.extend(texts.filter(|_| is_message).map(sampling::text_block));
    }
    let reason = response.get("incomplete_details").and_then(|details| details.get("reason"));
    let stop = match reason.and_then(Json::as_str) {
        Some("max_output_tokens") => Stop::MaxTokens,
        _ if has_calls => Stop::ToolUse,
        _ => Stop::EndTurn,
    };
    let model = response.get("model").and_then(Json::as_str).unwrap_or_default();
    Ok(sampling::result(model, blocks, stop))
}
