//! Sampling with Gemini.

use std::collections::HashMap;

use mcp_jsonrpc::RawJson;
use mcp_types::{CreateMessageRequest, CreateMessageResult};

use super::{Gemini, call, message, part, parts_of};
use crate::{
    api::Api,
    json::{Json, Object, object},
    sampling::{self, Block, Choice, Message, SamplingError, Stop},
};

pub(super) fn request(
    api: Gemini,
    request: &CreateMessageRequest,
) -> Result<RawJson, SamplingError> {
    // A function response carries the name of its function, an MCP tool result only the id of the call.
    let mut names = HashMap::new();
    let mut contents = Vec::new();
    for message in sampling::messages(request)? {
        translate(api, message, &mut names, &mut contents);
    }
    let mut body = object! { "contents" => contents };
    if let Some(system) = &request.system_prompt {
        let parts = vec![object! { "text" => system.as_str() }.into()];
        body.set("systemInstruction", object! { "parts" => parts });
    }
    let mut config = Object::default();
    sampling::set_numbers(&mut config, request, "maxOutputTokens", "temperature");
    if !request.stop_sequences.is_empty() {
        config.set("stopSequences", sampling::stop_sequences(request));
    }
    if !config.is_empty() {
        body.set("generationConfig", config);
    }
    if let Some(tools) = sampling::tools(request)? {
        let definitions: Vec<RawJson> =
            tools.specs.iter().map(|spec| api.definition(spec).json).collect();
        let mode = match tools.choice {
            Choice::Auto => "AUTO",
            Choice::Required => "ANY",
            Choice::None => "NONE",
        };
        body.set("tools", Json::read(&api.tools(&definitions)));
        body.set("toolConfig", object! { "functionCallingConfig" => object! { "mode" => mode } });
    }
    Ok(Json::from(body).raw())
}

fn translate(
    api: Gemini,
    from: Message,
    names: &mut HashMap<String, String>,
    contents: &mut Vec<Json>,
) {
    let (mut parts, mut after) = (Vec::new(), Vec::new());
    for block in from.blocks {
        parts.push(match block {
            Block::Part(one) => part(one),
            Block::Use { id, name, input } => {
                names.insert(id.clone(), name.clone());
                let call = object! { "id" => id, "name" => name, "args" => Json::read(&input) };
                object! { "functionCall" => call }.into()
            }
            Block::Result { id, parts, is_error } => {
                let name = names.get(&id).cloned().unwrap_or_default();
                api.response(&id, &name, parts, is_error, &mut after)
            }
        });
    }
    let role = if from.is_assistant { "model" } else { "user" };
    let messages = [parts, after].into_iter().filter(|parts| !parts.is_empty());
    contents.extend(messages.map(|parts| message(role, parts)));
}

pub(super) fn result(response: &RawJson) -> Result<CreateMessageResult, SamplingError> {
    let response = Json::read(response);
    let parts = parts_of(&response).ok_or(SamplingError::Response("candidates"))?;
    let (mut blocks, mut calls) = (Vec::new(), 0);
    for part in parts {
        let is_thought = part.get("thought").and_then(Json::as_bool) == Some(true);
        if let Some(mut call) = call(part) {
            calls += 1;
            // MCP requires an id.
            if call.id.is_empty() {
                call.id = format!("call_{calls}");
            }
            blocks.push(sampling::call_block(&call)?);
        } else if let Some(text) = part.get("text").and_then(Json::as_str).filter(|_| !is_thought) {
            blocks.push(sampling::text_block(text));
        }
    }
    let candidate = response.get("candidates").and_then(Json::as_array).and_then(<[Json]>::first);
    let reason = candidate.and_then(|candidate| candidate.get("finishReason")?.as_str());
    let stop = match reason {
        Some("MAX_TOKENS") => Stop::MaxTokens,
        _ if calls > 0 => Stop::ToolUse,
        _ => Stop::EndTurn,
    };
    let model = response.get("modelVersion").and_then(Json::as_str).unwrap_or_default();
    Ok(sampling::result(model, blocks, stop))
}
