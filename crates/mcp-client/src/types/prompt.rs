//! Prompts a server offers, and completion of their arguments.

use mcp_jsonrpc::RawJson;

use super::{Content, Extra, open::open};

open! {
    /// A prompt as its server describes it.
    pub struct Prompt {
        /// What to ask for it by.
        required name: String = "name",
        /// What to show people.
        optional title: Option<String> = "title",
        /// What it is for. Foreign text.
        optional description: Option<String> = "description",
        /// What it takes.
        lenient arguments: Vec<PromptArgument> = "arguments",
        /// Pictures to show with it.
        optional icons: Option<RawJson> = "icons",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// Something a prompt takes. Its value is always a string.
    pub struct PromptArgument {
        /// Its name.
        required name: String = "name",
        /// What to show people.
        optional title: Option<String> = "title",
        /// What it means. Foreign text.
        optional description: Option<String> = "description",
        /// Whether the prompt can do without it.
        lenient required: bool = "required",
    }

    /// A prompt filled in.
    pub struct GetPromptResult {
        /// What it is for.
        optional description: Option<String> = "description",
        /// What to give the model. Foreign.
        lenient messages: Vec<PromptMessage> = "messages",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// One message of a prompt.
    pub struct PromptMessage {
        /// `user` or `assistant`.
        required role: String = "role",
        /// What is said.
        required content: Content = "content",
    }

    /// Ways to complete an argument.
    pub struct Completion {
        /// At most a hundred.
        lenient values: Vec<String> = "values",
        /// How many there are in all, if known.
        optional total: Option<f64> = "total",
        /// Whether there are more than these.
        lenient has_more: bool = "hasMore",
    }
}

impl Prompt {
    /// A prompt that takes nothing.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: Vec::new(),
            icons: None,
            meta: None,
            extra: Extra::default(),
        }
    }
}

impl PromptArgument {
    /// An argument the prompt cannot do without.
    pub fn required(name: impl Into<String>) -> Self {
        Self { required: true, ..Self::optional(name) }
    }

    /// An argument the prompt can do without.
    pub fn optional(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            required: false,
            extra: Extra::default(),
        }
    }
}

impl GetPromptResult {
    /// These messages.
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self { description: None, messages, meta: None, extra: Extra::default() }
    }
}

impl PromptMessage {
    /// Something the user says.
    pub fn user(content: Content) -> Self {
        Self { role: "user".into(), content, extra: Extra::default() }
    }

    /// Something the model says.
    pub fn assistant(content: Content) -> Self {
        Self { role: "assistant".into(), content, extra: Extra::default() }
    }
}

impl Completion {
    /// These values, and there are no more.
    pub fn new(values: Vec<String>) -> Self {
        Self { values, total: None, has_more: false, extra: Extra::default() }
    }
}
