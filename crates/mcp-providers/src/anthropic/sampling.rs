//! Sampling with the Messages API.

use mcp_jsonrpc::RawJson;
use mcp_types::{CreateMessageRequest, CreateMessageResult};

use super::{Anthropic, block, message, text_only, tool_result};
use crate::{
    api::Api,
    json::{Json, object},
    sampling::{self, Block, Choice, Message, SamplingError, Stop},
};

/// The API requires a limit, and a server may leave it out.
const DEFAULT_MAX_TOKENS: f64 = 4096.0;

pub(super) fn request(
    api: Anthropic,
    request: &CreateMessageRequest,
    model: &str,
) -> Result<RawJson, SamplingError> {
    let messages: Vec<Json> =
        sampling::messages(request)?.into_iter().filter_map(translate).collect();
    let max_tokens = sampling::whole(request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS));
    let mut body = object! { "model" => model, "max_tokens" => max_tokens, "messages" => messages };
    if let Some(system) = &request.system_prompt {
        body.set("system", system.as_str());
    }
    if !request.stop_sequences.is_empty() {
        body.set("stop_sequences", sampling::stop_sequences(request));
    }
    if let Some(tools) = sampling::tools(request)? {
        let definitions: Vec<Json> =
            tools.specs.iter().map(|spec| Json::read(&api.definition(spec).json)).collect();
        let choice = match tools.choice {
            Choice::Auto => "auto",
            Choice::Required => "any",
            Choice::None => "none",
        };
        body.set("tools", definitions).set("tool_choice", object! { "type" => choice });
    }
    Ok(Json::from(body).raw())
}

fn translate(from: Message) -> Option<Json> {
    let mut after = Vec::new();
    let mut blocks: Vec<Json> = Vec::new();
    for one in from.blocks {
        blocks.push(match one {
            Block::Part(part) if from.is_assistant => text_only(part),
            Block::Part(part) => block(part),
            Block::Use { id, name, input } => sampling::use_block(&id, &name, &input),
            Block::Result { id, parts, is_error } => tool_result(&id, parts, is_error, &mut after),
        });
    }
    blocks.extend(after);
    let role = if from.is_assistant { "assistant" } else { "user" };
    (!blocks.is_empty()).then(|| message(role, blocks))
}

pub(super) fn result(response: &RawJson) -> Result<CreateMessageResult, SamplingError> {
    let response = Json::read(response);
    let blocks = response.get("content").and_then(Json::as_array);
    let blocks = blocks.ok_or(SamplingError::Response("content"))?;
    let mut translated = Vec::new();
    for block in blocks {
        if let Some(text) = block.get("text").and_then(Json::as_str) {
            translated.push(sampling::text_block(text));
        } else if let Some(call) = super::call(block) {
            translated.push(sampling::call_block(&call)?);
        }
    }
    let stop = match response.get("stop_reason").and_then(Json::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => Stop::MaxTokens,
        Some("stop_sequence") => Stop::Sequence,
        Some("tool_use") => Stop::ToolUse,
        _ => Stop::EndTurn,
    };
    let model = response.get("model").and_then(Json::as_str).unwrap_or_default();
    Ok(sampling::result(model, translated, stop))
}
