//! Calls of server tools: waiting for the connection, retries, and failures as outcomes.

use std::{sync::Arc, sync::Weak, time::Duration};

use futures_core::future::BoxFuture;
use mcp_client::{
    CallError, CallOptions, CallToolResult, Client, ClientCapabilities, Delivery, Handler as _,
    RawJson,
    diagnostics::{ErrorClass, FailureCause},
    rpc::{Failure, ShapeError},
};
use mcp_tool::{CallContext, FailureKind, Note, Tool, ToolOutcome, ToolSpec};
use mcp_types::{error_code, meta::RESERVED_PREFIX};
use tokio::time::Instant;
use tracing::Instrument;

use super::{Server, explain, open};
use crate::{events::Event, lifecycle::Fact, options::Retry, output, sanitize::clean, trace};

const TRACE_PARENT: &str = "traceparent";
const TRACE_STATE: &str = "tracestate";
/// How often a queued call is sent again after its connection ended. A server may end every session at once.
const MOST_RESENT: u32 = 3;

/// A tool of a server.
pub(crate) struct Bridged {
    spec: ToolSpec,
    tool: Arc<str>,
    /// Weak, because the server owns its tools.
    server: Weak<Server>,
}

impl Bridged {
    pub(crate) fn new(spec: ToolSpec, tool: Arc<str>, server: &Arc<Server>) -> Self {
        Self { spec, tool, server: Arc::downgrade(server) }
    }
}

impl Tool for Bridged {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let Some(server) = self.server.upgrade() else {
                let name = self.spec.server().unwrap_or_default();
                return unavailable(name, "it was removed", Delivery::NotSent);
            };
            server.call(self, arguments, context).await
        })
    }
}

impl Server {
    async fn call(&self, tool: &Bridged, arguments: RawJson, context: CallContext) -> ToolOutcome {
        let _in_flight = self.begin();
        let (mut failures, mut waited) = (0, Duration::ZERO);
        let mut total = context.total_timeout.map(TimeLimit::new);
        loop {
            let left = total.as_ref().map(TimeLimit::left);
            let (client, connection) = match self.ready_connection(left).await {
                Ok(ready) => ready,
                Err(outcome) => return outcome,
            };
            // All attempts share one limit. The default does not include the wait for the connection.
            let total = total.get_or_insert_with(|| TimeLimit::new(open::call_total(self)));
            let attempt = self.try_call(&client, tool, &arguments, &context, total.left());
            let error = match attempt.await {
                Ok(result) => {
                    let read = if context.verbatim { output::verbatim } else { output::outcome };
                    let mut outcome = read(result);
                    if failures > 0 {
                        outcome.notes.push(Note::Retried { failures, waited });
                    }
                    return self.with_change_note(tool, outcome);
                }
                Err(error) => error,
            };
            self.report_failure(&error, connection);
            let delay = self.retry_delay(&error, &tool.spec, failures);
            let Some(delay) = delay.filter(|delay| *delay < total.left()) else {
                return self.with_change_note(tool, self.failed(&error));
            };
            failures += 1;
            if let Some(hub) = self.hub.upgrade() {
                hub.bus.tell(Event::Retried { tool: tool.spec.name.as_str().into(), failures });
            }
            tokio::time::sleep(delay).await;
            waited += delay;
        }
    }

    /// Reports to the supervisor what a failed call reveals about its connection.
    fn report_failure(&self, error: &CallError, connection: u64) {
        let is_cut_off = matches!(
            error.cause(),
            FailureCause::Refused
                | FailureCause::CutOff
                | FailureCause::Unreachable
                | FailureCause::UnknownHost
        );
        match (error, error.class()) {
            (CallError::Failed { failure: Failure::TimedOut(_), .. }, _) => {
                self.tell(Fact::CallTimedOut);
            }
            (_, ErrorClass::Session) => self.tell(Fact::SessionLost { connection }),
            (_, ErrorClass::Auth) if self.live().login.is_some() => self.tell(Fact::LoginRefused),
            // A remote process may be gone although no connection was closed, so let the supervisor ping it.
            _ if is_cut_off => self.tell(Fact::CallTimedOut),
            _ => {}
        }
    }

    /// The delay before the next attempt. `None`: no retry.
    fn retry_delay(&self, error: &CallError, spec: &ToolSpec, failures: u32) -> Option<Duration> {
        let hub = self.hub.upgrade()?;
        let retry = &hub.options.retry;
        let queues = hub.options.queue_while_down.is_some();
        if queues && is_cut_off_unharmed(error, spec) {
            // The call waits for the next connection, as calls made after it do. This is not a retry of the tool.
            return (failures < MOST_RESENT).then_some(Duration::ZERO);
        }
        let delay = *retry.delays.get(failures as usize)?;
        let longest = retry.delays.iter().max().copied().unwrap_or_default() * 2;
        let delay = error.retry_after().unwrap_or(delay);
        // A lost connection is not waited for; the next call does that if the host queues calls.
        let is_up = self.client().is_some() || queues;
        (is_up && delay <= longest && may_retry(error, spec, retry)).then_some(delay)
    }

