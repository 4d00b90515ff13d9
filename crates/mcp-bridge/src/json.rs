//! Stable JSON representations of events, states, rules and options.
//!
//! Written by hand, because the crate avoids derive macros as dependencies.

mod options;

use std::time::Duration;

use mcp_tool::FailureKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value, json};

use crate::{
    caller::ConversationId,
    directory::FailedCall,
    events::{Counters, Event},
    failure_names::class_name,
    lifecycle::{ServerState, ServerStatus},
    server::explain::Explanation,
    tools::publish::Quarantined,
    trust::{Action, ApprovalRequest, Planned, Rule, Rules},
};

/// Implements `Serialize` for a type through a conversion function.
macro_rules! as_json {
    ($($type:ty => $json:path;)*) => {
        $(
            impl Serialize for $type {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    $json(self).serialize(serializer)
                }
            }
        )*
    };
}

as_json! {
    Event => event;
    Counters => counters;
    ServerState => state;
    ServerStatus => status;
    Explanation => explanation;
    Quarantined => quarantined;
    FailedCall => failed_call;
    Planned => planned;
    ApprovalRequest => approval_request;
    ConversationId => conversation;
    Action => action;
    Rule => rule;
    Rules => rules;
}

fn event(event: &Event) -> Value {
    let mut members = match event {
        Event::ServerConnecting { server, attempt } => {
            json!({"server": **server, "attempt": attempt})
        }
        Event::ServerConnected { server, tools, generation } => {
            json!({"server": **server, "tools": tools, "generation": generation})
        }
        Event::ServerDisconnected { server }
        | Event::NeedsAuth { server }
        | Event::ListsFetched { server }
        | Event::InstructionsCut { server } => json!({"server": **server}),
        Event::ServerError { server, problem, class } => {
            json!({"server": **server, "problem": **problem, "class": class_name(*class)})
        }
        Event::ListChanged { server, added, removed, changed } => {
            json!({"server": **server, "added": added, "removed": removed, "changed": changed})
        }
        Event::ListCut { server, kept } => json!({"server": **server, "kept": kept}),
        Event::Quarantined { server, tool, reason } => {
            json!({"server": **server, "tool": tool, "reason": reason})
        }
        Event::DescriptionRedacted { server, tool } => json!({"server": **server, "tool": tool}),
        Event::NameTaken { server, tool, name } => {
            json!({"server": **server, "tool": tool, "name": name})
        }
        Event::ToolCall { tool, call } => json!({"tool": **tool, "call": call}),
        Event::ToolResult { tool, call, is_error, failure, took } => {
            json!({"tool": **tool, "call": call, "isError": is_error,
                "failure": failure.map(FailureKind::as_str), "tookMs": millis(*took)})
        }
        Event::ToolLoaded { tool } => json!({"tool": **tool}),
        Event::ToolSearch { results } => json!({"results": results}),
        Event::Denied { tool, permission, message } => {
            json!({"tool": **tool, "permission": permission, "message": message})
        }
        Event::DefinitionChanged { server, tool, permission } => {
            json!({"server": **server, "tool": tool, "permission": permission})
        }
        Event::Queued { tool, id } => json!({"tool": **tool, "id": id}),
        Event::Truncated { tool, chars } => json!({"tool": **tool, "chars": chars}),
        Event::Repaired { tool, changes } => json!({"tool": **tool, "changes": changes}),
        Event::Unchecked { tool, reason } => json!({"tool": **tool, "reason": **reason}),
        Event::Retried { tool, failures } => json!({"tool": **tool, "failures": failures}),
        Event::FailedCall { tool, kind } => json!({"tool": **tool, "failure": kind.as_str()}),
        Event::Missed(events) => json!({"events": events}),
    };
    members["event"] = json!(event.name());
    members
}

fn counters(counters: &Counters) -> Value {
    json!({"calls": counters.calls, "toolErrors": counters.tool_errors, "failures": counters.failures,
        "retries": counters.retries, "repairs": counters.repairs, "truncations": counters.truncations,
        "searches": counters.searches, "connects": counters.connects,
        "connectionErrors": counters.connection_errors})
}

fn state(state: &ServerState) -> Value {
    let left = |next_try: std::time::Instant| {
        millis(next_try.saturating_duration_since(std::time::Instant::now()))
    };
    let name = state_name(state);
    match state {
        ServerState::Connecting { attempt } => json!({"state": name, "attempt": attempt}),
        ServerState::Waiting { failures, next_try } => {
            json!({"state": name, "failures": failures, "nextTryInMs": left(*next_try)})
        }
        ServerState::Failed { next_try } => {
            json!({"state": name, "nextTryInMs": next_try.map(left)})
        }
        _ => json!({"state": name}),
    }
}

