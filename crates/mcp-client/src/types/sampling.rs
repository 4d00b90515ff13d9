//! What a server may ask of the host itself: its model, and its roots.

use std::collections::BTreeSet;

use mcp_jsonrpc::{RawJson, ShapeError};

use super::open::open;

open! {
    /// A request to run the host's model. Deprecated in 2026-07-28, alive in older servers.
    pub struct CreateMessageRequest {
        /// The conversation, as raw messages.
        lenient messages: Vec<RawJson> = "messages",
        /// The most tokens to generate.
        optional max_tokens: Option<f64> = "maxTokens",
        /// What the server would like the model to be told.
        optional system_prompt: Option<String> = "systemPrompt",
        /// What kind of model it would like.
        optional model_preferences: Option<RawJson> = "modelPreferences",
        /// How random the answer should be.
        optional temperature: Option<f64> = "temperature",
        /// Where to stop.
        lenient stop_sequences: Vec<String> = "stopSequences",
        /// Tools the model may use, which the server runs.
        optional tools: Option<RawJson> = "tools",
        /// Whether the model has to use them.
        optional tool_choice: Option<RawJson> = "toolChoice",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// What the host's model said.
    pub struct CreateMessageResult {
        /// `assistant`.
        required role: String = "role",
        /// One block, or an array of them.
        required content: RawJson = "content",
        /// Which model it was.
        required model: String = "model",
        /// Why it stopped.
        optional stop_reason: Option<String> = "stopReason",
    }

    /// A directory the server may consider its workplace. Informational.
    pub struct Root {
        /// A `file:` URI.
        required uri: String = "uri",
        /// What to call it.
        optional name: Option<String> = "name",
    }
}

impl Root {
    /// The root at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None, extra: super::Extra::default() }
    }
}

impl CreateMessageRequest {
    /// A message with tool results has nothing else, and one result for each use in the message before.
    pub(crate) fn check_tool_results(&self) -> Result<(), ShapeError> {
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
                let problem = format_args!("messages[{index}]: tool results do not fit their uses");
                return Err(serde::de::Error::custom(problem));
            }
            used = ids("tool_use", "id").into_iter().collect();
        }
        Ok(())
    }
}

/// Content is one block, or an array of them.
fn blocks(content: RawJson) -> Vec<RawJson> {
    content.decode().unwrap_or_else(|_| vec![content])
}

fn text(block: &RawJson, name: &str) -> Option<String> {
    block.get(name)?.decode().ok()
}

impl CreateMessageResult {
    /// A plain answer of `model`.
    pub fn text(model: impl Into<String>, text: &str) -> Self {
        let mut content = mcp_jsonrpc::ObjectWriter::new();
        content.string("type", "text").string("text", text);
        Self {
            role: "assistant".into(),
            content: content.finish(),
            model: model.into(),
            stop_reason: Some("endTurn".into()),
            extra: super::Extra::default(),
        }
    }
}
