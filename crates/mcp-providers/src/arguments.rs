//! Parses arguments as models send them.

mod null;

use std::collections::HashSet;

use mcp_jsonrpc::{Delivery, RawJson};
use mcp_tool::{FailureKind, ToolOutcome, ToolSpec};

/// The arguments of a call, or an outcome that tells the model how to correct them.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a loop must handle both")]
pub enum Arguments {
    /// A JSON object.
    Ready(RawJson),
    /// The result of the call. The tool was not called.
    Refused(ToolOutcome),
}

impl Arguments {
    /// Parses the text of a model's arguments. Empty text and `null` are an object without members, and a
    /// JSON string that contains an object is that object.
    ///
    /// ```
    /// use mcp_providers::Arguments;
    ///
    /// assert!(matches!(Arguments::read(""), Arguments::Ready(json) if json.as_str() == "{}"));
    /// let Arguments::Refused(outcome) = Arguments::read(r#"{"path": "/et"#) else { panic!() };
    /// assert!(outcome.text_content().starts_with("the arguments are cut off after 13 bytes"));
    /// ```
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Arguments::Ready(RawJson::empty_object());
        }
        match RawJson::parse(text.to_owned()) {
            Ok(json) => Self::of(json),
            Err(_) if is_cut(text) => refuse(format!(
                "the arguments are cut off after {} bytes; send the whole JSON object again, in \
                 several calls if it is too long",
                text.len()
            )),
            Err(error) => refuse(format!(
                "the arguments are not valid JSON ({error}); send one JSON object again"
            )),
        }
    }

    /// Converts arguments that are parsed JSON.
    pub fn of(json: RawJson) -> Self {
        if json.is_null() {
            return Arguments::Ready(RawJson::empty_object());
        }
        if let Ok(inner) = json.decode::<String>() {
            return match RawJson::parse(inner) {
                Ok(inner) if inner.is_object() => Self::of(inner),
                _ => refuse("the arguments are text; send a JSON object".to_owned()),
            };
        }
        if !json.is_object() {
            return refuse("the arguments are not a JSON object; send a JSON object".to_owned());
        }
        match repeated(&json) {
            Some(name) => refuse(format!(
                "the arguments have the member `{}` more than once; send each member once",
                mcp_safe::text::one_line(&name, 64)
            )),
            None => Arguments::Ready(json),
        }
    }

    /// Adapts the arguments to a tool: null members are removed if its schema neither requires them nor
    /// allows null. Strict mode has no other way to omit a property.
    ///
    /// ```
    /// use mcp_providers::Arguments;
    /// use mcp_tool::{RawJson, ToolSpec};
    ///
    /// let mut spec = ToolSpec::new("head", "Reads a file.");
    /// spec.input_schema = RawJson::parse(
    ///     r#"{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"lines":{"type":"integer"}}}"#,
    /// )?;
    /// let arguments = Arguments::read(r#"{"path":"a","lines":null}"#).for_tool(&spec);
    /// assert!(matches!(arguments, Arguments::Ready(json) if json.as_str() == r#"{"path":"a"}"#));
    /// # Ok::<(), mcp_jsonrpc::ShapeError>(())
    /// ```
    #[must_use]
    pub fn for_tool(self, tool: &ToolSpec) -> Self {
        match self {
            Arguments::Ready(json) => Arguments::Ready(null::without(json, &tool.input_schema)),
            refused @ Arguments::Refused(_) => refused,
        }
    }
}

fn refuse(text: String) -> Arguments {
    Arguments::Refused(ToolOutcome::failed(FailureKind::InvalidArguments, Delivery::NotSent, text))
}

/// Whether a bracket or a string is unclosed at the end.
fn is_cut(text: &str) -> bool {
    let (mut depth, mut in_string, mut is_escaped) = (0_i64, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    in_string || depth > 0
}

/// The first member name that occurs twice in one object, at any depth.
fn repeated(json: &RawJson) -> Option<String> {
    if json.is_object() {
        let mut names = HashSet::new();
        return json.members().find_map(|(name, value)| {
            repeated(&value).or_else(|| (!names.insert(name.clone())).then_some(name))
        });
    }
    if !json.as_str().starts_with('[') {
        return None;
    }
    json.decode::<Vec<RawJson>>().unwrap_or_default().iter().find_map(repeated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match Arguments::read(text) {
            Arguments::Ready(json) => json.as_str().to_owned(),
            Arguments::Refused(outcome) => {
                assert!(outcome.is_error);
                assert_eq!(outcome.failure_kind(), Some(FailureKind::InvalidArguments));
                outcome.text_content()
            }
        }
    }

    #[test]
    fn arguments_are_an_object_or_a_repairable_outcome() {
        for (text, expected) in [
            ("", "{}"),
            (" \n", "{}"),
            ("null", "{}"),
            (r#" {"a": 1} "#, r#"{"a": 1}"#),
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            (r#""hello""#, "the arguments are text; send a JSON object"),
            ("[1]", "the arguments are not a JSON object; send a JSON object"),
            ("7", "the arguments are not a JSON object; send a JSON object"),
            (
                r#"{"a":{"b":1,"b":2}}"#,
                "the arguments have the member `b` more than once; send each member once",
            ),
            (
                r#"{"a":[{"b":1,"b":1}]}"#,
                "the arguments have the member `b` more than once; send each member once",
            ),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for cut in [r#"{"a": "x"#, r#"{"a": [1, 2"#, "{"] {
            assert!(read(cut).starts_with("the arguments are cut off after"), "{cut}");
        }
        for wrong in ["{'a': 1}", r#"{"a": 1}{"b": 2}"#, "path=/etc", "{a: 1}"] {
            assert!(read(wrong).starts_with("the arguments are not valid JSON"), "{wrong}");
        }
    }
}
