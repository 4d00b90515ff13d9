//! A turn of a bridge in the format of a model API.

use mcp_bridge::{Snapshot, ToolUse};
use mcp_providers::{
    Api, Arguments, CallResult, Deferral, Limits, Loss, ModelCall, Session, definitions,
};
use mcp_tool::{BoxFuture, CallContext, RawJson, ToolOutcome};

/// Converts the tools of a turn to the format of a model API, and makes the calls of its responses.
///
/// ```
/// use mcp_host::{
///     CallContext, RawJson,
///     providers::{Api, ModelTurn, openai::chat::Chat},
///     testing::{Scripted, bridge_over},
/// };
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = Scripted::new().tool("clock", "Tells the time.").on_any_call("clock", "noon");
/// let (bridge, api) = (bridge_over(server).await, Chat::default());
///
/// let turn = bridge.snapshot();
/// let (tools, losses) = turn.definitions(&api);
/// assert!(losses.is_empty() && api.tools(&tools).as_str().contains("mcp__server__clock"));
///
/// // The host sends them with its messages, and this is the response.
/// let response = RawJson::parse(
///     r#"{"choices":[{"message":{"tool_calls":[{"id":"1","type":"function","function":{
///         "name":"mcp__server__clock","arguments":""}}]}}]}"#,
/// )?;
/// let messages = turn.answer(&api, &api.calls(&response), &CallContext::default()).await;
/// assert_eq!(messages[0].as_str(), r#"{"role":"tool","tool_call_id":"1","content":"noon"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ModelTurn: Sync {
    /// The definitions of the turn's tools, and the parts that the API does not support, by tool name.
    fn definitions(&self, api: &dyn Api) -> (Vec<RawJson>, Vec<(String, Loss)>);

    /// Makes one call as a model wrote it. For invalid arguments, the outcome tells the model how to correct them.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    fn call_text<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
        context: CallContext,
    ) -> BoxFuture<'a, ToolOutcome>;

    /// Makes the calls of one response, each with a clone of `context`, as
    /// [`Snapshot::call_all`](crate::Snapshot::call_all) does. Outcomes are in the order of the calls.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls in flight; calls that have not begun are not made.
    fn outcomes<'a>(
        &'a self,
        limits: Limits,
        calls: &'a [ModelCall],
        context: &'a CallContext,
    ) -> BoxFuture<'a, Vec<ToolOutcome>>;

    /// Makes the calls of one response, and returns the messages that answer it.
    ///
    /// # Cancel safety
    /// As for [`outcomes`](Self::outcomes).
    fn answer<'a>(
        &'a self,
        api: &'a dyn Api,
        calls: &'a [ModelCall],
        context: &'a CallContext,
    ) -> BoxFuture<'a, Vec<RawJson>> {
        Box::pin(async move {
            let outcomes = self.outcomes(api.limits(), calls, context).await;
            let results: Vec<CallResult<'_>> = calls
                .iter()
                .zip(&outcomes)
                .map(|(call, outcome)| CallResult { call, outcome })
                .collect();
            api.results(&results)
        })
    }

    /// Begins a conversation whose tools are loaded during it, with the tools of this turn. Its prefix stays the same
    /// while tools are found, change or disappear, so that the API can cache it.
    ///
    /// Returns `None` if the turn has no `tool_search`, because then all tools are in the prompt:
    /// [`BridgeOptions::search_threshold`](crate::BridgeOptions::search_threshold) is the number of tools above which
    /// it is offered.
    fn session<A: Deferral>(&self, api: A) -> Option<Session<A>>
    where
        Self: Sized;

    /// Makes the calls of one response in a [session](Self::session), and returns the messages that answer it. Tools
    /// that the model searched for are loaded into the session.
    ///
    /// Call [`Session::refresh`] with the tools of the next turn before the next request.
    ///
    /// ```
    /// use mcp_host::{
    ///     CallContext, RawJson,
    ///     providers::{Api, ModelTurn, anthropic::Anthropic},
    ///     testing::{Scripted, bridge_over},
    /// };
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let server = (0..30).fold(Scripted::new(), |server, n| server.tool(format!("t{n}"), "Works."));
    /// let (bridge, mut messages) = (bridge_over(server).await, Vec::new());
    /// let turn = bridge.snapshot();
    /// let mut session = turn.session(Anthropic::default()).ok_or("all tools are in the prompt")?;
    ///
    /// // The loop: news of the tools, `session.tools()` and the messages to the API, answers to its calls.
    /// let turn = bridge.snapshot();
    /// messages.extend(session.refresh(turn.tools()));
    /// let response = RawJson::parse(
    ///     r#"{"content":[{"type":"tool_use","id":"1","name":"tool_search","input":{"query":"select:mcp__server__t7"}}]}"#,
    /// )?;
    /// let calls = session.api().calls(&response);
    /// messages.extend(turn.answer_in(&mut session, &calls, &CallContext::default()).await);
    /// assert!(messages[0].as_str().contains(r#"{"type":"tool_reference","tool_name":"mcp__server__t7"}"#));
    /// assert!(session.tools().as_str().contains(r#""name":"mcp__server__t7""#));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cancel safety
    /// As for [`outcomes`](Self::outcomes). The session is not changed.
    fn answer_in<'a, A: Deferral>(
        &'a self,
        session: &'a mut Session<A>,
        calls: &'a [ModelCall],
        context: &'a CallContext,
    ) -> BoxFuture<'a, Vec<RawJson>>
    where
        Self: Sized;
}

