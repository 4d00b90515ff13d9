//! Formats the arguments of a tool: their types, and an example command line.

use std::fmt::Write as _;

use mcp_bridge::ToolSpec;
use serde_json::Value;

use crate::{host::tools, terminal::out::brief};

/// The maximum nesting of types that is written out.
const DEEPEST: usize = 4;

/// Formats the type of a schema with nested types: `{name: string, tags?: string[]}[]`.
pub(super) fn kind(schema: &Value) -> String {
    brief(&nested(schema, 0), 160)
}

fn nested(schema: &Value, depth: usize) -> String {
    let several = |all: &[Value], text: &dyn Fn(&Value) -> String| {
        let words: Vec<String> = all.iter().take(12).map(text).collect();
        words.join("|")
    };
    if let Some(choices) = schema["enum"].as_array() {
        return several(choices, &ToString::to_string);
    }
    if let Some(only) = schema.get("const") {
        return only.to_string();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array().filter(|_| depth < DEEPEST) {
            return several(choices, &|choice| nested(choice, depth + 1));
        }
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => match nested(&schema["items"], depth + 1) {
            _ if depth >= DEEPEST => "array".into(),
            of if of.contains('|') && !of.starts_with('{') => format!("({of})[]"),
            of => format!("{of}[]"),
        },
        Value::String(kind) if kind == "object" => object(schema, depth),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => several(kinds, &|kind| kind.as_str().unwrap_or("any").to_owned()),
        _ if schema["properties"].is_object() => object(schema, depth),
        _ => "any".into(),
    }
}

fn object(schema: &Value, depth: usize) -> String {
    let Some(members) = schema["properties"].as_object().filter(|_| depth < DEEPEST) else {
        return "object".into();
    };
    if members.is_empty() {
        return "object".into();
    }
    let needed = required(schema);
    let words: Vec<String> = members
        .iter()
        .map(|(name, about)| {
            let mark = if needed.contains(&name.as_str()) { "" } else { "?" };
            format!("{}{mark}: {}", brief(name, 60), nested(about, depth + 1))
        })
        .collect();
    format!("{{{}}}", words.join(", "))
}

/// Returns the names of required members.
pub(super) fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Formats an example call and the type of each argument.
pub(super) fn usage(spec: &ToolSpec) -> String {
    let schema: Value = serde_json::from_str(spec.input_schema.as_str()).unwrap_or_default();
    let needed = required(&schema);
    let members = schema["properties"].as_object();
    let Some(members) = members.filter(|members| !members.is_empty()) else {
        return format!("mcp call {} (it takes no arguments)", tools::short(spec));
    };
    let mut text = format!("mcp call {}", brief(&tools::short(spec), 200));
    let is_needed = |name: &str| needed.contains(&name);
    for (name, about) in members.iter().filter(|(name, _)| is_needed(name)) {
        let _ = write!(text, " {}={}", brief(name, 60), example(about));
    }
    for (name, about) in members {
        let mark = if is_needed(name) { "required, " } else { "" };
        let _ = write!(text, "\n  {} ({mark}{})", brief(name, 60), kind(about));
        if let Some(about) = about["description"].as_str() {
            let _ = write!(text, " {}", brief(about, 120));
        }
    }
    text
}

/// Returns an example value for the command line.
fn example(schema: &Value) -> String {
    let given = schema.get("default").or_else(|| schema["examples"].get(0));
    let given = given.or_else(|| schema["enum"].get(0)).or_else(|| schema.get("const"));
    if let Some(value) = given {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text = brief(&text, 60);
        let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:@".contains(&b));
        return if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) };
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => "1".into(),
        Some("boolean") => "true".into(),
        Some("array") => "'[…]'".into(),
        Some("object") => "'{…}'".into(),
        _ => "…".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_types_are_written_out() {
        let schema = json!({"type": "array", "items": {"type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}}});
        assert_eq!(kind(&schema), r#"{name: string, tags?: ("a"|"b")[]}[]"#);
        assert_eq!(kind(&json!({"anyOf": [{"type": "string"}, {"type": "null"}]})), "string|null");
        assert_eq!(kind(&json!({})), "any");
    }

    #[test]
    fn usage_shows_arguments_with_an_example() {
        let mut spec = ToolSpec::new("read", "Reads");
        let schema = json!({"type": "object", "required": ["path", "head"], "properties": {
            "path": {"type": "string", "description": "Which file"},
            "head": {"type": "integer"}, "mode": {"enum": ["text", "raw"]}}});
        spec.input_schema = mcp_bridge::RawJson::encode(&schema).unwrap();
        let text = usage(&spec);
        assert!(text.starts_with("mcp call read head=1 path=…\n"), "{text}");
        assert!(text.contains("\n  path (required, string) Which file"), "{text}");
        assert!(text.contains("\n  mode (\"text\"|\"raw\")"), "{text}");
    }
}
