//! Calling a tool.

use std::{fmt, future::IntoFuture};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::{ObjectWriter, RawJson, ShapeError};
use serde::Serialize;

use crate::{
    client::Client,
    error::CallError,
    negotiation::HEADER_MISMATCH,
    options::CallOptions,
    request::{Ask, Members, RESULT_TYPE, problem, unexpected_type},
    rounds::Finished,
    types::CallToolResult,
};

/// A tool call about to be made: await it, or give it [options](Self::with) first.
///
/// Dropping the future cancels the call on the wire. Questions the server has in between go to the
/// [`Handler`](crate::Handler), and a call that becomes a task is followed to its end.
#[must_use = "a call does nothing unless awaited"]
pub struct ToolCall<'a> {
    client: &'a Client,
    name: &'a str,
    arguments: Result<RawJson, ShapeError>,
    options: CallOptions,
}

impl fmt::Debug for ToolCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Client {
    /// Calls a tool. Arguments are whatever serde writes as an object; `()` stands for none.
    ///
    /// A tool of a 2025-11-25 server that runs only as a task is known as such from the last
    /// [`list_tools`](Self::list_tools).
    ///
    /// ```no_run
    /// # async fn example(client: mcp_client::Client) -> Result<(), mcp_client::CallError> {
    /// let arguments = std::collections::BTreeMap::from([("message", "hello")]);
    /// let result = client.call_tool("echo", &arguments).await?;
    /// println!("{}", result.text());
    /// # Ok(()) }
    /// ```
    pub fn call_tool<'a, T: Serialize + ?Sized>(
        &'a self,
        name: &'a str,
        arguments: &T,
    ) -> ToolCall<'a> {
        let arguments = RawJson::encode(arguments)
            .map(|raw| if raw.is_null() { RawJson::empty_object() } else { raw });
        ToolCall { client: self, name, arguments, options: CallOptions::default() }
    }

    /// Calls a tool with arguments that are text already.
    pub fn call_tool_raw<'a>(&'a self, name: &'a str, arguments: RawJson) -> ToolCall<'a> {
        ToolCall { client: self, name, arguments: Ok(arguments), options: CallOptions::default() }
    }
}

impl ToolCall<'_> {
    /// Makes the call with these options.
    pub fn with(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    async fn run(self) -> Result<CallToolResult, CallError> {
        let ToolCall { client, name, arguments, options } = self;
        let arguments = arguments.map_err(CallError::Unsendable)?;
        if !arguments.is_object() {
            return Err(CallError::Unsendable(problem("arguments must be an object")));
        }
        let as_task = client.must_run_as_task(name);
        let members = |params: &mut ObjectWriter| {
            params.string("name", name).raw("arguments", &arguments);
            if as_task {
                params.raw("task", &RawJson::empty_object());
            }
        };
        let ask = Ask::call("tools/call", Some(name), &options);
        if !as_task {
            return client.call_to_the_end(&ask, &members, false).await;
        }
        // A legacy task goes on reporting by the token of the request that created it.
        let shared = client.0.engine.shared();
        let failed = |failure| CallError::new(ask.method, failure, shared.report());
        let token = shared.token().map_err(failed)?;
        let ask = Ask { token: Some(&token), ..ask };
        let call = client.call_to_the_end(&ask, &members, true);
        token.during(|progress| client.hear(&ask, progress), call).await
    }
}

impl Client {
    /// Makes a tool call, and follows the task it may become.
    async fn call_to_the_end(
        &self,
        ask: &Ask<'_>,
        members: &Members<'_>,
        as_task: bool,
    ) -> Result<CallToolResult, CallError> {
        let mut finished = self.ask_in_rounds::<CallToolResult>(ask, members).await;
        // The headers did not say what the server wants to see there: its list has changed.
        if let Err(CallError::Rejected(error)) = &finished
            && error.code == HEADER_MISMATCH
            && self.list_tools().await.is_ok()
        {
            finished = self.ask_in_rounds::<CallToolResult>(ask, members).await;
        }
        let task = match finished? {
            // Only who asked for a task gets one: others may have a member of that name.
            Finished::Complete { answer, .. } => match answer.extra.get("task") {
                Some(task) if as_task => task.clone(),
                _ => return Ok(answer),
            },
            Finished::Other(result) => {
                let kind = result.extra.get(RESULT_TYPE).map(RawJson::as_str);
                if !self.0.options.follow_tasks || kind != Some(r#""task""#) {
                    return Err(unexpected_type(ask.method));
                }
                // Its fields are those of the result itself.
                let mut task = ObjectWriter::new();
                for (name, value) in result.extra.iter() {
                    task.raw(name, value);
                }
                task.finish()
            }
        };
        self.within(ask, self.follow(ask, &task)).await
    }
}

impl<'a> IntoFuture for ToolCall<'a> {
    type Output = Result<CallToolResult, CallError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