    /// Returns the open connection. Starts an idle server, and waits for one that is starting. A server that is
    /// down is waited for only if the host queues calls.
    pub(crate) async fn ready(&self, context: &CallContext) -> Result<Client, ToolOutcome> {
        self.ready_connection(context.total_timeout).await.map(|(client, _)| client)
    }

    /// Returns the open connection within `left`, the rest of the call's own limit.
    async fn ready_connection(&self, left: Option<Duration>) -> Result<(Client, u64), ToolOutcome> {
        if let Some(ready) = self.connection() {
            return Ok(ready);
        }
        let limit = TimeLimit::new(left.unwrap_or(Duration::MAX));
        if self.is_starting() {
            self.tell(Fact::Wanted);
            self.settled(left.unwrap_or_else(|| self.start_limit())).await;
        }
        let ready = match self.queue_limit() {
            Some(queue) => self.connected(queue.min(limit.left())).await,
            None => self.connection(),
        };
        ready.ok_or_else(|| self.not_ready())
    }

    fn queue_limit(&self) -> Option<Duration> {
        self.hub.upgrade()?.options.queue_while_down
    }

    fn not_ready(&self) -> ToolOutcome {
        let status = self.status();
        if status.state.needs_login() {
            let step = explain::login_step(self);
            let text = format!("authentication failed: mcp server {}: {step}", self.name);
            return ToolOutcome::failed(FailureKind::Auth, Delivery::NotSent, text);
        }
        unavailable(&self.name, "", Delivery::NotSent)
    }

    /// Adds a note to the outcome if the tool's definition has changed since the caller got its handle.
    fn with_change_note(&self, tool: &Bridged, mut outcome: ToolOutcome) -> ToolOutcome {
        if self.live().hashes.get(&tool.tool) != Some(&tool.spec.hash) {
            outcome.notes.push(Note::DefinitionChanged);
        }
        outcome
    }

    async fn try_call(
        &self,
        client: &Client,
        tool: &Bridged,
        arguments: &RawJson,
        context: &CallContext,
        left: Duration,
    ) -> Result<CallToolResult, CallError> {
        let mut options = CallOptions::default();
        options.idle_timeout = context.idle_timeout;
        options.total_timeout = Some(left);
        options.on_progress.clone_from(&context.on_progress);
        // Declare only what both handlers support, so that the server does not send requests that would be
        // declined.
        if let Some(owner) = &context.owner {
            let (owners, hosts) = (owner.capabilities(), self.router.capabilities());
            options.offers = (owners != hosts).then(|| common(owners, &hosts));
        }
        options.meta = meta(context).map_err(CallError::Unsendable)?;
        let call = client.call_tool_raw(&tool.tool, arguments.clone()).with(options);
        let (owner, on_log) = (context.owner.clone(), context.on_log.clone());
        let span = trace::tools_call(&self.endpoint, &tool.tool, client);
        let call = call.into_future().instrument(span.clone());
        let result = self.router.on_behalf(owner, on_log, call).await;
        trace::finish_call(&span, &result);
        result
    }

    /// Converts a failed call into an outcome for the model, without text that it must not see.
    fn failed(&self, error: &CallError) -> ToolOutcome {
        let delivery = error.delivery();
        let why = clean(&error.to_string(), 500).text;
        tracing::debug!(server = %self.name, why, "tool call failed");
        let kind = match error {
            _ if error.class() == ErrorClass::Auth => FailureKind::Auth,
            CallError::Failed { failure, .. } => match failure {
                Failure::TimedOut(_) => FailureKind::TimedOut,
                Failure::Closed(_) => return unavailable(&self.name, "", delivery),
                Failure::Lost(loss) => return self.lost(loss.class, delivery),
                Failure::Refused(_) => FailureKind::Unavailable,
                Failure::TooLarge { .. } => FailureKind::TooLarge,
                Failure::Malformed(_) => FailureKind::InvalidResult,
                Failure::Cancelled => FailureKind::Cancelled,
                _ => FailureKind::Rejected,
            },
            CallError::Unsendable(_) => FailureKind::InvalidArguments,
            CallError::Declined(_) => FailureKind::Denied,
            _ => FailureKind::Rejected,
        };
        let text = match kind {
            FailureKind::Auth => "authentication failed".to_owned(),
            _ => error.to_string(),
        };
        let mut outcome = ToolOutcome::failed(kind, delivery, clean(&text, 2_000).text);
        if let (CallError::Failed { failure: Failure::Rejected(object), .. }, Some(failure)) =
            (error, &mut outcome.failure)
            && object.code == error_code::MISSING_CAPABILITY
        {
            let data = object.data.as_ref().and_then(|data| data.get("requiredCapabilities"));
            failure.missing = data.map(|required| required.detached());
        }
        outcome
    }

