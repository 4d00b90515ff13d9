//! The published schema matches the reader.

use mcp_config::{Dialect, dialect::schema};
use serde_json::Value as Json;

use crate::matrix::FIXTURES;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/mcp.schema.json");

#[test]
fn the_committed_schema_is_the_generated_one() {
    let generated = format!("{:#}\n", schema());
    if std::env::var_os("MCP_CONFIG_WRITE_SCHEMA").is_some() {
        std::fs::write(COMMITTED, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    // Compare as values, because another crate in the build may change the key order of serde_json.
    let committed: Option<Json> = serde_json::from_str(&committed).ok();
    assert!(
        committed == Some(schema()),
        "run the test again with MCP_CONFIG_WRITE_SCHEMA=1 and commit the result"
    );
}

/// The subset of JSON Schema that ours uses. An unknown keyword is a failure.
fn check(schema: &Json, root: &Json, value: &Json, at: &str) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().unwrap() {
        let good = match keyword.as_str() {
            "$schema" | "title" | "description" | "default" | "$defs" | "propertyNames"
            | "pattern" => true,
            "$ref" => {
                let pointer = rule.as_str().unwrap().trim_start_matches('#');
                check(root.pointer(pointer).unwrap(), root, value, at)?;
                true
            }
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                types.iter().any(|kind| match kind.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "null" => value.is_null(),
                    other => panic!("type {other}"),
                })
            }
            "enum" => rule.as_array().unwrap().contains(value),
            "const" => rule == value,
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "minProperties" => {
                value.as_object().is_none_or(|o| o.len() as u64 >= rule.as_u64().unwrap())
            }
            "maxProperties" => {
                value.as_object().is_none_or(|o| o.len() as u64 <= rule.as_u64().unwrap())
            }
            "required" => rule
                .as_array()
                .unwrap()
                .iter()
                .all(|key| value.get(key.as_str().unwrap()).is_some()),
            "anyOf" => {
                rule.as_array().unwrap().iter().any(|option| check(option, root, value, at).is_ok())
            }
            "oneOf" => {
                let fits = |option: &&Json| check(option, root, value, at).is_ok();
                rule.as_array().unwrap().iter().filter(fits).count() == 1
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(rule, root, item, at)?;
                }
                true
            }
            "properties" => {
                for (key, inner) in rule.as_object().unwrap() {
                    if let Some(found) = value.get(key) {
                        check(inner, root, found, &format!("{at}/{key}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Json::as_object);
                for (key, found) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(key)) {
                        match rule {
                            Json::Bool(allowed) if !allowed => {
                                return Err(format!("{at}/{key} is not allowed"));
                            }
                            Json::Bool(_) => {}
                            rule => check(rule, root, found, &format!("{at}/{key}"))?,
                        }
                    }
                }
                true
            }
            other => panic!("the schema uses `{other}`, which this check does not know"),
        };
        if !good {
            return Err(format!("{at} breaks `{keyword}`"));
        }
    }
    Ok(())
}

fn validate(text: &str) -> Result<(), String> {
    let schema = schema();
    check(&schema, &schema, &serde_json::from_str(text).unwrap(), "")
}

#[test]
fn schema_accepts_valid_files_and_rejects_mistakes() {
    let own = FIXTURES.iter().find(|fixture| fixture.dialect == Dialect::McpJson).unwrap();
    validate(own.text).unwrap();
    let full = r#"{"mcpServers":{"a":{"type":"http","url":"https://h/","headers":{"A":"b"},
        "oauth":{"clientId":"x","scopes":["a"],"callbackPort":1},"tls":{"ca":"~/ca.pem"},"enabled":false,
        "timeout":5000,"timeouts":{"startupMs":1.5},"tools":{"allow":["*"],"deny":[]},"alwaysLoad":["x"],
        "trust":true,"limits":{"output":1},"connect":"lazy","era":"2025-06-18","auth":"oauth","x-own":1},
        "b":{"type":"sdk"}},"policy":{"exclusive":"all","allow":[{"name":"a","transport":"http"}]}}"#;
    validate(full).unwrap();
    assert!(
        mcp_config::read(full.as_bytes(), &mcp_config::ReadOptions::new(".mcp.json")).entries.len()
            == 2
    );
    for (text, at) in [
        (r#"{"mcpServers":{"a":{}}}"#, "/mcpServers/a breaks `anyOf`"),
        (r#"{"mcpServers":{"a":{"command":1}}}"#, "/mcpServers/a/command breaks `type`"),
        (
            r#"{"mcpServers":{"a":{"command":"x","connect":"soon"}}}"#,
            "/mcpServers/a/connect breaks `enum`",
        ),
        (r#"{"mcpServers":{},"policy":{"deny":[{"nme":"x"}]}}"#, "/policy/deny/nme is not allowed"),
    ] {
        assert_eq!(validate(text), Err(at.to_owned()));
    }
}
