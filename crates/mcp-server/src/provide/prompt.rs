//! Prompts built from functions.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use mcp_types::{BoxFuture, GetPromptResult, Prompt, PromptArgument};
use serde::de::DeserializeOwned;

use super::texts::from_texts;
use crate::{call::Call, error::ServeError};

/// Starts to build a prompt from a function, which is passed to [`run`](PromptBuilder::run).
///
/// ```
/// use mcp_server::{ServeOptions, ToolServer, prompt};
///
/// # #[cfg(feature = "schemars")] {
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greeting {
///     /// The person to greet.
///     name: String,
///     times: Option<u8>,
/// }
///
/// let server = ToolServer::new(ServeOptions::new("greeter", "1.0.0"));
/// server.add_prompt(
///     prompt("greet", "Greets someone").arguments::<Greeting>().run(|args, _call| async move {
///         Ok(format!("Greet {} {} times.", args.name, args.times.unwrap_or(1)))
///     }),
/// );
/// # }
/// ```
pub fn prompt(name: impl Into<String>, description: impl Into<String>) -> PromptBuilder {
    let mut prompt = Prompt::new(name);
    prompt.description = Some(description.into());
    PromptBuilder { prompt, arguments: PhantomData }
}

/// A prompt without its function. `A` is the type of its arguments. See [`prompt`].
#[must_use = "a prompt builder does nothing until `run` is called"]
pub struct PromptBuilder<A = BTreeMap<String, String>> {
    prompt: Prompt,
    arguments: PhantomData<fn() -> A>,
}

impl<A: DeserializeOwned + Send + 'static> PromptBuilder<A> {
    /// Sets the display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.prompt.title = Some(title.into());
        self
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.prompt.arguments.push(argument);
        self
    }

    /// Takes the arguments from the fields of `B`: their names, doc comments, and whether they are optional.
    ///
    /// Arguments are text on the wire. Fields may be text, numbers, booleans, enums without data, and options of these.
    #[cfg(feature = "schemars")]
    pub fn arguments<B: DeserializeOwned + schemars::JsonSchema + Send + 'static>(
        mut self,
    ) -> PromptBuilder<B> {
        self.prompt.arguments = arguments_of::<B>();
        PromptBuilder { prompt: self.prompt, arguments: PhantomData }
    }

    /// Builds the prompt. `function` gets the arguments and returns its messages: the text of a user message, one
    /// message, several, or a whole [`GetPromptResult`].
    pub fn run<P, F, Fut>(self, function: F) -> ServedPrompt
    where
        P: Into<GetPromptResult>,
        F: Fn(A, Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<P, ServeError>> + Send + 'static,
    {
        let get = move |texts, call| -> BoxFuture<'static, Result<GetPromptResult, ServeError>> {
            match from_texts::<A>(texts) {
                Ok(arguments) => {
                    let messages = function(arguments, call);
                    Box::pin(async move { messages.await.map(Into::into) })
                }
                Err(error) => {
                    let error = ServeError::InvalidParams(format!("`arguments`: {error}"));
                    Box::pin(async { Err(error) })
                }
            }
        };
        ServedPrompt { prompt: self.prompt, get: Box::new(get) }
    }
}

impl<A> fmt::Debug for PromptBuilder<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PromptBuilder").field(&self.prompt.name).finish()
    }
}

/// The required arguments in the order of the fields, then the optional ones.
#[cfg(feature = "schemars")]
fn arguments_of<B: schemars::JsonSchema>() -> Vec<PromptArgument> {
    use mcp_jsonrpc::RawJson;

    let schema = mcp_tool::schema_of::<B>();
    let required = schema.get("required").and_then(|names| names.decode().ok());
    let required: Vec<String> = required.unwrap_or_default();
    let properties = schema.get("properties").unwrap_or_else(RawJson::empty_object);
    let description = |property: &RawJson| property.get("description")?.decode().ok();
    let argument = |mut argument: PromptArgument, property: &RawJson| {
        argument.description = description(property);
        argument
    };
    let first = required.iter().filter_map(|name| {
        Some(argument(PromptArgument::required(name.as_str()), &properties.get(name)?))
    });
    let others = properties
        .members()
        .filter(|(name, _)| !required.contains(name))
        .map(|(name, property)| argument(PromptArgument::optional(name), &property));
    first.chain(others).collect()
}

type Get = dyn Fn(BTreeMap<String, String>, Call) -> BoxFuture<'static, Result<GetPromptResult, ServeError>>
    + Send
    + Sync;

/// A prompt to [add](crate::ToolServer::add_prompt) to a server.
pub struct ServedPrompt {
    pub(super) prompt: Prompt,
    pub(super) get: Box<Get>,
}

impl fmt::Debug for ServedPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServedPrompt").field(&self.prompt.name).finish()
    }
}
