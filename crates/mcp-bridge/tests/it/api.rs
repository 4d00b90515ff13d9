//! The public API: closures, streams, concurrent calls, JSON.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::StreamExt;
use mcp_bridge::{
    Approval, ApprovalRequest, Bridge, CallContext, Event, FailureKind, ServerState, ToolUse,
    error::{NameTaken, UnknownServer},
    hooks::{Verdict, after, before},
    tool::ErrorClass,
    trust::{Action, Decision, PolicyCall, Rule, Rules},
};
use serde_json::{Value, json};

use crate::support::{Fake, Reply, args, call, config, fakes, one, options};

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn offering(tools: &[Value]) -> Fake {
    let fake = Fake::new(&[]);
    fake.tools(tools.into());
    fake
}

fn hinted(name: &str, reads: bool) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": reads}})
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_turn_run_by_their_concurrency_class() {
    let fake = offering(&[hinted("get", true), hinted("put", false)]);
    let order = Arc::new(Mutex::new(Vec::new()));
    let (begun, ended) = (order.clone(), order.clone());
    let bridge = one(&fake, |options| {
        options.hooks = vec![Arc::new(before(move |call| {
            begun.lock().unwrap().push(format!("+{}", call.arguments.as_str()));
            Verdict::Continue
        }))];
        options.hooks.push(Arc::new(after(move |call, _| {
            ended.lock().unwrap().push(format!("-{}", call.arguments.as_str()));
        })));
    })
    .await;
    let numbered = |(tool, n): (&str, u32)| {
        ToolUse::new(format!("mcp__srv__{tool}"), args(&json!({ "n": n })))
    };
    let calls = [("get", 1), ("get", 2), ("put", 3), ("get", 4), ("nothing", 5)];
    let outcomes = bridge.snapshot().call_all(calls.map(numbered)).await;
    let failed: Vec<bool> = outcomes.iter().map(|outcome| outcome.is_error).collect();
    assert_eq!(failed, [false, false, false, false, true]);
    let order = order.lock().unwrap().join(" ").replace("{\"n\":", "").replace('}', "");
    assert_eq!(order, "+1 +2 -1 -2 +3 -3 +4 -4");
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_turn_ask_one_question_at_a_time_and_remember_the_answer() {
    let fake = offering(&[hinted("get", true), hinted("find", true)]);
    let asking = Arc::new(AtomicUsize::new(0));
    let (most, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen, count) = (most.clone(), asked.clone());
    let approver = move |_: ApprovalRequest| {
        let (asking, seen) = (asking.clone(), seen.clone());
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            seen.fetch_max(asking.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(5)).await;
            asking.fetch_sub(1, Ordering::SeqCst);
            Approval::Always
        }
    };
    let bridge = Bridge::new(options(&fakes([("srv", &fake)])).with_approver(approver));
    let mut untrusted = config("srv");
    untrusted.trust = false;
    bridge.add_server_as_written(untrusted);
    bridge.start().await;
    let calls = ["get", "find", "get", "get"]
        .map(|tool| ToolUse::new(format!("mcp__srv__{tool}"), args(&json!({}))));
    let outcomes = bridge.snapshot().call_all(calls).await;
    assert!(outcomes.iter().all(|outcome| !outcome.is_error), "{outcomes:?}");
    assert_eq!((most.load(Ordering::SeqCst), asked.load(Ordering::SeqCst)), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn closures_work_as_policy_and_hooks() {
    let fake = Fake::new(&["get", "put"]);
    fake.on_call(|_, arguments| {
        Reply::Result(json!({"content": [], "structuredContent": arguments}))
    });
    let policy = |call: &PolicyCall<'_>| {
        let is_put = call.spec.name.ends_with("put");
        if is_put { Decision::Deny("read only".into()) } else { Decision::Allow }
    };
    let hook = before(|call| {
        call.arguments = args(&json!({"changed": true}));
        Verdict::Continue
    });
    let options = options(&fakes([("srv", &fake)]))
        .with_policy(policy)
        .with_hook(hook.matching("mcp__srv__get"))
        .with_hook(after(|_, outcome| outcome.is_error = false));
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(config("srv"));
    bridge.start().await;
    assert_eq!(call(&bridge, "mcp__srv__get").await.text_content(), r#"{"changed":true}"#);
    let denied = call(&bridge, "mcp__srv__put").await;
    assert_eq!((denied.failure_kind(), denied.is_error), (Some(FailureKind::Denied), false));
}

#[tokio::test(start_paused = true)]
async fn events_are_a_stream() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    let events = bridge.events();
    call(&bridge, "mcp__srv__a").await;
    let names: Vec<_> = events.take(2).map(|event| event.name()).collect().await;
    assert_eq!(names, ["tool.call", "tool.result"]);
    let mut waiting = bridge.events();
    assert_eq!(waiting.try_next(), None);
    let next = async { (waiting.next().await, waiting.next().await) };
    let ((first, second), _) = tokio::join!(next, call(&bridge, "mcp__srv__a"));
    assert!(matches!(first, Some(Event::ToolCall { .. })));
    assert!(matches!(second, Some(Event::ToolResult { .. })));
    drop(bridge);
    assert_eq!(waiting.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn unknown_servers_and_taken_names_are_errors() {
    let bridge = one(&Fake::new(&["a"]), |_| {}).await;
    let unknown: UnknownServer = bridge.connect("nothing").unwrap_err();
    assert_eq!(unknown.to_string(), "unknown server: nothing");
    for result in [bridge.enable("x"), bridge.disable("x"), bridge.wake("x"), bridge.reconnect("x")]
    {
        assert!(result.is_err());
    }
    assert!(bridge.remove_server("x").await.is_err() && bridge.retire_server("x").is_err());
    let tool = bridge.snapshot().tools()[0].clone();
    let taken: NameTaken = bridge.add_tool(tool).unwrap_err();
    assert_eq!(taken.name, "mcp__srv__a");
}

#[cfg(feature = "testing")]
#[tokio::test(start_paused = true)]
async fn bridge_over_any_transport_is_started() {
    use crate::support::names;
    let bridge = mcp_bridge::testing::bridge_over(Fake::new(&["a"])).await;
    assert_eq!(names(&bridge), ["mcp__server__a"]);
    assert!(!call(&bridge, "mcp__server__a").await.is_error);
    let none = mcp_bridge::BridgeOptions::default().with_names(mcp_bridge::tool::NameScheme::Own);
    let plain = mcp_bridge::testing::bridge_with(none, Fake::new(&["a"])).await;
    assert_eq!(names(&plain), ["a"]);
}

/// Other programs read these shapes, so changing one is a breaking change.
#[test]
#[expect(clippy::too_many_lines, reason = "a row for each event")]
fn json_shapes_of_events_are_stable() {
    let s = || Arc::<str>::from("s");
    let t = || Arc::<str>::from("mcp__s__t");
    let (tool, reason) = (|| "t".to_owned(), || "why".to_owned());
    let events = [
        (
            Event::ServerConnecting { server: s(), attempt: 2 },
            json!({"event": "server.connecting", "server": "s", "attempt": 2}),
        ),
        (
            Event::ServerConnected { server: s(), tools: 2, generation: 1 },
            json!({"event": "server.connected", "server": "s", "tools": 2, "generation": 1}),
        ),
        (
            Event::ServerDisconnected { server: s() },
            json!({"event": "server.disconnected", "server": "s"}),
        ),
        (
            Event::ServerError { server: s(), problem: "p".into(), class: ErrorClass::Transient },
            json!({"event": "server.error", "server": "s", "problem": "p", "class": "transient"}),
        ),
        (Event::NeedsAuth { server: s() }, json!({"event": "server.needsAuth", "server": "s"})),
        (
            Event::ListChanged { server: s(), added: 1, removed: 2, changed: 3 },
            json!({"event": "server.listChanged", "server": "s", "added": 1, "removed": 2, "changed": 3}),
        ),
        (
            Event::ListsFetched { server: s() },
            json!({"event": "server.listsFetched", "server": "s"}),
        ),
        (
            Event::ListCut { server: s(), kept: 9 },
            json!({"event": "server.listCut", "server": "s", "kept": 9}),
        ),
        (
            Event::Quarantined { server: s(), tool: tool(), reason: reason() },
            json!({"event": "tool.quarantined", "server": "s", "tool": "t", "reason": "why"}),
        ),
        (
            Event::DescriptionRedacted { server: s(), tool: tool() },
            json!({"event": "tool.descriptionRedacted", "server": "s", "tool": "t"}),
        ),
        (
            Event::NameTaken { server: s(), tool: tool(), name: "n".into() },
            json!({"event": "tool.nameTaken", "server": "s", "tool": "t", "name": "n"}),
        ),
        (
            Event::InstructionsCut { server: s() },
            json!({"event": "server.instructionsCut", "server": "s"}),
        ),
        (
            Event::ToolCall { tool: t(), call: 3 },
            json!({"event": "tool.call", "tool": "mcp__s__t", "call": 3}),
        ),
        (
            Event::ToolResult {
                tool: t(),
                call: 3,
                is_error: true,
                failure: Some(FailureKind::TimedOut),
                took: Duration::from_millis(1_500),
            },
            json!({"event": "tool.result", "tool": "mcp__s__t", "call": 3, "isError": true,
                "failure": "timed_out", "tookMs": 1500}),
        ),
        (
            Event::ToolLoaded { tool: t() },
            json!({"event": "tool.dynamicLoad", "tool": "mcp__s__t"}),
        ),
        (Event::ToolSearch { results: 4 }, json!({"event": "tool.search", "results": 4})),
        (
            Event::Denied { tool: t(), permission: "mcp:s:t".into(), message: "m".into() },
            json!({"event": "tool.denied", "tool": "mcp__s__t", "permission": "mcp:s:t", "message": "m"}),
        ),
        (
            Event::DefinitionChanged { server: s(), tool: tool(), permission: "mcp:s:t".into() },
            json!({"event": "tool.definitionChanged", "server": "s", "tool": "t", "permission": "mcp:s:t"}),
        ),
        (
            Event::Queued { tool: t(), id: 5 },
            json!({"event": "tool.queued", "tool": "mcp__s__t", "id": 5}),
        ),
        (
            Event::Truncated { tool: t(), chars: 6 },
            json!({"event": "tool.truncated", "tool": "mcp__s__t", "chars": 6}),
        ),
        (
            Event::Repaired { tool: t(), changes: 1 },
            json!({"event": "tool.repaired", "tool": "mcp__s__t", "changes": 1}),
        ),
        (
            Event::Unchecked { tool: t(), reason: "why".into() },
            json!({"event": "tool.unchecked", "tool": "mcp__s__t", "reason": "why"}),
        ),
        (
            Event::Retried { tool: t(), failures: 2 },
            json!({"event": "tool.retried", "tool": "mcp__s__t", "failures": 2}),
        ),
        (
            Event::FailedCall { tool: t(), kind: FailureKind::Unavailable },
            json!({"event": "tool.deadLetter", "tool": "mcp__s__t", "failure": "unavailable"}),
        ),
        (Event::Missed(7), json!({"event": "missed", "events": 7})),
    ];
    for (event, shape) in &events {
        assert_eq!(json_of(event), *shape);
    }
    let source = include_str!("../../src/events.rs");
    let names = source.matches(" => \"").count();
    assert_eq!(events.len(), names, "every event has a row here");
}

/// As above.
#[test]
fn json_shapes_are_stable() {
    assert_eq!(json_of(&ServerState::Idle), json!({"state": "idle"}));
    assert_eq!(
        json_of(&ServerState::Connecting { attempt: 2 }),
        json!({"state": "connecting", "attempt": 2})
    );
    assert_eq!(
        json_of(&ServerState::Failed { next_try: None }),
        json!({"state": "failed", "nextTryInMs": null})
    );
    let rules = Rules::new([vec![Rule::new("mcp:*", Action::Ask)], vec![]]);
    let written = json!([[{"permission": "mcp:*", "pattern": "*", "action": "ask"}], []]);
    assert_eq!(json_of(&rules), written);
    assert_eq!(serde_json::from_value::<Rules>(written).unwrap(), rules);
    let short = json!({"permission": "host:x", "action": "deny"});
    assert_eq!(serde_json::from_value::<Rule>(short).unwrap(), Rule::new("host:x", Action::Deny));
    let odd = json!({"permission": "host:x", "action": "maybe"});
    assert!(serde_json::from_value::<Rule>(odd).is_err());
}

#[tokio::test(start_paused = true)]
async fn status_explanations_and_counters_are_json() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(|| mcp_transport::ConnectError::InvalidOptions("broken".into())));
    let bridge = one(&fake, |_| {}).await;
    assert_eq!(
        json_of(&bridge.status()[0]),
        json!({"name": "srv", "state": "failed", "nextTryInMs": null, "tools": 0, "quarantined": 0,
            "generation": 0, "problem": "broken", "down": true, "class": "permanent"})
    );
    assert_eq!(
        json_of(&bridge.explain("srv").unwrap()),
        json!({"servers": ["srv"], "state": "failed", "cause": "broken",
            "evidence": ["phase: connect"],
            "nextStep": "change its configuration, then reconnect it by hand"})
    );
    assert_eq!(
        json_of(&bridge.counters()),
        json!({"calls": 0, "toolErrors": 0, "failures": 0, "retries": 0, "repairs": 0,
            "truncations": 0, "searches": 0, "connects": 0, "connectionErrors": 1})
    );
    let missing = bridge.call("x", args(&json!({})), CallContext::default()).await;
    assert!(missing.is_error);
}
