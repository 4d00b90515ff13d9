//! Calling a server's tool.

use std::{sync::Arc, sync::Weak, time::Duration};

use futures_core::future::BoxFuture;
use mcp_client::{
    CallError, CallOptions, CallToolResult, Client, ClientCapabilities, Delivery, ErrorClass,
    Handler as _, RawJson,
};

use super::Server;
use crate::{
    context::CallContext,
    envelope,
    events::Event,
    hygiene::clean,
    lifecycle::Fact,
    outcome::{FailureKind, Note, ToolOutcome},
    serve::MISSING_CAPABILITY,
    status::ServerState,
    tool::{Tool, ToolSpec},
};

/// The waits before a second and a third try.
const RETRIES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
const TRACE_PARENT: &str = "traceparent";

/// A tool of a server.
pub(crate) struct Bridged {
    spec: ToolSpec,
    tool: Arc<str>,
    /// The server knows its tools, so they must not keep it.
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
        loop {
            let (client, connection) = match self.ready_connection(&context).await {
                Ok(ready) => ready,
                Err(outcome) => return outcome,
            };
            if let Some(outcome) = self.stale(tool) {
                return outcome;
            }
            let error = match self.try_call(&client, tool, &arguments, &context).await {
                Ok(result) => {
                    let mut outcome = envelope::outcome(result);
                    if failures > 0 {
                        outcome.notes.push(Note::Retried { failures, waited });
                    }
                    return outcome;
                }
                Err(error) => error,
            };
            match (&error, error.class()) {
                (CallError::TimedOut { .. }, _) => self.tell(Fact::Doubted),
                (_, ErrorClass::Session) => self.tell(Fact::SessionLost { connection }),
                (_, ErrorClass::Auth) if self.live().login.is_some() => {
                    self.tell(Fact::LoginRefused);
                }
                _ => {}
            }
            let delay = RETRIES.get(failures as usize).filter(|_| may_retry(&error, &tool.spec));
            let Some(delay) = delay.map(|delay| error.retry_after().unwrap_or(*delay)) else {
                return self.failed(&error);
            };
            // A connection that is gone is not waited for: that is the next call's business.
            let is_up = self.client().is_some();
            if delay > RETRIES[1] * 2 || !is_up && self.queue_limit().is_none() {
                return self.failed(&error);
            }
            failures += 1;
            if let Some(core) = self.core.upgrade() {
                core.bus.tell(Event::Retried { tool: tool.spec.name.as_str().into(), failures });
            }
            tokio::time::sleep(delay).await;
            waited += delay;
        }
    }

    /// The open connection. Wakes a server that rests, and waits for one that is starting; one that is
    /// down is waited for only if the host wants that.
    pub(crate) async fn ready(&self, context: &CallContext) -> Result<Client, ToolOutcome> {
        self.ready_connection(context).await.map(|(client, _)| client)
    }

    async fn ready_connection(&self, context: &CallContext) -> Result<(Client, u64), ToolOutcome> {
        if let Some(ready) = self.connection() {
            return Ok(ready);
        }
        let core = self.core.upgrade();
        let start_limit = core.as_ref().map_or(Duration::ZERO, |core| core.options.start_limit);
        drop(core);
        if self.is_coming_up() {
            self.tell(Fact::Wanted);
            self.settled(context.total_timeout.unwrap_or(start_limit), false).await;
        } else if let Some(limit) = self.queue_limit() {
            self.settled(limit, true).await;
        }
        self.connection().ok_or_else(|| self.not_ready())
    }

    fn queue_limit(&self) -> Option<Duration> {
        self.core.upgrade()?.options.queue_while_down
    }

    fn not_ready(&self) -> ToolOutcome {
        let status = self.status();
        if status.state == ServerState::NeedsAuth {
            let text = format!("authentication failed: mcp server {} needs a login", self.name);
            return ToolOutcome::failed(FailureKind::Auth, Delivery::NotSent, text);
        }
        unavailable(&self.name, "", Delivery::NotSent)
    }

    /// Says so if the tool is not what it was when its handle was given out.
    fn stale(&self, tool: &Bridged) -> Option<ToolOutcome> {
        let live = self.live();
        let text = match live.hashes.get(&tool.tool) {
            Some(hash) if *hash == tool.spec.hash => return None,
            Some(_) => format!(
                "definition changed: {} is no longer what it was when this turn began; look at it again before calling it",
                tool.spec.name
            ),
            None => format!(
                "definition changed: mcp server {} no longer has the tool {}",
                self.name, tool.spec.name
            ),
        };
        let kind = FailureKind::DefinitionChanged;
        Some(ToolOutcome::failed(kind, Delivery::NotSent, text))
    }

    async fn try_call(
        &self,
        client: &Client,
        tool: &Bridged,
        arguments: &RawJson,
        context: &CallContext,
    ) -> Result<CallToolResult, CallError> {
        let mut options = CallOptions::default();
        options.idle_timeout = context.idle_timeout;
        options.total_timeout = context.total_timeout;
        options.on_progress.clone_from(&context.on_progress);
        // A server that is told so with every call need not ask what nobody will answer.
        if let Some(owner) = &context.owner {
            let (owners, hosts) = (owner.capabilities(), self.router.capabilities());
            options.offers = (owners != hosts).then(|| common(owners, &hosts));
        }
        if let Some(parent) = context.trace_parent {
            let value =
                RawJson::encode(&parent.child().to_string()).map_err(CallError::Unsendable)?;
            options.meta.push((TRACE_PARENT.into(), value));
        }
        let call = client.call_tool_raw(&tool.tool, arguments.clone()).with(options);
        self.router.on_behalf(context.owner.clone(), call.into_future()).await
    }

    /// A failure in words for the model: what to do about it, and nothing it should not see.
    fn failed(&self, error: &CallError) -> ToolOutcome {
        let delivery = error.delivery();
        let why = clean(&error.to_string(), 500).text;
        tracing::debug!(server = %self.name, why, "a call failed on its way");
        let (kind, text) = match error {
            _ if error.class() == ErrorClass::Auth => {
                (FailureKind::Auth, "authentication failed".to_owned())
            }
            CallError::TimedOut { .. } => (FailureKind::TimedOut, error.to_string()),
            CallError::Closed { .. } => return unavailable(&self.name, "", delivery),
            CallError::Lost(loss) => return self.lost(loss.class, delivery),
            CallError::TooManyCalls { .. } => (FailureKind::Unavailable, error.to_string()),
            CallError::TooLarge { .. } => (FailureKind::TooLarge, error.to_string()),
            CallError::Shape { .. } => (FailureKind::InvalidResult, error.to_string()),
            CallError::Unsendable(_) => (FailureKind::InvalidArguments, error.to_string()),
            CallError::Cancelled => (FailureKind::Cancelled, error.to_string()),
            CallError::Declined(_) => (FailureKind::Denied, error.to_string()),
            _ => (FailureKind::Rejected, error.to_string()),
        };
        let mut outcome = ToolOutcome::failed(kind, delivery, clean(&text, 2_000).text);
        if let (CallError::Rejected(object), Some(failure)) = (error, &mut outcome.failure)
            && object.code == MISSING_CAPABILITY
        {
            let data = object.data.as_ref().and_then(|data| data.get("requiredCapabilities"));
            failure.missing = data.map(|required| required.detached());
        }
        outcome
    }

    /// A call that its link lost. Why is for people, and may be in words that are not for a model.
    fn lost(&self, class: ErrorClass, delivery: Delivery) -> ToolOutcome {
        match (class, delivery) {
            (ErrorClass::Session, _) => {
                unavailable(&self.name, "its session ended, and another one is opened", delivery)
            }
            (ErrorClass::Permanent, Delivery::NotSent) => {
                unavailable(&self.name, "it does not take this call", delivery)
            }
            // Something came back.
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

/// What both offer. Extensions are the connection's.
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

/// Only what is safe: what was never sent, and what does no harm twice on the word of somebody trusted.
fn may_retry(error: &CallError, spec: &ToolSpec) -> bool {
    if matches!(error, CallError::TimedOut { .. } | CallError::Cancelled)
        || error.class() != ErrorClass::Transient
    {
        return false;
    }
    error.delivery() == Delivery::NotSent || spec.hints.trusted && spec.hints.is_idempotent()
}
