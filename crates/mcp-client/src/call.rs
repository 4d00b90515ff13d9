//! Calling a tool.

use std::{fmt, future::IntoFuture, time::Duration};

use futures::future::BoxFuture;
use mcp_jsonrpc::{ObjectWriter, RawJson, ShapeError, Timeout};
use serde::Serialize;
use tokio::time::timeout;

use crate::{
    client::Client,
    era::Era,
    error::CallError,
    options::CallOptions,
    request::{Ask, unexpected_type},
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
        let as_task = client.must_run_as_task(name);
        let members = |params: &mut ObjectWriter| {
            params.string("name", name).raw("arguments", &arguments);
            if as_task {
                params.raw("task", &RawJson::empty_object());
            }
        };
        let ask = Ask::call("tools/call", Some(name), &options);
        match client.ask_in_rounds::<CallToolResult>(&ask, &members).await? {
            Finished::Complete(result) => Ok(result),
            // A member that happens to be called `task`.
            Finished::Other(result) if client.era() == Era::Legacy && !as_task => Ok(result),
            Finished::Other(result) => {
                let kind = result.extra.get("resultType").map(RawJson::as_str);
                let is_task = as_task || client.0.options.follow_tasks && kind == Some(r#""task""#);
                if !is_task {
                    return Err(unexpected_type(ask.method));
                }
                let limits = client.limits(&ask);
                let within = limits.total.unwrap_or(Duration::MAX);
                let timed_out = |_| CallError::TimedOut {
                    method: ask.method,
                    timeout: Timeout::new(true, limits.idle, limits.total),
                };
                timeout(within, client.follow(&result.extra)).await.map_err(timed_out)?
            }
        }
    }
}

impl<'a> IntoFuture for ToolCall<'a> {
    type Output = Result<CallToolResult, CallError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
