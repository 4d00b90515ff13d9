//! The one way to every tool: a server's, the host's, the bridge's own.

use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use mcp_client::{Delivery, RawJson};
use serde_json::Value;
use tokio::time::Instant;
use tracing::Instrument;

use crate::{
    bridge::DeadLetter,
    check::Checked,
    context::CallContext,
    envelope,
    events::Event,
    hooks::{HookCall, Verdict},
    lease::{Conversation, LeaseCore},
    outcome::{FailureKind, Note, ToolOutcome},
    registry::Registered,
    tool::{Tool, ToolSpec},
    trust::{Approval, ApprovalRequest, Decision, PolicyCall, diff, writes},
};

/// A tool as a lease gives it out.
pub(crate) struct Gate {
    pub(crate) registered: Arc<Registered>,
    pub(crate) lease: Arc<LeaseCore>,
}

impl Tool for Gate {
    fn spec(&self) -> &ToolSpec {
        self.registered.tool.spec()
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        let span = tracing::debug_span!("mcp.call", tool = %self.spec().name);
        Box::pin(self.run(arguments, context, Part::Turn).instrument(span))
    }
}

/// What a call is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A turn.
    Turn,
    /// A plan that was reviewed, so that it need not wait for that.
    Reviewed,
    /// Another call, which waited if it had to, and whose result is cut instead of this one.
    Step,
}

impl Gate {
    /// Runs a call from beginning to end.
    pub(crate) async fn run(
        &self,
        arguments: RawJson,
        mut context: CallContext,
        part: Part,
    ) -> ToolOutcome {
        let bus = &self.lease.core.bus;
        let name: Arc<str> = self.spec().name.as_str().into();
        let call = bus.next_call();
        bus.tell(Event::ToolCall { tool: name.clone(), call });
        let began = Instant::now();
        if context.owner.is_none() {
            context.owner.clone_from(&self.lease.handler);
        }
        context.lease.get_or_insert_with(|| self.lease.clone());
        let cancel = context.cancel.clone();
        let work = self.checked(call, &name, arguments, context, part);
        let mut outcome = match cancel {
            Some(cancel) => match first(work, cancel.cancelled()).await {
                Some(outcome) => outcome,
                None => ToolOutcome::failed(FailureKind::Cancelled, Delivery::Unknown, "cancelled"),
            },
            None => work.await,
        };
        if part != Part::Step {
            envelope::fit(&mut outcome, &self.limits(), &name).await;
        }
        self.tell(&name, call, &outcome, began.elapsed());
        outcome
    }

    async fn checked(
        &self,
        call: u64,
        name: &Arc<str>,
        arguments: RawJson,
        context: CallContext,
        part: Part,
    ) -> ToolOutcome {
        let core = &self.lease.core;
        let hooks = &core.options.hooks;
        let asks = context.lease.as_ref().unwrap_or(&self.lease).conversation.clone();
        // Only whoever has hooks pays for what they are shown.
        let mut seen = (!hooks.is_empty())
            .then(|| HookCall::new(call, asks.clone(), self.spec().clone(), arguments.clone()));
        let mut arguments = arguments;
        if let Some(seen) = &mut seen {
            for hook in hooks {
                if let Verdict::Block(reason) = hook.before(seen).await {
                    let text = format!("blocked: {reason}");
                    return ToolOutcome::failed(FailureKind::Denied, Delivery::NotSent, text);
                }
            }
            arguments = seen.arguments.clone();
        }
        let mut repairs = Vec::new();
        match self.registered.check.arguments(self.spec(), &arguments) {
            Checked::Same => {}
            Checked::Repaired(repaired, changes) => {
                arguments = repaired;
                repairs = changes;
            }
            Checked::Invalid(problems) => return invalid(name, &problems),
        }
        let mut outcome = match self.permitted(asks, &arguments, &context, part).await {
            Ok(()) => self.registered.tool.call(arguments.clone(), context).await,
            Err(refused) => refused,
        };
        if !repairs.is_empty() {
            core.bus.tell(Event::Repaired { tool: name.clone(), changes: repairs.len() });
            outcome.notes.push(Note::Repaired { changes: repairs });
        }
        self.registered.check.result(self.spec(), &mut outcome);
        if let Some(mut seen) = seen {
            seen.arguments = arguments.clone();
            for hook in hooks {
                hook.after(&seen, &mut outcome).await;
            }
        }
        self.bury(name, &arguments, &outcome);
        outcome
    }

