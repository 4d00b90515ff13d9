//! Prompts, and the completion of arguments.

use mcp_jsonrpc::RawJson;

use crate::{
    content::Content,
    listing::Rejectable,
    open::{Open, open},
};

open! {
    /// A prompt as the server lists it.
    pub struct Prompt {
        /// The name, by which it is requested.
        required name: String = "name",
        /// The display name.
        optional title: Option<String> = "title",
        /// The description. Foreign text.
        optional description: Option<String> = "description",
        /// The arguments.
        lenient arguments: Vec<PromptArgument> = "arguments",
        /// The icons.
        optional icons: Option<RawJson> = "icons",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// An argument of a prompt. Its value is always a string.
    pub struct PromptArgument {
        /// The name.
        required name: String = "name",
        /// The display name.
        optional title: Option<String> = "title",
        /// The description. Foreign text.
        optional description: Option<String> = "description",
        /// Whether the argument is required.
        lenient required: bool = "required",
    }

    /// A rendered prompt.
    pub struct GetPromptResult {
        /// The description.
        optional description: Option<String> = "description",
        /// The messages for the model. Foreign.
        lenient messages: Vec<PromptMessage> = "messages",
        /// Metadata of the protocol and its extensions.
        optional meta: Option<RawJson> = "_meta",
    }

    /// One message of a prompt.
    pub struct PromptMessage {
        /// `user` or `assistant`.
        required role: String = "role",
        /// The content of the message.
        required content: Content = "content",
    }

    /// Suggested values of an argument.
    pub struct Completion {
        /// The values, at most 100.
        lenient values: Vec<String> = "values",
        /// The total number of values, if known.
        optional total: Option<f64> = "total",
        /// Whether there are more values.
        lenient has_more: bool = "hasMore",
    }
}

impl Rejectable for Prompt {
    const MEMBER: &'static str = "prompts";
}

impl Prompt {
    /// A prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self::of((name.into(),))
    }
}

impl PromptArgument {
    /// A required argument.
    pub fn required(name: impl Into<String>) -> Self {
        Self { required: true, ..Self::optional(name) }
    }

    /// An optional argument.
    pub fn optional(name: impl Into<String>) -> Self {
        Self::of((name.into(),))
    }
}

impl GetPromptResult {
    /// A prompt with these messages.
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self { messages, ..Self::of(()) }
    }
}

/// One user message with this text.
impl From<String> for GetPromptResult {
    fn from(text: String) -> Self {
        PromptMessage::user(Content::text(text)).into()
    }
}

/// One user message with this text.
impl From<&str> for GetPromptResult {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<PromptMessage> for GetPromptResult {
    fn from(message: PromptMessage) -> Self {
        Self::new(vec![message])
    }
}

impl From<Vec<PromptMessage>> for GetPromptResult {
    fn from(messages: Vec<PromptMessage>) -> Self {
        Self::new(messages)
    }
}

impl PromptMessage {
    /// A message of the user.
    pub fn user(content: Content) -> Self {
        Self::of(("user".into(), content))
    }

    /// A message of the model.
    pub fn assistant(content: Content) -> Self {
        Self::of(("assistant".into(), content))
    }
}

impl Completion {
    /// These values, with no others.
    pub fn new(values: Vec<String>) -> Self {
        Self { values, ..Self::of(()) }
    }
}
