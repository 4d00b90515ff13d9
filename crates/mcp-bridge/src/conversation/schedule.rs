//! Runs the calls of one turn, concurrently where allowed.

use std::{future::poll_fn, task::Poll};

use mcp_client::{BoxFuture, RawJson};
use mcp_tool::{CallContext, Concurrency, ToolOutcome};

use super::Snapshot;
use crate::question_lock;

/// One call of a turn, as requested by a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolUse {
    /// The tool's name.
    pub name: String,
    /// The arguments of the call.
    pub arguments: RawJson,
    /// The context of this call.
    pub context: CallContext,
}

impl ToolUse {
    /// A call of this tool with these arguments.
    pub fn new(name: impl Into<String>, arguments: RawJson) -> Self {
        Self { name: name.into(), arguments, context: CallContext::default() }
    }

    /// Sets [`context`](Self::context).
    #[must_use]
    pub fn with_context(mut self, context: CallContext) -> Self {
        self.context = context;
        self
    }
}

impl Snapshot {
    /// Runs the calls of one turn and returns their outcomes in the order of the calls.
    ///
    /// Calls run by their [concurrency class](mcp_tool::Hints::concurrency): read-only calls run concurrently; any
    /// other call runs alone, after all calls before it. The user is asked about one call at a time, and a permanent
    /// answer applies to the following calls.
    ///
    /// ```no_run
    /// use mcp_bridge::{Bridge, RawJson, ToolUse};
    ///
    /// # async fn example(bridge: Bridge) -> Result<(), Box<dyn std::error::Error>> {
    /// let turn = bridge.snapshot();
    /// let asked = [("mcp__files__read", r#"{"path":"a"}"#), ("mcp__files__read", r#"{"path":"b"}"#)];
    /// let calls = asked.map(|(name, arguments)| RawJson::parse(arguments).map(|raw| ToolUse::new(name, raw)));
    /// let calls = calls.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// for outcome in turn.call_all(calls).await {
    ///     println!("{outcome}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls in flight; calls that have not begun are not made.
    pub async fn call_all(&self, calls: impl IntoIterator<Item = ToolUse>) -> Vec<ToolOutcome> {
        let mut outcomes = Vec::new();
        let mut together: Vec<BoxFuture<'_, ToolOutcome>> = Vec::new();
        let work = async {
            for ToolUse { name, arguments, context } in calls {
                let class = self.concurrency(&name);
                if class == Concurrency::Exclusive {
                    outcomes.extend(join(std::mem::take(&mut together)).await);
                }
                together.push(Box::pin(async move { self.call(&name, arguments, context).await }));
                if class == Concurrency::Exclusive {
                    outcomes.extend(join(std::mem::take(&mut together)).await);
                }
            }
            outcomes.extend(join(together).await);
            outcomes
        };
        question_lock::one_at_a_time(work).await
    }

    /// The concurrency class of a tool. Unknown tools are exclusive, because they must be looked up.
    fn concurrency(&self, name: &str) -> Concurrency {
        let known = self.get(name).map(|tool| tool.spec().hints);
        let known = known.or_else(|| self.unloaded(name));
        known.map_or(Concurrency::Exclusive, mcp_tool::Hints::concurrency)
    }
}

/// Polls all calls until each is done.
async fn join(calls: Vec<BoxFuture<'_, ToolOutcome>>) -> Vec<ToolOutcome> {
    let mut waiting: Vec<_> = calls.into_iter().map(Some).collect();
    let mut outcomes: Vec<Option<ToolOutcome>> = waiting.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (call, outcome) in waiting.iter_mut().zip(&mut outcomes) {
            if let Some(running) = call
                && let Poll::Ready(done) = running.as_mut().poll(cx)
            {
                (*call, *outcome) = (None, Some(done));
            }
        }
        if waiting.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcomes.into_iter().flatten().collect()
}
