//! Traits for prompts and for the completion of arguments.

use std::collections::BTreeMap;

use mcp_types::{BoxFuture, Completion, GetPromptResult, Prompt};

use crate::{call::Call, error::ServeError};

/// A provider of prompts.
pub trait Prompts: Send + Sync {
    /// Lists all prompts, in a stable order.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Renders a prompt with its arguments.
    ///
    /// # Errors
    /// [`ServeError::InvalidParams`] by default: the prompt is unknown.
    fn get(
        &self,
        name: String,
        arguments: BTreeMap<String, String>,
        call: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        let _ = (arguments, call);
        Box::pin(async move { Err(unknown_prompt(&name)) })
    }
}

pub(super) fn unknown_prompt(name: &str) -> ServeError {
    ServeError::InvalidParams(format!("unknown prompt `{name}`"))
}

/// Completes the arguments of prompts and resource templates.
pub trait Completions: Send + Sync {
    /// Suggests values for the argument. Default: none.
    fn complete(
        &self,
        question: CompletionQuestion,
    ) -> BoxFuture<'_, Result<Completion, ServeError>> {
        let _ = question;
        Box::pin(async { Ok(Completion::new(Vec::new())) })
    }
}

/// A request for completion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionQuestion {
    /// The prompt or template that the argument belongs to.
    pub of: CompletionOf,
    /// The argument's name.
    pub argument: String,
    /// The text typed so far.
    pub value: String,
    /// Values of the other arguments.
    pub settled: BTreeMap<String, String>,
}

/// The prompt or resource template to complete an argument of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol defines these two")]
pub enum CompletionOf {
    /// A prompt, by its name.
    Prompt(String),
    /// A resource template, by its URI template.
    Resource(String),
}
