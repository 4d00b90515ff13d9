//! Tools, outcomes, prompts and sampling requests that the tests share.

use mcp_providers::{
    Api, anthropic::Anthropic, gemini::Gemini, generic::Generic, openai::chat::Chat,
    openai::responses::Responses,
};
use mcp_tool::{Content, Origin, RawJson, ToolOutcome, ToolSpec};
use mcp_types::{CreateMessageRequest, GetPromptResult, PromptMessage, Resource, ResourceContents};
use serde_json::{Value, json};

/// One pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(crate) fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

pub(crate) fn tool(name: &str, schema: &str) -> ToolSpec {
    let mut spec = ToolSpec::new(name, format!("Does {name}."));
    spec.input_schema = raw(schema);
    spec
}

pub(crate) fn of_server(server: &str, name: &str, schema: &str) -> ToolSpec {
    let mut spec = tool(&format!("mcp__{server}__{name}"), schema);
    spec.origin = Origin::Server { server: server.into(), tool: name.into() };
    spec
}

/// Every form of every API, by a short name.
pub(crate) fn apis() -> Vec<(&'static str, Box<dyn Api>)> {
    vec![
        ("anthropic", Box::new(Anthropic::default())),
        ("chat", Box::new(Chat::default())),
        ("chat-strict", Box::new(Chat::strict())),
        ("responses", Box::new(Responses::default())),
        ("responses-strict", Box::new(Responses::strict())),
        ("gemini", Box::new(Gemini::default().with_media_in_responses())),
        ("gemini-openapi", Box::new(Gemini::open_api())),
        ("generic", Box::new(Generic::default())),
    ]
}

/// Schemas that servers publish and APIs reject.
pub(crate) const SCHEMAS: &[(&str, &str)] = &[
    ("none", r#"{"type":"object"}"#),
    (
        "plain",
        r#"{"type":"object","properties":{"path":{"type":"string","description":"A path."},"head":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}"#,
    ),
    (
        "either",
        r#"{"oneOf":[{"type":"object","properties":{"action":{"const":"get"},"id":{"type":"string"}},"required":["action","id"]},{"type":"object","properties":{"action":{"const":"list"},"page":{"type":"integer"}},"required":["action"]}]}"#,
    ),
    (
        "at_least_one",
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
    ),
    (
        "references",
        r##"{"type":"object","$defs":{"point":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"],"additionalProperties":false}},"properties":{"from":{"$ref":"#/$defs/point"},"to":{"$ref":"#/$defs/point","description":"Where to."}},"required":["from"]}"##,
    ),
    (
        "recursive",
        r##"{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}"##,
    ),
    (
        "types",
        r#"{"type":"object","properties":{"id":{"type":["string","integer"]},"note":{"type":["string","null"]},"tags":{"type":"array"},"level":{"enum":["low","high"]},"any":{},"both":{"type":["string","array"],"items":{"type":"string"}}}}"#,
    ),
    (
        "limits",
        r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":9,"pattern":"^[a-z]+$","format":"uri"},"list":{"type":"array","items":{"type":"number","exclusiveMinimum":0,"multipleOf":2},"uniqueItems":true,"minItems":1},"map":{"type":"object","additionalProperties":{"type":"string"}},"pick":{"allOf":[{"type":"string"},{"enum":["x","y"]}]}}}"#,
    ),
    (
        "names",
        r#"{"type":"object","properties":{"fine":{"type":"string"},"not fine":{"type":"string"},"$top":{"type":"integer"},"a.b":{"type":"string"}},"required":["not fine","fine"]}"#,
    ),
    (
        "draft4",
        r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true},"pair":{"type":"array","items":[{"type":"string"},{"type":"number"}],"additionalItems":false},"old":{"type":"any","required":true}}}"#,
    ),
];

/// An outcome with each kind of content.
pub(crate) fn everything() -> ToolOutcome {
    let mut link = Resource::new("file:///report.csv", "report");
    link.mime_type = Some("text/csv".into());
    ToolOutcome::new(vec![
        Content::text("Here it is."),
        Content::image(PNG, "image/png"),
        Content::audio("UklGRg==", "audio/wav"),
        Content::ResourceLink(link),
        Content::resource(ResourceContents::text("file:///notes.txt", "a note")),
        Content::resource(
            ResourceContents::blob("file:///a.pdf", "JVBERg==").of_type("application/pdf"),
        ),
        Content::resource(
            ResourceContents::blob("file:///a.bin", "AAAA").of_type("application/octet-stream"),
        ),
    ])
}

