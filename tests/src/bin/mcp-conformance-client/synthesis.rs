//! Made-up arguments for tools and prompts.

use std::collections::BTreeMap;

use mcp_client::{
    RawJson,
    rpc::ShapeError,
    types::{Prompt, Tool},
};
use mcp_jsonrpc::ObjectWriter;
use serde_json::{Value, json};

/// A value for each required argument, by its type. An argument named `schema` gets the input schema of the first
/// other tool, byte for byte as the server wrote it.
pub(crate) fn arguments(tool: &Tool, tools: &[Tool]) -> Result<RawJson, ShapeError> {
    let schema: Value = tool.input_schema.decode()?;
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let other = tools.iter().find(|other| other.name != tool.name);
    let mut arguments = ObjectWriter::new();
    for name in required {
        match other {
            Some(other) if name == "schema" => arguments.raw(name, &other.input_schema),
            _ => arguments.raw(name, &RawJson::encode(&value(&schema["properties"][name]))?),
        };
    }
    Ok(arguments.finish())
}

/// A value for each required argument.
pub(crate) fn prompt_arguments(prompt: &Prompt) -> BTreeMap<String, String> {
    let required = prompt.arguments.iter().filter(|argument| argument.required);
    required.map(|argument| (argument.name.clone(), "text".to_owned())).collect()
}

fn value(property: &Value) -> Value {
    match property["type"].as_str() {
        Some("number") => json!(1.5),
        Some("integer") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => property["enum"].get(0).cloned().unwrap_or_else(|| json!("text")),
    }
}
