//! Who is asked about calls: the user at the other end, through the client.

use mcp_bridge::{Approval, ApprovalRequest, Approver, BoxFuture};
use mcp_client::{ElicitAction, ElicitRequest, RawJson};
use serde_json::json;

use crate::out::brief;

/// Asks whoever made the call. Where the agent that connects asks its user about every call, we need not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consent {
    pub(super) trust_host: bool,
}

impl Approver for Consent {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            // What is no longer what was approved is more than an agent knows to ask about.
            if self.trust_host && request.changed.is_none() {
                return Approval::Once;
            }
            let owner = request.owner.as_deref();
            let Some(owner) = owner.filter(|owner| owner.capabilities().elicitation_form) else {
                return Approval::Unasked(unasked(&request));
            };
            let answer = owner.elicit(ElicitRequest::form(message(&request), schema())).await;
            let run = answer.content.and_then(|content| content.get("run"));
            // Only a plain yes is one: a form may come back without what was not ticked.
            let is_yes = run.is_some_and(|run| run.as_str() == "true");
            match answer.action {
                ElicitAction::Accept if is_yes => Approval::Once,
                _ => Approval::Deny,
            }
        })
    }
}

fn message(request: &ApprovalRequest) -> String {
    let ApprovalRequest { permission, reason, arguments, changed, .. } = request;
    let changed = changed
        .as_deref()
        .map_or_else(String::new, |changed| format!(" What changed: {}", brief(changed, 1_000)));
    let arguments = brief(arguments.as_str(), 1_000);
    format!("Run {permission}? {reason}. Arguments: {arguments}{changed}")
}

fn schema() -> RawJson {
    let schema = json!({"type": "object", "required": ["run"], "properties": {"run": {
        "type": "boolean", "title": "Run it", "default": true}}});
    RawJson::encode(&schema).unwrap_or_else(|_| RawJson::empty_object())
}

fn unasked(request: &ApprovalRequest) -> String {
    let ApprovalRequest { permission, reason, changed, .. } = request;
    if changed.is_some() {
        return format!(
            "{reason}, and this client cannot ask its user. Whoever runs the gateway can look at it with \
             `mcp call`"
        );
    }
    format!(
        "{reason}, and this client cannot ask its user. Whoever runs the gateway can allow it with \
         `--allow-tool {permission}`, vouch for the server with `trust`, or leave asking to the client with \
         `--trust-host`"
    )
}
