//! `x-mcp-header`: tool arguments that are repeated in headers, so that intermediaries can read them without parsing
//! bodies.
//!
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters>

use http::{HeaderName, HeaderValue};
use mcp_jsonrpc::RawJson;

use super::header_value::header_value;
use crate::challenge::is_token;

const ANNOTATION: &str = "x-mcp-header";
/// Schemas nested deeper than this are rejected.
const DEEPEST: usize = 64;
/// The largest integer that all JSON parsers represent exactly.
const LARGEST: i64 = (1 << 53) - 1;

/// One argument that is sent in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeaderParam {
    header: HeaderName,
    /// The property names that lead to the argument.
    path: Vec<String>,
}

/// Keywords with subschemas that do not determine the location of an argument.
const SCHEMAS: &[&str] = &[
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const MAPS: &[&str] = &["$defs", "definitions", "patternProperties", "dependentSchemas"];

/// Returns the header parameters of a tool's schema.
///
/// # Errors
/// A description of an invalid annotation.
pub(super) fn header_params(schema: &RawJson) -> Result<Vec<HeaderParam>, String> {
    // Fast path: nearly all schemas have no annotations.
    if !schema.as_str().contains(ANNOTATION) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), true, DEEPEST, &mut found)?;
    Ok(found)
}

fn walk(
    schema: &RawJson,
    path: &mut Vec<String>,
    reachable: bool,
    depth: usize,
    found: &mut Vec<HeaderParam>,
) -> Result<(), String> {
    if !schema.is_object() {
        return Ok(());
    }
    let depth = depth.checked_sub(1).ok_or("its schema is nested too deeply")?;
    for (name, value) in schema.members() {
        let name = name.as_str();
        if name == ANNOTATION {
            if !reachable || path.is_empty() {
                return Err(format!("`{ANNOTATION}` stands where no argument has a fixed place"));
            }
            found.push(header_param(schema, &value, path, found)?);
        } else if name == "properties" {
            for (property, value) in value.members() {
                path.push(property);
                walk(&value, path, reachable, depth, found)?;
                path.pop();
            }
        } else if MAPS.contains(&name) {
            for (_, value) in value.members() {
                walk(&value, path, false, depth, found)?;
            }
        } else {
            if LISTS.contains(&name) {
                for value in value.decode::<Vec<RawJson>>().unwrap_or_default() {
                    walk(&value, path, false, depth, found)?;
                }
            }
            if SCHEMAS.contains(&name) {
                walk(&value, path, false, depth, found)?;
            }
        }
    }
    Ok(())
}

fn header_param(
    schema: &RawJson,
    value: &RawJson,
    path: &[String],
    found: &[HeaderParam],
) -> Result<HeaderParam, String> {
    let argument = path.join(".");
    let Ok(name) = value.decode::<String>() else {
        return Err(format!("the `{ANNOTATION}` of `{argument}` is not a string"));
    };
    let token = !name.is_empty() && name.chars().all(is_token);
    let header = HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes());
    let (true, Ok(header)) = (token, header) else {
        return Err(format!("the `{ANNOTATION}` of `{argument}` is not a valid header name"));
    };
    if found.iter().any(|other| other.header == header) {
        return Err(format!("two arguments want the header `{header}`"));
    }
    if !has_simple_type(schema) {
        return Err(format!("`{argument}` has a header but is not a string, integer or boolean"));
    }
    Ok(HeaderParam { header, path: path.to_vec() })
}

/// Whether the type is string, integer or boolean, or one of them and null.
fn has_simple_type(schema: &RawJson) -> bool {
    let Some(kind) = schema.get("type") else { return false };
    let simple = |kind: &str| matches!(kind, "string" | "integer" | "boolean");
    if let Ok(kind) = kind.decode::<String>() {
        return simple(&kind);
    }
    let kinds = kind.decode::<Vec<String>>().unwrap_or_default();
    let (nulls, others): (Vec<_>, Vec<_>) = kinds.iter().partition(|kind| *kind == "null");
    nulls.len() <= 1 && others.len() == 1 && simple(others[0])
}

