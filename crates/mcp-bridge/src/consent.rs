//! Consent to one use of a tool, resource, prompt or login: by the rules, the plan and the user, in this order.

use std::time::SystemTime;

use mcp_audit::{Kind, Record};
use mcp_client::{Delivery, RawJson};
use mcp_safe::text;
use mcp_tool::{CallContext, FailureKind, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::{
    events::Event,
    hub::Hub,
    question_lock,
    tools::scope::{Caller, Part, Scope},
    trust::{Approval, ApprovalRequest, Binding, Decision, PolicyCall, Subject, diff, writes},
};

/// One call, with the parties that decide on it.
pub(crate) struct Consent<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) scope: &'a Scope,
    pub(crate) context: &'a CallContext,
}

impl Consent<'_> {
    /// Decides whether the call may be made.
    pub(crate) async fn obtain(
        &self,
        subject: &Subject<'_>,
        arguments: &RawJson,
        value: Value,
    ) -> Result<(), ToolOutcome> {
        let question = self.admitted(subject, arguments, &value).map_err(|refused| *refused)?;
        // Not held while the user is asked.
        drop(value);
        self.ask(subject, arguments, question).await
    }

    /// Applies the rules and the plan. `Some` is the reason to ask the user.
    pub(crate) fn admitted(
        &self,
        subject: &Subject<'_>,
        arguments: &RawJson,
        value: &Value,
    ) -> Result<Option<String>, Box<ToolOutcome>> {
        let spec = subject.spec;
        let decision = self.hub.options.policy.decide(&PolicyCall::new(spec, value));
        if let Decision::Deny(reason) = &decision {
            return Err(Box::new(self.denied(spec, reason, reason)));
        }
        if let Some(outcome) = self.queued(subject, arguments) {
            return Err(Box::new(outcome));
        }
        // A composed tool may claim to be read-only; each of its steps is checked.
        let unreviewed = Part::Step { reviewed: false };
        if self.scope.part == unreviewed && self.is_held_back(spec, &self.scope.caller) {
            let reason = "plan mode is on, and this step would change something";
            return Err(Box::new(self.denied(spec, reason, reason)));
        }
        Ok(match decision {
            Decision::Ask(reason) => Some(reason),
            // Regardless of the policy, the user is asked about tools that declare themselves destructive.
            Decision::Allow if is_destructive(spec) => Some("it may destroy something".into()),
            _ => None,
        })
    }

    /// Whether the decision depends on the tool's definition: when the user is asked, or has approved the tool before.
    pub(crate) fn depends_on_definition(&self, subject: &Subject<'_>, question: bool) -> bool {
        let approvals = &self.hub.options.approvals;
        question || approvals.approved(&subject.spec.permission(), subject.server).is_some()
    }

    /// Asks the user, unless there is neither a `question` nor a change, or an approval already answers it.
    pub(crate) async fn ask(
        &self,
        subject: &Subject<'_>,
        arguments: &RawJson,
        question: Option<String>,
    ) -> Result<(), ToolOutcome> {
        // Wait before the lookup: the user's answer to another call of this turn may apply to this one.
        let _turn = question_lock::turn_to_ask().await;
        let approvals = &self.hub.options.approvals;
        let (spec, permission) = (subject.spec, subject.spec.permission());
        let approved = approvals.approved(&permission, subject.server);
        if question.is_none() && approved.is_none() && !self.hub.options.ask_on_change {
            return Ok(());
        }
        // The list may have changed since the turn began: the user decides on the current definition.
        let current = self.hub.registry.current(&spec.origin);
        let (hash, raw, description) = match &current {
            Some(now) => (&now.tool.spec().hash, &*now.raw, &*now.description),
            None => (&spec.hash, subject.raw, subject.description),
        };
        let is_approved = approved.as_ref().is_some_and(|approved| approved.hash == *hash);
        let is_changed = self.hub.options.ask_on_change
            && approved.is_none()
            && approvals.differs_from_pin(&permission, subject.server, hash);
        let changed = match &approved {
            Some(approved) if !is_approved => Some(diff(&approved.definition, raw)),
            _ => is_changed.then(|| diff("", raw)),
        };
        let reason = match (question, &changed) {
            (_, Some(_)) => "its definition has changed since you approved it".to_owned(),
            (None, None) => return Ok(()),
            (Some(_), None) if is_approved && !is_destructive(spec) => return Ok(()),
            (Some(reason), None) => reason,
        };
        if self.context.approved && changed.is_none() {
            return Ok(());
        }
        let changed_is_cut = changed.as_ref().is_some_and(|changes| changes.is_cut);
        let once_only = is_destructive(spec) || changed_is_cut;
        let request = ApprovalRequest {
            conversation: self.scope.caller.conversation.clone(),
            tool: spec.name.clone(),
            permission: permission.clone(),
            server: spec.server().map(str::to_owned),
            description: description.to_owned(),
            arguments: arguments.clone(),
            reason: reason.clone(),
            changed: changed.map(|changes| changes.text),
            changed_is_cut,
            once_only,
            owner: self.context.owner.clone(),
        };
        let answer = self.hub.options.approver.approve(request).await;
        self.record(subject, &answer, &reason);
        match answer {
            Approval::Deny => Err(self.denied(spec, "the user said no", &reason)),
            Approval::Unasked(why) => {
                Err(self.denied(spec, self.hub.options.approver.unasked(), &why))
            }
            Approval::Declined(why) => Err(self.denied(spec, "the client declined", &why)),
            Approval::Always if !once_only => {
                approvals.approve(&permission, subject.server, hash, raw);
                Ok(())
            }
            Approval::Once | Approval::Always => {
                if is_changed {
                    approvals.pin(subject.server, &[(permission, hash.clone())]);
                }
                Ok(())
            }
        }
    }

    /// Records the user's answer.
    fn record(&self, subject: &Subject<'_>, answer: &Approval, reason: &str) {
        let decision = match answer {
            Approval::Once => "once",
            Approval::Always => "always",
            Approval::Deny => "deny",
            Approval::Declined(_) => "declined",
            Approval::Unasked(_) => "unasked",
        };
        let spec = subject.spec;
        self.hub.bus.audit(|| {
            let record = Record::new(Kind::Approval, SystemTime::now());
            about(
                record,
                spec,
                subject.server,
                &self.scope.caller,
                self.context.client_info.as_ref(),
            )
            .with_decision(decision, Some(&spec.permission()))
            .with_reason(reason)
        });
    }

    /// A refusal. The model learns of the refusal, the user also how to allow the call.
    fn denied(&self, spec: &ToolSpec, to_model: &str, to_user: &str) -> ToolOutcome {
        let permission = spec.permission();
        let message = format!(
            "{permission} was denied: {to_user}; to allow it, add a rule for `{permission}` or trust its server"
        );
        tracing::info!(permission, message, "a call was denied");
        let tool = spec.name.as_str().into();
        self.hub.bus.tell(Event::Denied { tool, permission, message });
        let text = format!("denied: {to_model}");
        ToolOutcome::failed(FailureKind::Denied, Delivery::NotSent, text)
    }

    /// Whether the conversation is in plan mode and the call would change something.
    fn is_held_back(&self, spec: &ToolSpec, caller: &Caller) -> bool {
        caller.is_planning() && writes(spec, &self.hub.options.write_patterns)
    }

    fn queued(&self, subject: &Subject<'_>, arguments: &RawJson) -> Option<ToolOutcome> {
        let (spec, caller) = (subject.spec, &self.scope.caller);
        if self.scope.part != Part::Turn
            || subject.claims_reading
            || !self.is_held_back(spec, caller)
        {
            return None;
        }
        let text = match caller.plan().queue(spec, arguments) {
            Some(id) => {
                self.hub.bus.tell(Event::Queued { tool: spec.name.as_str().into(), id });
                format!("plan mode: this call is queued for review as #{id} and has not run")
            }
            None => "plan mode: too many calls wait for review already".to_owned(),
        };
        Some(ToolOutcome::failed(FailureKind::Queued, Delivery::NotSent, text))
    }
}

/// Adds who acts on what: the conversation, the server with its fingerprint, and the tool with its definition's hash.
pub(crate) fn about<'r>(
    record: Record<'r>,
    spec: &ToolSpec,
    server: &Binding,
    caller: &Caller,
    client_info: Option<&RawJson>,
) -> Record<'r> {
    let named = caller.conversation.name.as_deref().map(str::to_owned);
    let record = match client_info.and_then(client_name).or(named) {
        Some(client) => record.with_client(&client),
        None => record,
    };
    let fingerprint = Some(&*server.key).filter(|key| !key.is_empty());
    let record = match spec.server() {
        Some(name) => record.with_server(name, fingerprint),
        None => record,
    };
    record.with_tool(&spec.name, Some(&spec.hash))
}

/// The name and version in a `clientInfo`.
fn client_name(info: &RawJson) -> Option<String> {
    let member = |name: &str| info.get(name)?.decode::<String>().ok();
    let (name, version) = (member("name")?, member("version").unwrap_or_default());
    Some(text::one_line(format!("{name} {version}").trim_end(), 200).into_owned())
}

fn is_destructive(spec: &ToolSpec) -> bool {
    spec.hints.destructive == Some(true)
}
