//! Checks and completes input schemas. Invalid ones are rejected.

use std::fmt;

use mcp_client::RawJson;
use mcp_safe::text::{is_visible, strip_ansi};
use serde_json::{Map, Value, json};

/// The maximum size of a schema in bytes.
const LARGEST: usize = 256 << 10;
/// The maximum depth of a schema. Deeper ones can exhaust the stack of other parsers.
const DEEPEST: usize = 64;

/// The schema of a tool without parameters, used if the server gives none.
pub(crate) fn empty() -> RawJson {
    // Static text, so it parses.
    RawJson::parse(&br#"{"type":"object","properties":{}}"#[..])
        .unwrap_or_else(|_| RawJson::empty_object())
}

/// Why a schema was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    NotAnObject,
    WrongType(String),
    TooLarge(usize),
    TooDeep,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::NotAnObject => f.write_str("its input schema is not a JSON object"),
            Broken::WrongType(kind) => {
                write!(f, "its input schema has type {kind}, but arguments are always an object")
            }
            Broken::TooLarge(size) => {
                write!(f, "its input schema has {size} bytes, the limit is {LARGEST}")
            }
            Broken::TooDeep => {
                write!(f, "its input schema is nested more than {DEEPEST} levels deep")
            }
        }
    }
}

/// Returns the schema for a model: the server's bytes unchanged, unless the schema is missing or contains
/// invisible characters.
pub(crate) fn admit(raw: &RawJson) -> Result<RawJson, Broken> {
    if raw.is_null() || raw.as_str() == "{}" {
        return Ok(empty());
    }
    if !raw.is_object() {
        return Err(Broken::NotAnObject);
    }
    if raw.as_bytes().len() > LARGEST {
        return Err(Broken::TooLarge(raw.as_bytes().len()));
    }
    if depth(raw.as_str()) > DEEPEST {
        return Err(Broken::TooDeep);
    }
    let raw = &without_hidden(raw).unwrap_or_else(|| raw.clone());
    match raw.get("type") {
        None => {
            let mut with_type = mcp_jsonrpc::ObjectWriter::new();
            with_type.string("type", "object").splice(raw);
            Ok(with_type.finish())
        }
        Some(kind) if kind.as_str() == r#""object""# => Ok(raw.detached()),
        Some(kind) => Err(Broken::WrongType(kind.as_str().chars().take(40).collect())),
    }
}

/// Removes invisible characters from descriptions. Returns `None` if there are none.
fn without_hidden(raw: &RawJson) -> Option<RawJson> {
    let text = raw.as_str();
    // Nearly all schemas return here.
    if !text.contains("\\u") && is_visible(text) {
        return None;
    }
    let mut schema: Value = serde_json::from_str(text).ok()?;
    let mut changed = false;
    show(&mut schema, &mut changed);
    changed.then(|| RawJson::encode(&schema).ok()).flatten()
}

/// Cleans descriptions and titles. Other strings are compared with arguments, so they stay unchanged. The
/// caller bounds the depth.
fn show(schema: &mut Value, changed: &mut bool) {
    match schema {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text)
                        if matches!(name.as_str(), "description" | "title" | "$comment") =>
                    {
                        if let std::borrow::Cow::Owned(visible) = strip_ansi(text) {
                            *text = visible;
                            *changed = true;
                        }
                    }
                    other => show(other, changed),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| show(item, changed)),
        _ => {}
    }
}

/// Whether results can be checked against this output schema. If not, the tool is published without it.
pub(crate) fn is_reasonable(raw: &RawJson) -> bool {
    raw.is_object() && raw.as_bytes().len() <= LARGEST && depth(raw.as_str()) <= DEEPEST
}

/// The maximum depth of brackets, computed without recursion.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Converts a schema to the subset that all providers accept: without alternatives at the top level, external
/// references, property names that providers reject, or a `$schema`. The result accepts everything that the
/// original accepts; calls are still validated against the original.
///
/// ```
/// use mcp_bridge::{RawJson, tool::provider_safe};
///
/// let schema = RawJson::parse(r#"{"oneOf":[{"type":"object","properties":{"a":{}}}]}"#)?;
/// assert_eq!(provider_safe(&schema).as_str(), r#"{"properties":{"a":{}},"type":"object"}"#);
/// # Ok::<(), mcp_bridge::tool::ShapeError>(())
/// ```
pub fn provider_safe(schema: &RawJson) -> RawJson {
    let Ok(Value::Object(mut top)) = serde_json::from_str(schema.as_str()) else { return empty() };
    let mut properties = match top.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let mut may_be_absent = false;
    for word in ["anyOf", "oneOf", "allOf"] {
        let Some(Value::Array(parts)) = top.remove(word) else { continue };
        may_be_absent |= word != "allOf";
        for part in parts {
            let Value::Object(mut part) = part else { continue };
            if let Some(Value::Object(more)) = part.remove("properties") {
                for (name, value) in more {
                    properties.entry(name).or_insert(value);
                }
            }
        }
    }
    for word in ["$schema", "$id", "$anchor", "not", "if", "then", "else", "dependentSchemas"] {
        top.remove(word);
    }
    properties.retain(|name, _| is_nameable(name));
    if let Some(Value::Array(required)) = top.get_mut("required") {
        let known = |name: &Value| name.as_str().is_some_and(|name| properties.contains_key(name));
        required.retain(|name| known(name) && !may_be_absent);
        if required.is_empty() {
            top.remove("required");
        }
    }
    let mut safe = Value::Object(top);
    safe["properties"] = Value::Object(properties);
    safe["type"] = json!("object");
    drop_remote_refs(&mut safe, 0);
    RawJson::encode(&safe).unwrap_or_else(|_| empty())
}

