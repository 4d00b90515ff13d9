//! Checks and completes input schemas. Invalid ones are rejected.

use std::fmt;

use mcp_client::RawJson;
use mcp_safe::text::{is_visible, strip_ansi};
use serde_json::Value;

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
}
