//! The published JSON Schema of our own format, made from the table the reader uses.
//!
//! Editors complete and check what we will really accept, because both come from one place.

use serde_json::{Map, Value as Json, json};

use crate::{
    custom::MOST_STEPS,
    dialect::{
        AUTH, CONNECT, Dialect,
        shape::{Field, Slot},
    },
};

/// The JSON Schema (2020-12) of `.mcp.json`. The copy in `schema/` is checked against it.
///
/// ```
/// assert_eq!(mcp_config::schema()["title"], "MCP servers");
/// ```
pub fn schema() -> Json {
    let shape = Dialect::McpJson.shape();
    let mut server = object(shape.fields);
    server["description"] = "One server: `command` for a program, `url` for an endpoint.".into();
    // Every transport needs something to reach; `sdk` is found by name.
    server["anyOf"] = json!([
        { "required": ["command"] },
        { "required": ["url"] },
        { "required": ["type"], "properties": { "type": { "const": "sdk" } } }
    ]);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "MCP servers",
        "description": "Servers of the Model Context Protocol, and what may be used of them.",
        "type": "object",
        "properties": {
            "$schema": { "type": "string" },
            "mcpServers": {
                "type": "object",
                "description": "The servers, by name.",
                "propertyNames": { "minLength": 1, "maxLength": 64, "pattern": r"^[^/\\\u0000-\u001f]+$" },
                "additionalProperties": { "$ref": "#/$defs/server" }
            },
            "customTools": {
                "type": "object",
                "description": "Tools made of other tools, by name.",
                "propertyNames": { "pattern": "^[A-Za-z0-9_-]{1,64}$" },
                "additionalProperties": { "$ref": "#/$defs/customTool" }
            },
            "policy": { "$ref": "#/$defs/policy" }
        },
        "$defs": { "server": server, "customTool": custom_tool(), "policy": policy() }
    })
}

fn object(fields: &[Field]) -> Json {
    let properties: Map<String, Json> = fields
        .iter()
        .filter_map(|field| {
            let (mut schema, about) = match field.slot {
                Slot::Group(fields) => (object(fields), group(field.key)),
                slot => value(slot)?,
            };
            schema["description"] = about.into();
            Some((field.key.to_owned(), schema))
        })
        .collect();
    json!({ "type": "object", "properties": properties })
}

fn text() -> Json {
    json!({ "type": "string" })
}

fn words<T>(words: &[(&str, T)]) -> Json {
    json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
}