fn state_name(state: &ServerState) -> &'static str {
    match state {
        ServerState::Disabled => "disabled",
        ServerState::Idle => "idle",
        ServerState::Connecting { .. } => "connecting",
        ServerState::Waiting { .. } => "waiting",
        ServerState::Connected => "connected",
        ServerState::NeedsLogin => "needs-login",
        ServerState::Failed { .. } => "failed",
    }
}

/// The members of the state are inlined into the status.
fn status(status: &ServerStatus) -> Value {
    let mut members = state(&status.state);
    members["name"] = json!(&*status.name);
    members["tools"] = json!(status.tools);
    members["quarantined"] = json!(status.quarantined);
    members["generation"] = json!(status.generation);
    members["problem"] = json!(status.problem.as_deref());
    members["down"] = json!(status.down);
    members["class"] = json!(status.class.map(class_name));
    members
}

fn explanation(explanation: &Explanation) -> Value {
    let servers: Vec<&str> = explanation.servers.iter().map(|server| &**server).collect();
    json!({"servers": servers, "state": state_name(&explanation.state), "cause": explanation.cause,
        "evidence": explanation.evidence, "nextStep": explanation.next_step})
}

fn quarantined(quarantined: &Quarantined) -> Value {
    json!({"tool": quarantined.tool, "reason": quarantined.reason})
}

fn failed_call(call: &FailedCall) -> Value {
    json!({"tool": call.tool, "arguments": call.arguments, "failure": call.failure, "text": call.text})
}

fn planned(planned: &Planned) -> Value {
    json!({"id": planned.id, "tool": planned.tool, "arguments": planned.arguments, "hash": planned.hash})
}

/// Everything that a user interface in another process shows. The handler of the call is left out.
fn approval_request(request: &ApprovalRequest) -> Value {
    json!({"conversation": conversation(&request.conversation), "tool": request.tool,
        "permission": request.permission, "server": request.server, "description": request.description,
        "arguments": request.arguments, "reason": request.reason, "changed": request.changed,
        "changedIsCut": request.changed_is_cut, "onceOnly": request.once_only})
}

fn conversation(conversation: &ConversationId) -> Value {
    json!({"id": conversation.id, "name": conversation.name.as_deref()})
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "same signature as the other conversions")]
fn action(action: &Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}

fn rule(written: &Rule) -> Value {
    json!({"permission": written.permission, "pattern": written.pattern, "action": action(&written.action)})
}

fn rules(rules: &Rules) -> Value {
    rules.scopes().iter().map(|scope| scope.iter().map(rule).collect::<Value>()).collect()
}

#[cfg(feature = "sandbox")]
impl Serialize for crate::connect::SandboxStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = self.report.as_ref().map(|report| {
            let applied: Vec<String> = report.applied.iter().map(ToString::to_string).collect();
            let missing: Value = report
                .missing
                .iter()
                .map(|one| json!({"measure": one.measure.to_string(), "reason": one.reason}))
                .collect();
            json!({"applied": applied, "missing": missing})
        });
        json!({"profile": self.profile.to_json(), "notes": self.notes, "report": report})
            .serialize(serializer)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "allow" => Ok(Self::Allow),
            "ask" => Ok(Self::Ask),
            "deny" => Ok(Self::Deny),
            other => Err(D::Error::unknown_variant(other, &["allow", "ask", "deny"])),
        }
    }
}

/// Without a pattern, the rule applies to all arguments.
impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::<String, Value>::deserialize(deserializer)?;
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let permission = text(members.remove("permission"));
        let permission = permission.ok_or_else(|| D::Error::missing_field("permission"))?;
        let action = members.remove("action").ok_or_else(|| D::Error::missing_field("action"))?;
        let action = Action::deserialize(action).map_err(D::Error::custom)?;
        let mut rule = Self::new(permission, action);
        if let Some(pattern) = text(members.remove("pattern")) {
            rule.pattern = pattern;
        }
        match members.keys().next() {
            Some(other) => Err(D::Error::custom(format!("unknown field `{other}`"))),
            None => Ok(rule),
        }
    }
}

/// One list of rules for each scope, the highest scope first.
impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Vec<Rule>>::deserialize(deserializer).map(Self::new)
    }
}
