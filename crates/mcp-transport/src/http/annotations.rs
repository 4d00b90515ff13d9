//! `x-mcp-header`: arguments of a tool that travel in headers too, so that what stands between us and the
//! server can see them without reading bodies (2026-07-28/basic/transports/streamable-http).

use http::{HeaderName, HeaderValue};
use mcp_jsonrpc::RawJson;

use super::value::header_value;
use crate::challenge::is_token;

const ANNOTATION: &str = "x-mcp-header";
/// Schemas nested deeper than this are not worth understanding.
const DEEPEST: usize = 64;
/// The largest integer every JSON reader agrees about.
const LARGEST: i64 = (1 << 53) - 1;

/// One argument that has a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Annotation {
    header: HeaderName,
    /// The names that lead to the argument.
    path: Vec<String>,
}

/// Where subschemas stand that say nothing about where an argument is.
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

/// The annotations of a tool's schema, or what is wrong with them.
pub(super) fn annotations(schema: &RawJson) -> Result<Vec<Annotation>, String> {
    // Nearly all schemas have none.
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
    found: &mut Vec<Annotation>,
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
            found.push(annotation(schema, &value, path, found)?);
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

fn annotation(
    schema: &RawJson,
    value: &RawJson,
    path: &[String],
    found: &[Annotation],
) -> Result<Annotation, String> {
    let argument = path.join(".");
    let Ok(name) = value.decode::<String>() else {
        return Err(format!("the `{ANNOTATION}` of `{argument}` is no text"));
    };
    let token = !name.is_empty() && name.chars().all(is_token);
    let header = HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes());
    let (true, Ok(header)) = (token, header) else {
        return Err(format!("the `{ANNOTATION}` of `{argument}` is no name for a header"));
    };
    if found.iter().any(|other| other.header == header) {
        return Err(format!("two arguments want the header `{header}`"));
    }
    if !has_simple_type(schema) {
        return Err(format!("`{argument}` has a header and is no string, integer or boolean"));
    }
    Ok(Annotation { header, path: path.to_vec() })
}

/// A string, an integer or a boolean; perhaps absent.
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

impl Annotation {
    /// The header for a call with these arguments, if the argument is there.
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
                        "`{argument}` goes into a header and is no whole number that fits"
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
        let found = annotations(&RawJson::parse(schema).unwrap())?;
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
        // A property of that name, or text in data, is none.
        assert_eq!(of(r#"{"x-mcp-header":{"type":"string"}}"#), Ok(vec![]));
        assert_eq!(of(r#"{"a":{"type":"object","default":{"x-mcp-header":"A"}}}"#), Ok(vec![]));
    }

    #[test]
    fn what_is_wrong_makes_the_tool_invalid() {
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
    fn headers_carry_what_is_sent() {
        let schema = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
        let one = &annotations(&RawJson::parse(schema).unwrap()).unwrap()[0];
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
