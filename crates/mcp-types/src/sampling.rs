//! Sampling and roots: a server's requests to the host.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/roots>

use std::collections::BTreeSet;

use mcp_jsonrpc::{RawJson, ShapeError};

use crate::open::{Open, open};

open! {
    /// A request to run the host's model. Deprecated in 2026-07-28.
    pub struct CreateMessageRequest {
        /// The messages, as raw JSON.
        lenient messages: Vec<RawJson> = "messages",
        /// The most tokens to generate.
        optional max_tokens: Option<f64> = "maxTokens",
        /// The system prompt that the server suggests.
        optional system_prompt: Option<String> = "systemPrompt",
        /// The server's preferences for the model.
        optional model_preferences: Option<RawJson> = "modelPreferences",
        /// The sampling temperature.
        optional temperature: Option<f64> = "temperature",
        /// Which servers to include the context of. Hosts with several servers ignore it.
        optional include_context: Option<String> = "includeContext",
        /// Sequences that end the completion.
        lenient stop_sequences: Vec<String> = "stopSequences",
        /// Tools that the model may call, which the server runs.
        optional tools: Option<RawJson> = "tools",
        /// Whether the model must call tools.
        optional tool_choice: Option<RawJson> = "toolChoice",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The completion of the host's model.
    pub struct CreateMessageResult {
        /// `assistant`.
        required role: String = "role",
        /// One block, or an array of them.
        required content: RawJson = "content",
        /// The name of the model.
        required model: String = "model",
        /// Why the completion ended.
        optional stop_reason: Option<String> = "stopReason",
    }

    /// A folder that the client tells servers they may use. Informational.
    pub struct Root {
        /// A `file:` URI.
        required uri: String = "uri",
        /// The display name.
        optional name: Option<String> = "name",
    }
}

impl Root {
    /// The root at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self::of((uri.into(),))
    }
}

impl CreateMessageRequest {
    /// Checks that a message with tool results contains nothing else, and has one result for each tool use of the
    /// message before it: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#message-content-constraints>.
    pub fn check_tool_results(&self) -> Result<(), ShapeError> {
        let mut used = BTreeSet::new();
        for (index, message) in self.messages.iter().enumerate() {
            let blocks = message.get("content").map(blocks).unwrap_or_default();
            let ids = |kind: &str, id: &str| -> Vec<String> {
                let of_kind =
                    blocks.iter().filter(|block| text(block, "type").as_deref() == Some(kind));
                of_kind.filter_map(|block| text(block, id)).collect()
            };
            let results = ids("tool_result", "toolUseId");
            let count = results.len();
            let answered: BTreeSet<String> = results.into_iter().collect();
            if answered != used || count > 0 && count != blocks.len() {
                let problem =
                    format_args!("messages[{index}]: tool results do not match the tool uses");
                return Err(serde::de::Error::custom(problem));
            }
            // The uses of the last message have no results yet, so they are not checked.
            used = ids("tool_use", "id").into_iter().collect();
        }
        Ok(())
    }
}

/// The blocks of a content that is one block or an array of blocks.
fn blocks(content: RawJson) -> Vec<RawJson> {
    content.decode().unwrap_or_else(|_| vec![content])
}

fn text(block: &RawJson, name: &str) -> Option<String> {
    block.get(name)?.decode().ok()
}

impl CreateMessageResult {
    /// A text completion by `model`.
    pub fn text(model: impl Into<String>, text: &str) -> Self {
        let mut content = mcp_jsonrpc::ObjectWriter::new();
        content.string("type", "text").string("text", text);
        let said = Self::of(("assistant".into(), content.finish(), model.into()));
        Self { stop_reason: Some("endTurn".into()), ..said }
    }
}
