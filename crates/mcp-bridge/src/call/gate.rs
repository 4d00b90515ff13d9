//! The gate that every tool call passes: calls to tools of servers, of the host and of the bridge.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_core::future::BoxFuture;
use mcp_audit::{Kind, Record};
use mcp_client::{Delivery, RawJson};
use mcp_tool::{CallContext, Cancelled, Failure, FailureKind, Note, Tool, ToolOutcome, ToolSpec};
use serde_json::Value;
use tokio::time::Instant;
use tracing::Instrument;

use crate::{
    consent::{Consent, about},
    directory::{Directory, FailedCall},
    events::Event,
    hooks::{self, HookCall},
    output,
    tools::{
        check::Checked,
        registry::Registered,
        scope::{Caller, Part, Scope},
    },
    trace,
};

/// A tool as exposed to a conversation.
pub(crate) struct Gate {
    pub(crate) registered: Arc<Registered>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) caller: Arc<Caller>,
}

/// What a call was made with, for its record.
struct Given<'g> {
    gate: &'g Gate,
    arguments: RawJson,
    caller: Arc<Caller>,
    client_info: Option<RawJson>,
    began: Instant,
    is_recorded: bool,
}

impl Given<'_> {
    /// Records the call, with the result as the model gets it.
    fn record(&mut self, outcome: &ToolOutcome) {
        self.is_recorded = true;
        let kind = outcome.failure_kind();
        let delivery = outcome.failure.as_ref().map_or(Delivery::Executed, |end| end.delivery);
        let end = kind.map_or(if outcome.is_error { "error" } else { "ok" }, FailureKind::as_str);
        let is_denied = matches!(kind, Some(FailureKind::Denied | FailureKind::Queued));
        let (gate, result) = (self.gate, outcome.text_content());
        gate.directory.hub.bus.audit(|| {
            let record = Record::new(Kind::Call, SystemTime::now());
            let (spec, server) = (gate.spec(), &gate.registered.server);
            about(record, spec, server, &self.caller, self.client_info.as_ref())
                .with_decision(if is_denied { "deny" } else { "allow" }, None)
                .with_outcome(end)
                .with_delivery(Failure::delivery_name(delivery))
                .with_duration(self.began.elapsed())
                .with_arguments(self.arguments.as_bytes())
                .with_result(result.as_bytes())
        });
    }
}

impl Drop for Given<'_> {
    /// Records a call whose future was dropped: it may have been executed.
    fn drop(&mut self) {
        if !self.is_recorded {
            let text = "dropped by its caller";
            self.record(&ToolOutcome::failed(FailureKind::Cancelled, Delivery::Unknown, text));
        }
    }
}

impl Tool for Gate {
    fn spec(&self) -> &ToolSpec {
        self.registered.tool.spec()
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        let scope = Scope { caller: self.caller.clone(), part: Part::Turn };
        Box::pin(self.run(arguments, context, scope))
    }
}

impl Gate {
    /// Runs a call from start to end.
    pub(crate) async fn run(
        &self,
        arguments: RawJson,
        context: CallContext,
        scope: Scope,
    ) -> ToolOutcome {
        let span = trace::execute_tool(self.spec());
        let outcome = self.watched(arguments, context, scope).instrument(span.clone()).await;
        trace::finish_tool(&span, &outcome);
        outcome
    }

    /// Runs a call and publishes events for its start and end.
    async fn watched(
        &self,
        arguments: RawJson,
        mut context: CallContext,
        scope: Scope,
    ) -> ToolOutcome {
        let bus = &self.directory.hub.bus;
        let name: Arc<str> = self.spec().name.as_str().into();
        let call = bus.next_call();
        bus.tell(Event::ToolCall { tool: name.clone(), call });
        let began = Instant::now();
        if context.owner.is_none() {
            context.owner.clone_from(&self.caller.handler);
        }
        let verbatim = context.verbatim;
        let is_step = matches!(scope.part, Part::Step { .. });
        // Arguments are kept only for a log: a clone shares their bytes.
        let mut given = bus.has_audit().then(|| Given {
            gate: self,
            arguments: arguments.clone(),
            caller: scope.caller.clone(),
            client_info: context.client_info.clone(),
            began,
            is_recorded: false,
        });
        let mut outcome = self.hooked(call, &name, arguments, context, scope).await;
        if !is_step {
            output::fit(&mut outcome, &self.limits(verbatim), &name).await;
        }
        if let Some(given) = &mut given {
            given.record(&outcome);
        }
        self.tell(&name, call, &outcome, began.elapsed());
        outcome
    }

