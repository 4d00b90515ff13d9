//! Tool calls.

use mcp_jsonrpc::{Failure, ObjectWriter, RawJson, ShapeError};
use mcp_types::{CallToolResult, error_code, method};
use serde::Serialize;

use super::{
    Client,
    pending::PendingCall,
    request::{Ask, Members, RESULT_TYPE, unexpected_type},
    rounds::Finished,
};
use crate::{
    error::{CallError, problem},
    options::CallOptions,
};

impl Client {
    /// Calls a tool. `arguments` must serialize to an object; `()` means no arguments.
    ///
    /// Whether a tool of a 2025-11-25 server must run as a task is known from the last
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
    ) -> PendingCall<'a, CallToolResult> {
        let arguments = RawJson::encode(arguments)
            .map(|raw| if raw.is_null() { RawJson::empty_object() } else { raw });
        PendingCall::new(move |options| self.call_tool_with(name, arguments, options))
    }

    /// Calls a tool with arguments that are already JSON text.
    pub fn call_tool_raw<'a>(
        &'a self,
        name: &'a str,
        arguments: RawJson,
    ) -> PendingCall<'a, CallToolResult> {
        PendingCall::new(move |options| self.call_tool_with(name, Ok(arguments), options))
    }

    async fn call_tool_with(
        &self,
        name: &str,
        arguments: Result<RawJson, ShapeError>,
        options: CallOptions,
    ) -> Result<CallToolResult, CallError> {
        let arguments = arguments.map_err(CallError::Unsendable)?;
        if !arguments.is_object() {
            return Err(CallError::Unsendable(problem("arguments must be an object")));
        }
        let as_task = self.must_run_as_task(name);
        let members = |params: &mut ObjectWriter| {
            params.string("name", name).raw("arguments", &arguments);
            if as_task {
                params.raw("task", &RawJson::empty_object());
            }
        };
        let ask = Ask::call(method::TOOLS_CALL, Some(name), &options);
        if !as_task {
            return self.call_to_the_end(&ask, &members, false).await;
        }
        // A legacy task keeps reporting progress with the token of the request that created it.
        let shared = self.0.engine.shared();
        let failed = |failure| CallError::reported(ask.method, failure, shared.report());
        let token = shared.token().map_err(failed)?;
        let ask = Ask { token: Some(&token), ..ask };
        let call = self.call_to_the_end(&ask, &members, true);
        token.during(|progress| self.hear(&ask, progress), call).await
    }

    /// Makes a tool call and follows the task it may become.
    async fn call_to_the_end(
        &self,
        ask: &Ask<'_>,
        members: &Members<'_>,
        as_task: bool,
    ) -> Result<CallToolResult, CallError> {
        let mut finished = self.ask_in_rounds::<CallToolResult>(ask, members).await;
        // The server expects other headers, so its tool list has changed. List again and retry once.
        if let Err(CallError::Failed { failure: Failure::Rejected(error), .. }) = &finished
            && error.code == error_code::HEADER_MISMATCH
            && self.list_tools().await.is_ok()
        {
            finished = self.ask_in_rounds::<CallToolResult>(ask, members).await;
        }
        let task = match finished? {
            // Only a call made as a task can become one. Other results may have a member of that name.
            Finished::Complete { answer, .. } => match answer.extra.get("task") {
                Some(task) if as_task => task.clone(),
                _ => return Ok(answer),
            },
            Finished::Other(result) => {
                let kind = result.extra.get(RESULT_TYPE).map(RawJson::as_str);
                if !self.0.options.follow_tasks || kind != Some(r#""task""#) {
                    return Err(unexpected_type(ask.method));
                }
                // The fields of the task are members of the result itself.
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