fn list() -> Json {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn whole() -> Json {
    json!({ "type": "integer", "minimum": 0 })
}

fn number() -> Json {
    json!({ "type": "number", "minimum": 0 })
}

fn map() -> Json {
    json!({ "type": "object", "additionalProperties": { "type": "string" } })
}

/// The schema of one setting and what it is for; `None` for spellings we only put up with.
fn value(slot: Slot) -> Option<(Json, &'static str)> {
    let kinds = Dialect::McpJson.shape().kinds;
    Some(match slot {
        Slot::Type => {
            (words(kinds), "The transport; found out from the other fields when left out.")
        }
        Slot::Command => {
            (text(), "The program. Variables: ${VAR}, ${VAR:-default}, ${workspaceFolder}, ~.")
        }
        Slot::Args => (list(), "Its arguments."),
        Slot::EnvOrNull => (
            json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean", "null"] } }),
            "Environment variables set for it; null removes one.",
        ),
        Slot::EnvPass => (list(), "Environment variables passed on, by name."),
        Slot::EnvFile => (text(), "A file of KEY=value lines."),
        Slot::Cwd => (text(), "The directory it is started in."),
        Slot::Url => (text(), "The endpoint: http, https, ws, wss, unix or pipe."),
        Slot::Headers => {
            (map(), "Headers sent with every request, such as Authorization: Bearer ${TOKEN}.")
        }
        Slot::HeadersHelper => (text(), "A command that prints more headers as a JSON object."),
        Slot::SdkServer => {
            (text(), "For sdk: the name the server is registered under in the host.")
        }
        Slot::Enabled => {
            (json!({ "type": "boolean", "default": true }), "Whether it may be started.")
        }
        Slot::Call(_) => (number(), "Milliseconds a call may take without progress."),
        Slot::Startup(_) => (number(), "Milliseconds it may take to come up."),
        Slot::Total(_) => (number(), "Milliseconds a call may take in all."),
        Slot::Allow => (list(), "Only these tools; * and ? are wildcards."),
        Slot::Deny => (list(), "Never these tools; wins over allow."),
        Slot::AlwaysLoad => (
            json!({ "anyOf": [{ "type": "boolean" }, list()] }),
            "Tools that stay in the prompt: all of them, or these.",
        ),
        Slot::Trust => {
            (json!({ "type": "boolean", "default": false }), "Whether you vouch for it.")
        }
        Slot::DescriptionLimit => (whole(), "Characters kept of a tool's description."),
        Slot::OutputLimit => (whole(), "Characters kept of a tool's output."),
        Slot::Connect => (words(CONNECT), "When to connect."),
        Slot::Era => (
            json!({ "anyOf": [{ "enum": ["legacy", "modern"] }, { "type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}" }] }),
            "The protocol to insist on.",
        ),
        Slot::Auth => (words(AUTH), "How you are identified to it."),
        Slot::Description => (text(), "What it is for."),
        Slot::ClientId => (text(), "A client registered beforehand."),
        Slot::ClientSecret => (text(), "Its secret; better as ${VAR}."),
        Slot::Scopes => (json!({ "anyOf": [list(), text()] }), "Scopes to ask for."),
        Slot::CallbackPort => (
            json!({ "type": "integer", "minimum": 0, "maximum": 65535 }),
            "The loopback port of the redirect.",
        ),
        Slot::RedirectUri => (text(), "The whole redirect address, when it is fixed."),
        Slot::MetadataUrl => (text(), "Where the authorization server describes itself."),
        Slot::AuthorizationUrl => (text(), "Where to send the user, without discovery."),
        Slot::TokenUrl => (text(), "Where to get tokens, without discovery."),
        Slot::Resource => (text(), "The resource to ask a token for."),
        Slot::TlsCa => (text(), "Extra certificate authorities, a PEM file."),
        Slot::TlsCert => (text(), "Our certificate, a PEM file."),
        Slot::TlsKey => (text(), "The key to it, a PEM file."),
        Slot::OAuth(fields) => (
            json!({ "anyOf": [object(fields), { "type": "boolean" }] }),
            "What is known beforehand for signing in; false not to.",
        ),
        _ => return None,
    })
}

/// What a nested object is for.
fn group(key: &str) -> &'static str {
    match key {
        "tls" => "Certificates for this server.",
        "timeouts" => "How long to wait.",
        "tools" => "Which of its tools are offered.",
        "limits" => "Caps on what it may say.",
        _ => "Settings that belong together.",
    }
}

fn custom_tool() -> Json {
    json!({
        "type": "object",
        "description": "One tool made of others.",
        "properties": {
            "description": { "type": "string", "description": "What it does, for the model." },
            "parameters": { "type": "object", "description": "What it takes: a JSON Schema of an object." },
            "readOnly": { "type": "boolean", "description": "Whether it changes nothing, for plan mode." },
            "steps": {
                "type": "array",
                "description": "What it does, in order; what the last one gives is its result.",
                "minItems": 1,
                "maxItems": MOST_STEPS,
                "items": {
                    "type": "object",
                    "properties": {
                        "tool": { "type": "string", "minLength": 1, "description": "The other tool, as server/tool." },
                        "fixed": { "type": "object", "description": "Arguments that are always the same." },
                        "rename": { "type": "object", "additionalProperties": { "type": "string" }, "description": "Our names of arguments to the other tool's." },
                        "resultAs": { "type": "string", "description": "The argument that gets the text of the step before." }
                    },
                    "required": ["tool"]
                }
            }
        },
        "required": ["steps"]
    })
}

fn policy() -> Json {
    let matchers = json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "An exact name." },
                "command": { "type": "array", "items": { "type": "string" }, "description": "An exact program and its arguments." },
                "url": { "type": "string", "description": "An address, with * anywhere." }
            },
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": false
        }
    });
    json!({
        "type": "object",
        "description": "What is allowed; binding for every scope when it stands in the enterprise's file.",
        "properties": {
            "exclusive": { "enum": ["none", "cloud", "all"], "description": "What else loads beside the enterprise's file." },
            "allow": matchers.clone(),
            "deny": matchers,
            "managedOnly": { "type": "boolean", "description": "Only the enterprise's own allow list counts." }
        }
    })
}
