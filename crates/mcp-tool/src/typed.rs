//! Tools built from functions with typed arguments and results.

mod schema;
#[cfg(test)]
mod tests;

use std::{error::Error, fmt, sync::Arc};

use mcp_jsonrpc::{Delivery, RawJson};
use mcp_types::BoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

pub use self::schema::schema_of;
use self::schema::{Arguments, Produced};
use crate::{
    context::CallContext,
    outcome::{FailureKind, ToolOutcome},
    tool::{Hints, Tool, ToolSpec},
};

/// Starts to build a tool from a function, which is passed to [`run`](ToolBuilder::run).
///
/// The schemas come from the types, and doc comments on fields become their descriptions. The crate that defines the
/// types needs `schemars` with its feature `derive`.
///
/// ```
/// use mcp_tool::{CallContext, RawJson, Tool, tool};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct CalcArgs {
///     /// The first factor.
///     x: f64,
///     y: f64,
/// }
///
/// #[derive(Serialize, JsonSchema)]
/// struct Product {
///     value: f64,
/// }
///
/// let calc = tool("calc", "Multiplies two numbers")
///     .read_only()
///     .run(|args: CalcArgs, _ctx| async move { Ok(Product { value: args.x * args.y }) });
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let outcome = calc.call(RawJson::parse(r#"{"x":6,"y":7}"#)?, CallContext::default()).await;
/// assert_eq!(outcome.text_content(), r#"{"value":42.0}"#);
///
/// let outcome = calc.call(RawJson::parse(r#"{"x":"six"}"#)?, CallContext::default()).await;
/// assert!(outcome.is_error);
/// # Ok::<(), mcp_jsonrpc::ShapeError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tool(name: impl Into<String>, description: impl Into<String>) -> ToolBuilder {
    let mut spec = ToolSpec::new(name, description);
    // Hints of the host's own code are trusted.
    spec.hints.trusted = true;
    ToolBuilder { spec }
}

/// A tool without its function. See [`tool`].
#[derive(Clone, Debug)]
#[must_use = "a tool builder does nothing until `run` or `respond` is called"]
pub struct ToolBuilder {
    spec: ToolSpec,
}

impl ToolBuilder {
    /// Sets the display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.spec.title = Some(title.into());
        self
    }

    /// Declares that the tool modifies nothing. It may then run concurrently with others.
    pub fn read_only(mut self) -> Self {
        self.spec.hints.read_only = Some(true);
        self
    }

    /// Declares whether the tool may be destructive. Default: true, unless it is read-only.
    pub fn destructive(mut self, is_destructive: bool) -> Self {
        self.spec.hints.destructive = Some(is_destructive);
        self
    }

    /// Declares that repeated calls with the same arguments have no additional effect.
    pub fn idempotent(mut self) -> Self {
        self.spec.hints.idempotent = Some(true);
        self
    }

    /// Declares whether the tool interacts with systems outside of this program. Default: true.
    pub fn open_world(mut self, is_open_world: bool) -> Self {
        self.spec.hints.open_world = Some(is_open_world);
        self
    }

    /// Sets all hints at once.
    pub fn hints(mut self, hints: Hints) -> Self {
        self.spec.hints = hints;
        self
    }

    /// Sets the `_meta` of the definition: an object.
    pub fn meta(mut self, meta: RawJson) -> Self {
        self.spec.meta = Some(meta);
        self
    }

    /// Builds the tool. `function` gets the arguments as an `A`, a struct or `()`, and returns a value or an error.
    ///
    /// An object becomes structured content, and its schema the tool's output schema. Text becomes text, `()` an
    /// empty result, and any other value its JSON as text. An error becomes an outcome that the model reads, and so do
    /// invalid arguments: the outcome names the invalid member.
    pub fn run<A, T, F, Fut>(mut self, function: F) -> Arc<dyn Tool>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize + JsonSchema + Send + 'static,
        F: Fn(A, CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let produced = Produced::of::<T>();
        self.spec.output_schema = produced.output_schema();
        self.respond(move |arguments: A, context| {
            let (result, is_structured) = (function(arguments, context), produced.is_object());
            async move {
                match result.await {
                    Ok(value) => outcome(&value, is_structured),
                    Err(error) => error.0,
                }
            }
        })
    }

    /// Builds the tool from a function that returns an outcome, for results other than one value: images, links,
    /// several blocks, `_meta`.
    ///
    /// ```
    /// use mcp_tool::{Content, ToolOutcome, tool};
    ///
    /// let logo = tool("logo", "Shows the logo").read_only().respond(|(), _ctx| async {
    ///     ToolOutcome::new(vec![Content::image("AAAA", "image/png")])
    /// });
    /// ```
    pub fn respond<A, F, Fut>(mut self, function: F) -> Arc<dyn Tool>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolOutcome> + Send + 'static,
    {
        let arguments = Arguments::of::<A>();
        if let Some(schema) = arguments.input_schema() {
            self.spec.input_schema = schema;
        }
        let call = move |raw: RawJson, context| -> BoxFuture<'static, ToolOutcome> {
            match arguments.decode::<A>(&raw) {
                Ok(arguments) => Box::pin(function(arguments, context)),
                Err(error) => {
                    let text = format!("invalid arguments: {error}");
                    Box::pin(async {
                        ToolOutcome::failed(FailureKind::InvalidArguments, Delivery::NotSent, text)
                    })
                }
            }
        };
        Arc::new(FunctionTool { spec: self.spec, call: Box::new(call) })
    }
}

/// The outcome for a function's value.
fn outcome<T: Serialize>(value: &T, is_structured: bool) -> ToolOutcome {
    let mut outcome = ToolOutcome::structured(value);
    if is_structured {
        return outcome;
    }
    if let Some(raw) = outcome.structured.take() {
        return match raw.decode::<String>() {
            Ok(text) => ToolOutcome::text(text),
            Err(_) if raw.is_null() => ToolOutcome::new(Vec::new()),
            Err(_) => ToolOutcome::text(raw.as_str()),
        };
    }
    outcome
}

type Function = dyn Fn(RawJson, CallContext) -> BoxFuture<'static, ToolOutcome> + Send + Sync;

struct FunctionTool {
    spec: ToolSpec,
    call: Box<Function>,
}

impl Tool for FunctionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        (self.call)(arguments, context)
    }
}

/// Why a typed tool failed, worded for the model. Any error can be converted with `?`, including its causes.
///
/// ```
/// use mcp_tool::{ToolError, tool};
///
/// let read = tool("hosts", "Reads the hosts file").read_only().run(|(), _ctx| async {
///     let text = std::fs::read_to_string("/etc/hosts")?;
///     if text.is_empty() {
///         return Err(ToolError::new("the file is empty"));
///     }
///     Ok(text)
/// });
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ToolError(ToolOutcome);

impl ToolError {
    /// A failure with this text.
    pub fn new(text: impl fmt::Display) -> Self {
        Self(ToolOutcome::error(text.to_string()))
    }

    /// A failure with this outcome, such as one with a [`Failure`](crate::Failure).
    pub fn with_outcome(mut outcome: ToolOutcome) -> Self {
        outcome.is_error = true;
        Self(outcome)
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        Self::new(text)
    }
}

/// The text that the model reads.
impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
