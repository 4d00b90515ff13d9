//! A model's call.

use std::sync::Arc;

use mcp_jsonrpc::Delivery;
use mcp_tool::{BoxFuture, CallContext, FailureKind, Tool, ToolOutcome};

use crate::{arguments::Arguments, name::Limits};

/// A call in a model's response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelCall {
    /// The id that the result must carry. Empty if the API sent none.
    pub id: String,
    /// The tool's name, as in its [`Definition`](crate::Definition).
    pub name: String,
    /// The arguments, or the outcome if they are invalid.
    pub arguments: Arguments,
}

impl ModelCall {
    /// A call from parts that were collected from a stream.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &str) -> Self {
        Self { id: id.into(), name: name.into(), arguments: Arguments::read(arguments) }
    }

    /// Finds the called tool among the tools of the turn.
    ///
    /// `limits` are those of the API that the call came from: the tool may have another name there.
    pub fn tool<'t>(
        &self,
        limits: Limits,
        mut tools: impl Iterator<Item = &'t dyn Tool>,
    ) -> Option<&'t dyn Tool> {
        tools.find(|tool| limits.wire_name(&tool.spec().name) == self.name)
    }

    /// Runs the call. A tool is not called with invalid arguments: the outcome tells the model how to correct
    /// them.
    ///
    /// # Cancel safety
    /// As [`Tool::call`].
    pub fn run<'t>(&self, tool: &'t dyn Tool, context: CallContext) -> BoxFuture<'t, ToolOutcome> {
        match self.arguments.clone().for_tool(tool.spec()) {
            Arguments::Ready(arguments) => tool.call(arguments, context),
            Arguments::Refused(outcome) => Box::pin(async move { outcome }),
        }
    }

    /// Finds the called tool among `tools` and runs the call. Returns the outcome for the model, also if the tool is
    /// unknown.
    ///
    /// ```
    /// use mcp_providers::{Api, ModelCall, openai::chat::Chat};
    /// use mcp_tool::{CallContext, FailureKind};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let (api, call) = (Chat::default(), ModelCall::new("call_1", "clock", "{}"));
    /// let outcome = call.run_among(api.limits(), &[], CallContext::default()).await;
    /// assert_eq!(outcome.failure_kind(), Some(FailureKind::NotFound));
    /// assert!(api.result(&call, &outcome)[0].as_str().contains("there is no tool called clock"));
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Cancel safety
    /// As [`Tool::call`].
    pub async fn run_among(
        &self,
        limits: Limits,
        tools: &[Arc<dyn Tool>],
        context: CallContext,
    ) -> ToolOutcome {
        if let Some(tool) = self.tool(limits, tools.iter().map(|tool| &**tool)) {
            return self.run(tool, context).await;
        }
        let name = mcp_safe::text::one_line(&self.name, 100);
        let text = format!("there is no tool called {name}");
        ToolOutcome::failed(FailureKind::NotFound, Delivery::NotSent, text)
    }
}