    /// Runs the hooks around the call. `after` always runs, also if `before` blocked the call or the caller cancelled
    /// it.
    async fn hooked(
        &self,
        call: u64,
        name: &Arc<str>,
        mut arguments: RawJson,
        context: CallContext,
        scope: Scope,
    ) -> ToolOutcome {
        let options = &self.directory.hub.options;
        let cancel = context.cancel.clone();
        let hooks: Vec<_> =
            options.hooks.iter().filter(|hook| hooks::applies(&***hook, self.spec())).collect();
        // Only hosts with hooks pay for the copy of the arguments.
        if hooks.is_empty() {
            let work = self.checked(name, &mut arguments, context, scope);
            let outcome = until_cancelled(cancel, work).await;
            self.record_failed_call(name, &arguments, &outcome);
            return outcome;
        }
        let asks = scope.caller.conversation.clone();
        let mut seen = HookCall::new(call, asks, self.spec().clone(), arguments);
        let work = async {
            match hooks::run_before(&hooks, &mut seen).await {
                Some(reason) => {
                    let text = format!("blocked: {reason}");
                    ToolOutcome::failed(FailureKind::Denied, Delivery::NotSent, text)
                }
                None => self.checked(name, &mut seen.arguments, context, scope).await,
            }
        };
        let mut outcome = until_cancelled(cancel, work).await;
        for hook in hooks {
            hook.after(&seen, &mut outcome).await;
        }
        self.record_failed_call(name, &seen.arguments, &outcome);
        outcome
    }

    /// Checks the arguments, obtains consent, makes the call and checks the result.
    async fn checked(
        &self,
        name: &Arc<str>,
        arguments: &mut RawJson,
        context: CallContext,
        scope: Scope,
    ) -> ToolOutcome {
        let is_checked = !context.no_validate;
        let check = &self.registered.check;
        let checked = if is_checked {
            check.arguments(self.spec(), arguments).await
        } else {
            Checked::as_given(arguments)
        };
        let checked = match checked {
            Ok(checked) => checked,
            Err(problems) => return invalid(name, &problems),
        };
        if let Some(repaired) = checked.repaired {
            *arguments = repaired;
        }
        let mut outcome = match self.permitted(arguments, checked.value, &context, &scope).await {
            Ok(()) => self.registered.tool.call(arguments.clone(), context, scope).await,
            Err(refused) => refused,
        };
        let before = outcome.notes.len();
        outcome.notes.extend(checked.notes);
        if is_checked {
            check.result(self.spec(), &mut outcome).await;
        }
        self.tell_checks(name, &outcome.notes[before..]);
        outcome
    }

    /// Decides whether the call may be made: by the rules, the plan and the user, in this order.
    async fn permitted(
        &self,
        arguments: &RawJson,
        value: Arc<Value>,
        context: &CallContext,
        scope: &Scope,
    ) -> Result<(), ToolOutcome> {
        let consent = Consent { hub: &self.directory.hub, scope, context };
        let subject = self.registered.subject();
        let admitted = consent.admitted(&subject, arguments, &value);
        let question = admitted.map_err(|refused| *refused)?;
        // Not held while the user is asked.
        drop(value);
        if self.registered.asks_itself {
            return Ok(());
        }
        if consent.depends_on_definition(&subject, question.is_some()) {
            self.wake(context).await;
        }
        consent.ask(&subject, arguments, question).await
    }