/// A failed outcome with an image.
pub(crate) fn failure() -> ToolOutcome {
    let mut outcome =
        ToolOutcome::new(vec![Content::text("it broke"), Content::image(PNG, "image/png")]);
    outcome.is_error = true;
    outcome
}

pub(crate) fn prompt() -> GetPromptResult {
    GetPromptResult::new(vec![
        PromptMessage::user(Content::text("Look at this.")),
        PromptMessage::user(Content::image(PNG, "image/png")),
        PromptMessage::assistant(Content::text("I see a pixel.")),
        PromptMessage::assistant(Content::image(PNG, "image/png")),
    ])
}

/// A sampling request with every member.
pub(crate) fn sampling() -> CreateMessageRequest {
    let text = r#"{"messages":[
        {"role":"user","content":{"type":"text","text":"What is the weather?"}},
        {"role":"user","content":{"type":"image","data":"AAAA","mimeType":"image/png"}},
        {"role":"assistant","content":[{"type":"text","text":"I ask."},
            {"type":"tool_use","id":"u1","name":"weather","input":{"city":"Paris"}}]},
        {"role":"user","content":[{"type":"tool_result","toolUseId":"u1","isError":true,
            "content":[{"type":"text","text":"no such city"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}]}],
        "maxTokens":100,"systemPrompt":"Be brief.","temperature":0.5,"stopSequences":["END"],
        "tools":[{"name":"weather","description":"Tells the weather.","inputSchema":{"type":"object",
            "properties":{"city":{"type":"string"}},"required":["city"]}}],
        "toolChoice":{"mode":"required"}}"#;
    raw(text).decode().unwrap()
}

/// The responses of each API to the same turn: one valid call and a truncated one.
pub(crate) const RESPONSES: &[(&str, &str)] = &[
    (
        "anthropic",
        r#"{"content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"a","name":"look","input":{"x":1}}]}"#,
    ),
    (
        "chat",
        r#"{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"x\":1}"}},
        {"id":"b","type":"function","function":{"name":"look","arguments":"{\"x\":"}}]}}]}"#,
    ),
    (
        "responses",
        r#"{"output":[{"type":"reasoning"},{"type":"function_call","call_id":"a","name":"look","namespace":"s","arguments":"{\"x\":1}"},
        {"type":"function_call","call_id":"b","name":"look","arguments":"{\"x\":"}]}"#,
    ),
    (
        "gemini",
        r#"{"candidates":[{"content":{"parts":[{"text":"hm"},{"functionCall":{"id":"a","name":"look","args":{"x":1}}}]}}]}"#,
    ),
    (
        "generic",
        r#"{"calls":[{"id":"a","name":"look","arguments":{"x":1}},{"id":"b","name":"look","arguments":"{\"x\":"}]}"#,
    ),
];

/// A response of OpenAI with a search that the client executes, and one that OpenAI executed.
pub(crate) const SEARCH_RESPONSE: &str = r#"{"output":[{"type":"tool_search_call","execution":"client","call_id":"c","arguments":{"query":"git"}},
        {"type":"tool_search_call","execution":"server","call_id":null,"arguments":{}}]}"#;

/// The content of each of the [`sampling_responses`], as MCP has it.
pub(crate) fn sampled() -> Value {
    let text = json!({"type": "text", "text": "It rains."});
    let asked =
        json!({"type": "tool_use", "id": "u2", "name": "weather", "input": {"city": "Rome"}});
    json!([text, asked])
}

/// The responses of each API to a sampling request.
pub(crate) fn sampling_responses() -> Vec<(&'static str, Value)> {
    let both = sampled();
    vec![
        ("anthropic", json!({"model": "m", "stop_reason": "tool_use", "content": both})),
        (
            "chat",
            json!({"model": "m", "choices": [{"finish_reason": "tool_calls", "message": {
            "content": "It rains.", "tool_calls": [{"id": "u2", "type": "function",
                "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}}]}}]}),
        ),
        (
            "responses",
            json!({"model": "m", "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "It rains."}]},
            {"type": "function_call", "call_id": "u2", "name": "weather", "arguments": "{\"city\":\"Rome\"}"}]}),
        ),
        (
            "gemini",
            json!({"modelVersion": "m", "candidates": [{"content": {"parts": [
            {"text": "secret", "thought": true}, {"text": "It rains."},
            {"functionCall": {"id": "u2", "name": "weather", "args": {"city": "Rome"}}}]}}]}),
        ),
        (
            "generic",
            json!({"model": "m", "role": "assistant", "stopReason": "toolUse", "content": both}),
        ),
    ]
}