/// The name of the tool with which a model searches for others.
const SEARCH: &str = "tool_search";

impl ModelTurn for Snapshot {
    fn definitions(&self, api: &dyn Api) -> (Vec<RawJson>, Vec<(String, Loss)>) {
        definitions(api, self.tools())
    }

    fn call_text<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
        context: CallContext,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let arguments = Arguments::read(arguments);
            let arguments = match self.get(name) {
                Some(tool) => arguments.for_tool(tool.spec()),
                None => arguments,
            };
            match arguments {
                Arguments::Ready(arguments) => self.call(name, arguments, context).await,
                Arguments::Refused(outcome) => outcome,
            }
        })
    }

    fn outcomes<'a>(
        &'a self,
        limits: Limits,
        calls: &'a [ModelCall],
        context: &'a CallContext,
    ) -> BoxFuture<'a, Vec<ToolOutcome>> {
        Box::pin(async move {
            let mut outcomes: Vec<Option<ToolOutcome>> = Vec::with_capacity(calls.len());
            let mut uses = Vec::new();
            for call in calls {
                match read(self, limits, call) {
                    (name, Arguments::Ready(arguments)) => {
                        uses.push(ToolUse::new(name, arguments).with_context(context.clone()));
                        outcomes.push(None);
                    }
                    (_, Arguments::Refused(outcome)) => outcomes.push(Some(outcome)),
                }
            }
            let mut made = self.call_all(uses).await.into_iter();
            outcomes.into_iter().filter_map(|outcome| outcome.or_else(|| made.next())).collect()
        })
    }

    fn session<A: Deferral>(&self, api: A) -> Option<Session<A>> {
        let search = self.get(SEARCH)?;
        Some(Session::new(api, self.tools().iter().map(|tool| tool.spec()), search.spec()))
    }

    fn answer_in<'a, A: Deferral>(
        &'a self,
        session: &'a mut Session<A>,
        calls: &'a [ModelCall],
        context: &'a CallContext,
    ) -> BoxFuture<'a, Vec<RawJson>> {
        Box::pin(async move {
            let outcomes = self.outcomes(session.api().limits(), calls, context).await;
            let mut results = Vec::with_capacity(calls.len());
            for (call, outcome) in calls.iter().zip(&outcomes) {
                let found =
                    if session.is_search(call) { self.found_by(outcome) } else { Vec::new() };
                results.push((CallResult { call, outcome }, found));
            }
            session.results_of_searches(&results)
        })
    }
}

/// Translates a call of a model: the tool's own name, and its arguments. A tool that is not loaded is called by the
/// given name.
fn read(turn: &Snapshot, limits: Limits, call: &ModelCall) -> (String, Arguments) {
    match call.tool(limits, turn.tools().iter().map(|tool| &**tool)) {
        Some(tool) => (tool.spec().name.clone(), call.arguments.clone().for_tool(tool.spec())),
        None => (call.name.clone(), call.arguments.clone()),
    }
}