    /// Whether the call may be made: by the rules, the plan and the user, in this order.
    async fn permitted(
        &self,
        asks: Conversation,
        arguments: &RawJson,
        context: &CallContext,
        part: Part,
    ) -> Result<(), ToolOutcome> {
        let core = &self.lease.core;
        let spec = self.spec();
        let value: Value = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        let decision = core.options.policy.decide(&PolicyCall::new(spec, &value));
        if let Decision::Deny(reason) = decision {
            return Err(denied(&reason));
        }
        if part == Part::Turn
            && let Some(outcome) = self.queued(arguments)
        {
            return Err(outcome);
        }
        // A tool may say that it changes nothing; whether that is so is seen step by step.
        let plans = context.lease.as_ref().unwrap_or(&self.lease);
        if part == Part::Step && !context.reviewed && self.is_held_back(plans) {
            return Err(denied("plan mode, and this step would change something"));
        }
        let permission = spec.permission();
        let standing = core.options.approvals.standing(&permission, &spec.hash);
        let changed = match &standing {
            crate::trust::Standing::Changed(before) => Some(diff(before, &self.registered.raw)),
            _ => None,
        };
        let is_pinned = standing == crate::trust::Standing::Approved;
        let always_asks = spec.hints.destructive == Some(true);
        let reason = match (decision, &changed) {
            (_, Some(_)) => "it is not what you approved any more".to_owned(),
            (Decision::Ask(_), None) if is_pinned && !always_asks => return Ok(()),
            (Decision::Ask(reason), None) => reason,
            (_, None) => return Ok(()),
        };
        if context.approved && changed.is_none() {
            return Ok(());
        }
        let request = ApprovalRequest {
            conversation: asks,
            tool: spec.name.clone(),
            permission: permission.clone(),
            description: self.registered.description.clone(),
            arguments: arguments.clone(),
            reason,
            changed,
            once_only: always_asks,
            owner: context.owner.clone(),
        };
        match core.options.approver.approve(request).await {
            Approval::Deny => Err(denied("the user said no")),
            Approval::Unasked(why) => Err(denied(&why)),
            Approval::Once => Ok(()),
            Approval::Always if always_asks => Ok(()),
            Approval::Always => {
                core.options.approvals.approve(&permission, &spec.hash, &self.registered.raw);
                Ok(())
            }
        }
    }

    /// Whether a conversation plans, and the call would change something.
    fn is_held_back(&self, plans: &LeaseCore) -> bool {
        plans.plan().is_on && writes(self.spec(), &plans.core.options.write_patterns)
    }

    fn queued(&self, arguments: &RawJson) -> Option<ToolOutcome> {
        let core = &self.lease.core;
        let name: &str = &self.spec().name;
        if self.registered.claims_reading || !self.is_held_back(&self.lease) {
            return None;
        }
        let mut plan = self.lease.plan();
        let text = match plan.queue(self.spec(), arguments) {
            Some(id) => {
                core.bus.tell(Event::Queued { tool: name.into(), id });
                format!("plan mode: this call is queued for review as #{id} and has not run")
            }
            None => "plan mode: too many calls wait for review already".to_owned(),
        };
        Some(ToolOutcome::failed(FailureKind::Queued, Delivery::NotSent, text))
    }

    fn limits(&self) -> envelope::OutputLimits {
        let core = &self.lease.core;
        let mut limits = core.options.output.clone();
        if let Some(own) = self.spec().server().and_then(|server| core.output_limit(server)) {
            limits.max_chars = own;
        }
        limits
    }

    /// Keeps a call that failed on the way, for inspection.
    fn bury(&self, name: &Arc<str>, arguments: &RawJson, outcome: &ToolOutcome) {
        let Some(failure) = &outcome.failure else { return };
        // What was refused here was never under way.
        let refused = matches!(
            failure.kind,
            FailureKind::Denied | FailureKind::Queued | FailureKind::InvalidArguments
        );
        if refused {
            return;
        }
        let core = &self.lease.core;
        core.bus.tell(Event::DeadLetter { tool: name.clone(), kind: failure.kind });
        core.bury(DeadLetter {
            tool: self.spec().name.clone(),
            arguments: arguments.detached(),
            failure: failure.clone(),
            text: outcome.text_content().chars().take(1_000).collect(),
        });
    }

    fn tell(&self, name: &Arc<str>, call: u64, outcome: &ToolOutcome, took: Duration) {
        let bus = &self.lease.core.bus;
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

fn denied(reason: &str) -> ToolOutcome {
    ToolOutcome::failed(FailureKind::Denied, Delivery::NotSent, format!("denied: {reason}"))
}

fn invalid(name: &str, problems: &[String]) -> ToolOutcome {
    let list = problems.join("\n- ");
    let text = format!("the arguments do not fit the schema of {name}:\n- {list}");
    ToolOutcome::failed(FailureKind::InvalidArguments, Delivery::NotSent, text)
}

/// What `work` gives, unless `end` comes first.
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