fn is_nameable(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

fn drop_remote_refs(schema: &mut Value, depth: usize) {
    match schema {
        _ if depth > DEEPEST => *schema = json!({}),
        Value::Object(object) => {
            let is_remote = |value: &Value| value.as_str().is_none_or(|uri| !uri.starts_with('#'));
            if object.get("$ref").is_some_and(is_remote) {
                object.remove("$ref");
            }
            object.values_mut().for_each(|value| drop_remote_refs(value, depth + 1));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_remote_refs(item, depth + 1)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: impl Into<String>) -> RawJson {
        RawJson::parse(text.into()).unwrap()
    }

    #[test]
    fn valid_schema_is_unchanged_and_missing_schema_gets_a_default() {
        let odd = r#"{ "type" : "object", "properties":{"b":{},"a":{"x-vendor":1.0}} }"#;
        assert_eq!(admit(&raw(odd)).unwrap().as_str(), odd);
        for nothing in ["null", "{}"] {
            assert_eq!(admit(&raw(nothing)).unwrap(), empty());
        }
        let typed = admit(&raw(r#"{"properties":{}}"#)).unwrap();
        assert_eq!(typed.as_str(), r#"{"type":"object","properties":{}}"#);
    }

    #[test]
    fn invisible_characters_in_schema_descriptions_are_removed() {
        let hidden = raw(
            "{\"type\":\"object\",\"properties\":{\"a\":{\"description\":\"A path.\u{e0041}\u{e0042}\u{202e}\",\"enum\":[\"x\u{200b}\"]},\"b\":{\"title\":\"\\u200bB\"}}}",
        );
        let shown = admit(&hidden).unwrap();
        let shown: Value = shown.decode().unwrap();
        assert_eq!(shown["properties"]["a"]["description"], "A path.");
        assert_eq!(shown["properties"]["b"]["title"], "B");
        assert_eq!(
            shown["properties"]["a"]["enum"][0], "x\u{200b}",
            "an enum value is part of the contract"
        );
        let plain = r#"{"type":"object","description":"\u00e9\nline"}"#;
        assert_eq!(admit(&raw(plain)).unwrap().as_str(), plain);
    }

    #[test]
    fn rejected_schema_states_the_reason() {
        assert_eq!(admit(&raw("[1]")), Err(Broken::NotAnObject));
        assert_eq!(
            admit(&raw(r#"{"type":"string"}"#)),
            Err(Broken::WrongType("\"string\"".into()))
        );
        let deep = format!(r#"{{"type":"object","x":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
        assert_eq!(admit(&raw(deep)), Err(Broken::TooDeep));
        let brackets_in_text = format!(r#"{{"type":"object","x":"{}"}}"#, "[".repeat(100));
        assert!(admit(&raw(brackets_in_text)).is_ok());
        let large = format!(r#"{{"type":"object","x":"{}"}}"#, "x".repeat(LARGEST));
        assert!(matches!(admit(&raw(large)), Err(Broken::TooLarge(_))));
    }

    #[test]
    fn provider_schema_has_no_top_level_alternatives_or_external_references() {
        let schema = raw(
            r##"{"$schema":"x","type":"object","anyOf":[{"properties":{"a":{"$ref":"https://evil.test/x"}}},
                {"properties":{"b":{"$ref":"#/$defs/b"}}}],"required":["a","zz"],
                "properties":{"bad name":{}},"$defs":{"b":{"type":"string"}}}"##,
        );
        assert_eq!(
            provider_safe(&schema).as_str(),
            r##"{"$defs":{"b":{"type":"string"}},"properties":{"a":{},"b":{"$ref":"#/$defs/b"}},"type":"object"}"##
        );
        assert_eq!(provider_safe(&raw("7")), empty());
    }
}
