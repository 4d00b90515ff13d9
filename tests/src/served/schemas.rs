//! A tool whose schema uses the features of JSON Schema 2020-12.

use mcp_bridge::ToolOutcome;
use serde_json::json;

use super::fixture::Fixture;

pub(super) fn tools() -> Vec<Fixture> {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    let description = "Tool with JSON Schema 2020-12 features";
    let tool = Fixture::new("json_schema_2020_12_tool", description, |arguments, _| async move {
        Ok(ToolOutcome::text(arguments.to_string()))
    });
    vec![tool.taking(&schema)]
}