    /// The outcome of a call that was lost in the transport. The reason is for users; it may contain text that
    /// a model must not see.
    fn lost(&self, class: ErrorClass, delivery: Delivery) -> ToolOutcome {
        match (class, delivery) {
            // The same text as for later calls, which find the server not connected.
            (ErrorClass::Session, _) => unavailable(&self.name, "", delivery),
            (ErrorClass::Permanent, Delivery::NotSent) => {
                unavailable(&self.name, "it does not take this call", delivery)
            }
            // A response arrived, but it was unusable.
            (ErrorClass::Permanent, _) => {
                let text = format!(
                    "mcp server {} gave no answer that can be read; the call may have been carried out",
                    self.name
                );
                ToolOutcome::failed(FailureKind::InvalidResult, delivery, text)
            }
            (_, Delivery::NotSent) => unavailable(&self.name, "it takes no calls now", delivery),
            _ => unavailable(&self.name, "no result came", delivery),
        }
    }
}

/// The `_meta` members of a call: those of the context, and its trace context unchanged.
fn meta(context: &CallContext) -> Result<Vec<(String, RawJson)>, ShapeError> {
    let own = context.meta.iter().flat_map(RawJson::members);
    let mut meta: Vec<_> = own.filter(|(name, _)| !name.starts_with(RESERVED_PREFIX)).collect();
    let trace = [
        (TRACE_PARENT, context.trace_parent.map(|parent| parent.to_string())),
        (TRACE_STATE, context.trace_state.clone()),
    ];
    for (name, value) in trace {
        if let Some(value) = value {
            meta.retain(|(known, _)| known != name);
            meta.push((name.into(), RawJson::encode(&value)?));
        }
    }
    Ok(meta)
}

/// The capabilities that both declare. Extensions are those of the connection.
fn common(owners: ClientCapabilities, hosts: &ClientCapabilities) -> ClientCapabilities {
    let mut both = owners;
    both.elicitation_form &= hosts.elicitation_form;
    both.elicitation_url &= hosts.elicitation_url;
    both.sampling &= hosts.sampling;
    both.sampling_tools &= hosts.sampling_tools;
    both.roots &= hosts.roots;
    both.roots_list_changed &= hosts.roots_list_changed;
    both.extensions.clone_from(&hosts.extensions);
    both
}

fn unavailable(server: &str, why: &str, delivery: Delivery) -> ToolOutcome {
    let mut text = format!("mcp server {server} is unavailable");
    if !why.is_empty() {
        text = format!("{text}: {why}");
    }
    if delivery == Delivery::Unknown {
        text.push_str("; the call may have been carried out");
        if why.is_empty() {
            text.push_str(" before the connection was lost");
        }
    }
    ToolOutcome::failed(FailureKind::Unavailable, delivery, text)
}

/// Whether the call ended with its session or connection, and sending it again is safe.
fn is_cut_off_unharmed(error: &CallError, spec: &ToolSpec) -> bool {
    let is_closed = matches!(error, CallError::Failed { failure: Failure::Closed(_), .. });
    let is_harmless = spec.hints.trusted && spec.hints.is_idempotent();
    (is_closed || error.class() == ErrorClass::Session)
        && (error.delivery() == Delivery::NotSent || is_harmless)
}

/// A time limit that began at its creation.
struct TimeLimit {
    began: Instant,
    limit: Duration,
}

impl TimeLimit {
    fn new(limit: Duration) -> Self {
        Self { began: Instant::now(), limit }
    }

    /// The rest, rounded up to whole milliseconds, because messages show it.
    fn left(&self) -> Duration {
        let left = self.limit.saturating_sub(self.began.elapsed());
        let millis = left.as_nanos().div_ceil(1_000_000);
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

/// Whether a retry is safe: the call was never sent, or a trusted server declares the tool idempotent or
/// read-only.
fn may_retry(error: &CallError, spec: &ToolSpec, retry: &Retry) -> bool {
    let is_trusted_and = |harmless: bool| spec.hints.trusted && harmless;
    match error {
        CallError::Failed { failure: Failure::TimedOut(_), .. } => {
            retry.timeouts && is_trusted_and(spec.hints.is_read_only())
        }
        CallError::Failed { failure: Failure::Cancelled, .. } => false,
        _ if error.class() != ErrorClass::Transient => false,
        _ => error.delivery() == Delivery::NotSent || is_trusted_and(spec.hints.is_idempotent()),
    }
}
