//! What a server can offer besides plain tools. Each trait does nothing until it is told otherwise.

use std::{collections::BTreeMap, fmt};

use futures_core::future::BoxFuture;
use mcp_client::{
    Completion, GetPromptResult, Prompt, RawJson, Resource, ResourceContents, ResourceTemplate,
};

use crate::{
    outcome::ToolOutcome,
    serve::{call::Call, error::ServeError},
    tool::ToolSpec,
};

/// A tool made for being served: it may ask the client things, log, and refuse a call altogether.
///
/// Any [`Tool`](crate::Tool) can be served; this is for those that want to know of their client.
pub trait ServedTool: Send + Sync {
    /// What clients are told about it. The same for as long as the tool lives.
    fn spec(&self) -> &ToolSpec;

    /// Does it. Arguments are an object.
    ///
    /// # Errors
    /// When the call makes no sense at all; a tool that tried and failed says so in its outcome.
    ///
    /// # Cancel safety
    /// The future is dropped when the client gives the call up.
    fn call(
        &self,
        arguments: RawJson,
        call: Call,
    ) -> BoxFuture<'_, Result<ToolOutcome, ServeError>>;
}

impl fmt::Debug for dyn ServedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServedTool").field(&self.spec().name).finish()
    }
}

/// Things a client may read.
///
/// Tell the server when they change: [`ToolServer::resources_changed`](crate::ToolServer::resources_changed) and
/// [`resource_updated`](crate::ToolServer::resource_updated).
pub trait Resources: Send + Sync {
    /// All of them, in an order that stays.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Families of them.
    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Reads one: listed, of a family, or neither.
    ///
    /// # Errors
    /// [`ServeError::UnknownResource`] by default.
    fn read(
        &self,
        uri: String,
        call: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        let _ = call;
        Box::pin(async { Err(ServeError::UnknownResource(uri)) })
    }

    /// Some client wants to hear when this one changes, and none did before. Called while the server holds a
    /// lock: take note, and do the rest elsewhere. Default: nothing.
    fn watch(&self, uri: &str) {
        let _ = uri;
    }

    /// Nobody wants to hear of this one any more. As above.
    fn unwatch(&self, uri: &str) {
        let _ = uri;
    }
}

/// Prompts a user may pick.
pub trait Prompts: Send + Sync {
    /// All of them, in an order that stays.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Fills one in.
    ///
    /// # Errors
    /// [`ServeError::InvalidParams`] by default: there is no such prompt.
    fn get(
        &self,
        name: String,
        arguments: BTreeMap<String, String>,
        call: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        let _ = (arguments, call);
        Box::pin(
            async move { Err(ServeError::InvalidParams(format!("there is no prompt `{name}`"))) },
        )
    }
}

/// Ways to complete the arguments of prompts and resource templates.
pub trait Completions: Send + Sync {
    /// What `question` could go on as. Default: nothing.
    fn complete(
        &self,
        question: CompletionQuestion,
    ) -> BoxFuture<'_, Result<Completion, ServeError>> {
        let _ = question;
        Box::pin(async { Ok(Completion::new(Vec::new())) })
    }
}

/// What is to be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionQuestion {
    /// Whose argument it is.
    pub of: CompletionOf,
    /// The argument's name.
    pub argument: String,
    /// What the user has typed so far.
    pub value: String,
    /// Arguments that are settled already.
    pub settled: BTreeMap<String, String>,
}

/// Whose argument is to be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol's two")]
pub enum CompletionOf {
    /// A prompt's, by its name.
    Prompt(String),
    /// A resource template's, by its URI.
    Resource(String),
}

/// Offers nothing. All of these traits are do-nothing by default, and this is what that looks like.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to add")]
pub struct Nothing;

impl Resources for Nothing {}
impl Prompts for Nothing {}
impl Completions for Nothing {}
