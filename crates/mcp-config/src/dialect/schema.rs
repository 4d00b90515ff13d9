//! The published JSON Schema of our own format, generated from the reader's table.
//!
//! Editors therefore complete and check exactly the fields that the reader accepts.

use serde_json::{Map, Value as Json, json};

use super::{
    catalogue::Dialect,
    custom_tool::MOST_STEPS,
    shape::{Field, Slot},
    value::{AUTH, CONNECT, INHERIT_ENV, LEVELS},
};

/// The published file. Its definitions of servers are generated; the rest is written by hand.
const PUBLISHED: &str = include_str!("../../schema/mcp.schema.json");

/// The JSON Schema (2020-12) of `.mcp.json`. The copy in `schema/` is checked against it.
///
/// ```
/// assert_eq!(mcp_config::dialect::schema()["title"], "MCP servers");
/// ```
pub fn schema() -> Json {
    let shape = Dialect::McpJson.shape();
    let mut server = object(shape.fields);
    server["description"] = "One server: `command` for a program, `url` for an endpoint.".into();
    // Every transport needs an endpoint or a program; `sdk` is found by name.
    server["anyOf"] = json!([
        { "required": ["command"] },
        { "required": ["url"] },
        { "required": ["type"], "properties": { "type": { "const": "sdk" } } }
    ]);
    let mut schema: Json = serde_json::from_str(PUBLISHED).unwrap_or_default();
    let definitions = &mut schema["$defs"];
    definitions["server"] = server;
    definitions["customTool"]["properties"]["steps"]["maxItems"] = MOST_STEPS.into();
    schema
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

/// The object form of a sandbox, which `mcp-sandbox` reads.
fn sandbox() -> Json {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "profile": words(LEVELS),
            "project": { "enum": ["none", "read", "write"] },
            "read": list(),
            "write": list(),
            "hosts": list(),
            "required": { "type": "boolean", "default": false },
            "limits": { "type": "object" }
        }
    })
}

/// The schema and description of one setting; `None` for aliases that are only read.
fn value(slot: Slot) -> Option<(Json, &'static str)> {
    let kinds = Dialect::McpJson.shape().kinds;
    Some(match slot {
        Slot::Type => (words(kinds), "The transport; inferred from the other fields if absent."),
        Slot::Command => {
            (text(), "The program. Variables: ${VAR}, ${VAR:-default}, ${workspaceFolder}, ~.")
        }
        Slot::Args => (list(), "Its arguments."),
        Slot::EnvOrNull => (
            json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean", "null"] } }),
            "Environment variables set for it; null removes one.",
        ),
        Slot::EnvPass => (list(), "Environment variables passed on, by name."),
        Slot::InheritEnv => (
            words(INHERIT_ENV),
            "How much of the host's environment it inherits: what programs need, or all of it.",
        ),
        Slot::EnvFile => (text(), "A file of KEY=value lines."),
        Slot::Cwd => (text(), "The directory it is started in."),
        Slot::Sandbox => (
            json!({ "anyOf": [words(LEVELS), sandbox()] }),
            "Restrictions of a local server: a level, or an object with a profile and exceptions.",
        ),
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
        Slot::Startup(_) => (number(), "Milliseconds it may take to start."),
        Slot::Total(_) => (number(), "Milliseconds a call may take in total."),
        Slot::Allow => (list(), "Only these tools; * and ? are wildcards."),
        Slot::Deny => (list(), "Never these tools; wins over allow."),
        Slot::AlwaysLoad => (
            json!({ "anyOf": [{ "type": "boolean" }, list()] }),
            "Tools that stay in the prompt: all of them, or these.",
        ),
        Slot::Trust => (json!({ "type": "boolean", "default": false }), "Whether it is trusted."),
        Slot::DescriptionLimit => (whole(), "Characters kept of a tool's description."),
        Slot::OutputLimit => (whole(), "Characters kept of a tool's output."),
        Slot::Connect => (words(CONNECT), "When to connect."),
        Slot::Era => (
            json!({ "anyOf": [{ "enum": ["legacy", "modern"] }, { "type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}" }] }),
            "The protocol era or revision to require.",
        ),
        Slot::Auth => (words(AUTH), "How requests authenticate."),
        Slot::Description => (text(), "A description of the server."),
        Slot::ClientId => (text(), "The id of a client registered in advance."),
        Slot::ClientSecret => (text(), "The client's secret; better as ${VAR}."),
        Slot::Scopes => (json!({ "anyOf": [list(), text()] }), "Scopes to request."),
        Slot::CallbackPort => (
            json!({ "type": "integer", "minimum": 0, "maximum": 65535 }),
            "The loopback port of the redirect.",
        ),
        Slot::RedirectUri => (text(), "The complete redirect URI, if it is fixed."),
        Slot::MetadataUrl => (text(), "URL of the authorization server's metadata."),
        Slot::AuthorizationUrl => (text(), "The authorization endpoint, to skip discovery."),
        Slot::TokenUrl => (text(), "The token endpoint, to skip discovery."),
        Slot::Resource => (text(), "The resource to request a token for."),
        Slot::TlsCa => (text(), "Extra certificate authorities, a PEM file."),
        Slot::TlsCert => (text(), "The client certificate, a PEM file."),
        Slot::TlsKey => (text(), "Its private key, a PEM file."),
        Slot::OAuth(fields) => (
            json!({ "anyOf": [object(fields), { "type": "boolean" }] }),
            "Known OAuth settings; false disables the login.",
        ),
        _ => return None,
    })
}

/// The description of a nested object.
fn group(key: &str) -> &'static str {
    match key {
        "tls" => "Certificates for this server.",
        "timeouts" => "Timeouts.",
        "tools" => "Which of its tools are offered.",
        "limits" => "Limits on the length of its text.",
        _ => "Settings that belong together.",
    }
}