impl HeaderParam {
    /// Returns the header for a call with these arguments, or `None` if the argument is absent.
    ///
    /// # Errors
    /// A number that a header cannot carry exactly.
    pub(super) fn header(
        &self,
        arguments: &RawJson,
    ) -> Result<Option<(HeaderName, HeaderValue)>, String> {
        let mut value = arguments.clone();
        for name in &self.path {
            match value.get(name) {
                Some(member) => value = member,
                None => return Ok(None),
            }
        }
        let text = match value.as_str() {
            "null" => return Ok(None),
            text @ ("true" | "false") => text.to_owned(),
            text if text.starts_with('"') => match value.decode::<String>() {
                Ok(text) => text,
                Err(_) => return Ok(None),
            },
            _ => match value.decode::<i64>() {
                Ok(number) if (-LARGEST..=LARGEST).contains(&number) => number.to_string(),
                _ => {
                    let argument = self.path.join(".");
                    return Err(format!(
                        "`{argument}` goes into a header but is not an integer in range"
                    ));
                }
            },
        };
        Ok(Some((self.header.clone(), header_value(&text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(properties: &str) -> Result<Vec<String>, String> {
        let schema = format!(r#"{{"type":"object","properties":{properties}}}"#);
        let found = header_params(&RawJson::parse(schema).unwrap())?;
        Ok(found.iter().map(|one| format!("{}={}", one.path.join("."), one.header)).collect())
    }

    #[test]
    fn annotations_are_found_along_properties() {
        assert_eq!(of(r#"{"a":{"type":"string"}}"#), Ok(vec![]));
        assert_eq!(
            of(
                r#"{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"object","properties":{
                "c":{"type":["integer","null"],"x-mcp-header":"Method"}}}}"#
            ),
            Ok(vec!["a=mcp-param-region".into(), "b.c=mcp-param-method".into()])
        );
        // A property of that name, or text in data, is not an annotation.
        assert_eq!(of(r#"{"x-mcp-header":{"type":"string"}}"#), Ok(vec![]));
        assert_eq!(of(r#"{"a":{"type":"object","default":{"x-mcp-header":"A"}}}"#), Ok(vec![]));
    }

    #[test]
    fn invalid_header_annotation_makes_the_tool_invalid() {
        for properties in [
            r#"{"a":{"type":"string","x-mcp-header":""}}"#,
            r#"{"a":{"type":"string","x-mcp-header":7}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"a b"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"a:b"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"ä"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"a\u0007"}}"#,
            r#"{"a":{"type":"number","x-mcp-header":"A"}}"#,
            r#"{"a":{"type":"object","x-mcp-header":"A"}}"#,
            r#"{"a":{"type":"array","x-mcp-header":"A"}}"#,
            r#"{"a":{"type":"null","x-mcp-header":"A"}}"#,
            r#"{"a":{"x-mcp-header":"A"}}"#,
            r#"{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}"#,
            r#"{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}"#,
            r#"{"a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]}}"#,
            r#"{"a":{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}}"#,
        ] {
            assert!(of(properties).is_err(), "{properties}");
        }
    }

    #[test]
    fn headers_carry_the_arguments_sent() {
        let schema = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
        let one = &header_params(&RawJson::parse(schema).unwrap()).unwrap()[0];
        let value = |arguments: &str| {
            let header = one.header(&RawJson::parse(arguments.to_owned()).unwrap())?;
            Ok::<_, String>(header.map(|(_, value)| value.to_str().unwrap().to_owned()))
        };
        assert_eq!(value(r#"{"a":"x y"}"#), Ok(Some("x y".into())));
        assert_eq!(value(r#"{"a":""}"#), Ok(Some(String::new())));
        assert_eq!(value(r#"{"a":true}"#), Ok(Some("true".into())));
        assert_eq!(value(r#"{"a":-7}"#), Ok(Some("-7".into())));
        assert_eq!(value(r#"{"a":null}"#), Ok(None));
        assert_eq!(value("{}"), Ok(None));
        assert!(value(r#"{"a":9007199254740992}"#).is_err());
        assert!(value(r#"{"a":1.5}"#).is_err());
    }
}