    /// Starts a stopped server, because the cached definition of a tool may be outdated.
    async fn wake(&self, context: &CallContext) {
        let server = self.spec().server().and_then(|name| self.directory.server(name));
        if let Some(server) = server.filter(|server| server.is_stopped_when_idle()) {
            // If the server does not start, the call reports it.
            let _ = server.ready(context).await;
        }
    }

    /// The limits for the result. A caller that takes results verbatim gets everything, unless the user set a limit for
    /// the text of this tool or its server.
    fn limits(&self, verbatim: bool) -> output::OutputLimits {
        let directory = &self.directory;
        let mut limits = directory.hub.options.output.clone();
        if limits.is_unlimited() {
            return limits;
        }
        if verbatim {
            limits.max_chars = usize::MAX;
            limits.max_parts = usize::MAX;
            limits.max_media = usize::MAX;
            limits.keep_structured = true;
        }
        let of_server = || directory.output_limit(self.spec().server()?);
        if let Some(own) = limits.of_tool(self.spec()).or_else(of_server) {
            limits.max_chars = own;
        }
        limits
    }

    /// Keeps a call that ended without a result, for inspection.
    fn record_failed_call(&self, name: &Arc<str>, arguments: &RawJson, outcome: &ToolOutcome) {
        let Some(failure) = &outcome.failure else { return };
        // Calls refused here were never sent.
        let refused = matches!(
            failure.kind,
            FailureKind::Denied | FailureKind::Queued | FailureKind::InvalidArguments
        );
        if refused {
            return;
        }
        let directory = &self.directory;
        directory.hub.bus.tell(Event::FailedCall { tool: name.clone(), kind: failure.kind });
        directory.record_failed_call(FailedCall {
            tool: self.spec().name.clone(),
            arguments: arguments.detached(),
            failure: failure.clone(),
            text: outcome.text_content().chars().take(1_000).collect(),
        });
    }

    fn tell_checks(&self, name: &Arc<str>, notes: &[Note]) {
        let bus = &self.directory.hub.bus;
        for note in notes {
            match note {
                Note::Repaired { changes } => {
                    bus.tell(Event::Repaired { tool: name.clone(), changes: changes.len() });
                }
                Note::Unchecked { reason } => {
                    bus.tell(Event::Unchecked {
                        tool: name.clone(),
                        reason: reason.as_str().into(),
                    });
                }
                _ => {}
            }
        }
    }

    fn tell(&self, name: &Arc<str>, call: u64, outcome: &ToolOutcome, took: Duration) {
        let bus = &self.directory.hub.bus;
        for note in &outcome.notes {
            if let Note::Truncated { chars, .. } = note {
                bus.tell(Event::Truncated { tool: name.clone(), chars: *chars });
            }
        }
        bus.tell(Event::ToolResult {
            tool: name.clone(),
            call,
            is_error: outcome.is_error,
            failure: outcome.failure_kind(),
            took,
        });
    }
}

fn invalid(name: &str, problems: &[String]) -> ToolOutcome {
    let list = problems.join("\n- ");
    let text = format!("the arguments do not fit the schema of {name}:\n- {list}");
    ToolOutcome::failed(FailureKind::InvalidArguments, Delivery::NotSent, text)
}

/// Returns the outcome of `work`, or that of a cancelled call as soon as the caller cancels it.
async fn until_cancelled(
    cancel: Option<Cancelled>,
    work: impl Future<Output = ToolOutcome>,
) -> ToolOutcome {
    let Some(cancel) = cancel else { return work.await };
    first(work, cancel.cancelled()).await.unwrap_or_else(|| {
        ToolOutcome::failed(FailureKind::Cancelled, Delivery::Unknown, "cancelled")
    })
}

/// Returns the output of `work`, or `None` if `end` completes first.
async fn first<T>(work: impl Future<Output = T>, end: impl Future<Output = ()>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    let mut end = std::pin::pin!(end);
    std::future::poll_fn(|cx| {
        if let std::task::Poll::Ready(done) = work.as_mut().poll(cx) {
            return std::task::Poll::Ready(Some(done));
        }
        end.as_mut().poll(cx).map(|()| None)
    })
    .await
}
