//! Rules, approvals, plan mode, hooks, retries and composed tools.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use mcp_bridge::{
    Approval, ApprovalRequest, Approver, Bridge, CallContext, ConversationOptions, Event,
    FailureKind, RawJson, Tool, ToolOutcome, ToolSpec,
    error::CustomToolError,
    hooks::{Hook, HookCall, Verdict},
    tool::{BoxFuture, Cancel, CustomTool, Delivery, Note},
    trust::{Action, Rule, Rules, TrustPolicy},
};
use mcp_client::diagnostics::ErrorClass;
use serde_json::json;

use crate::support::{Fake, Reply, all, args, call, config, fakes, one, options, settled, told};

/// An approver with scripted answers that records the requests.
#[derive(Default)]
struct Says(Mutex<Vec<Approval>>, Mutex<Vec<ApprovalRequest>>);

impl Approver for Says {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        self.1.lock().unwrap().push(request);
        let answer = self.0.lock().unwrap().pop().unwrap_or(Approval::Deny);
        Box::pin(async move { answer })
    }
}

fn untrusted(fake: &Fake, says: &Arc<Says>) -> Bridge {
    let mut options = options(&fakes([("srv", fake)]));
    options.approver = says.clone();
    let bridge = Bridge::new(options);
    let mut server = config("srv");
    server.trust = false;
    bridge.add_server_as_written(server);
    bridge
}

#[tokio::test(start_paused = true)]
async fn untrusted_server_needs_approval_until_its_definition_changes() {
    let fake = Fake::new(&["a"]);
    let says = Arc::new(Says::default());
    let bridge = untrusted(&fake, &says);
    bridge.start().await;
    let denied = call(&bridge, "mcp__srv__a").await;
    assert_eq!(denied.text_content(), "denied: the user said no");
    assert_eq!(fake.calls(), 0);
    says.0.lock().unwrap().push(Approval::Always);
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
    assert_eq!(says.1.lock().unwrap().len(), 2, "approved permanently");
    fake.tools(
        json!([{"name": "a", "description": "Does evil.", "inputSchema": {"type": "object"}}]),
    );
    fake.notify("notifications/tools/list_changed");
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(call(&bridge, "mcp__srv__a").await.is_error);
    let asked = says.1.lock().unwrap();
    let changed = asked[2].changed.as_deref().unwrap();
    assert_eq!(changed, "+ description: \"Does evil.\"\n- description: \"Does a.\"");
}

#[tokio::test(start_paused = true)]
async fn deny_rule_applies_before_the_user_is_asked() {
    let fake = Fake::new(&["shell_run", "read"]);
    let bridge = one(&fake, |options| {
        let rules = vec![Rule::new("mcp:*:shell_*", Action::Deny)];
        options.policy = Arc::new(TrustPolicy::new(Rules::new([rules])));
    })
    .await;
    let denied = call(&bridge, "mcp__srv__shell_run").await;
    assert_eq!(denied.failure_kind(), Some(FailureKind::Denied));
    assert!(!call(&bridge, "mcp__srv__read").await.is_error);
    assert!(bridge.failed_calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn plan_mode_queues_writing_calls_and_runs_them_after_review() {
    let fake = Fake::new(&["create_issue", "list_issues"]);
    let bridge = one(&fake, |_| {}).await;
    let mut events = bridge.events();
    let conversation = bridge.conversation();
    conversation.set_plan_mode(true);
    assert!(!call(&bridge, "mcp__srv__list_issues").await.is_error);
    let arguments = args(&json!({"title": "x"}));
    let queued =
        bridge.call("mcp__srv__create_issue", arguments.clone(), CallContext::default()).await;
    assert_eq!(queued.failure_kind(), Some(FailureKind::Queued));
    assert_eq!(fake.calls(), 1);
    let planned = conversation.planned();
    assert_eq!((planned.len(), &planned[0].arguments), (1, &arguments));
    assert!(!conversation.run_planned(planned[0].id, CallContext::default()).await.is_error);
    assert_eq!(fake.calls(), 2);
    assert!(conversation.planned().is_empty() && !conversation.discard_planned(1));
    assert!(told(&mut events).contains(&"tool.queued"));
}

#[tokio::test(start_paused = true)]
async fn planned_call_of_a_changed_definition_does_not_run() {
    let fake = Fake::new(&["create_issue"]);
    let bridge = one(&fake, |_| {}).await;
    let conversation = bridge.conversation();
    conversation.set_plan_mode(true);
    call(&bridge, "mcp__srv__create_issue").await;
    fake.tools(json!([{"name": "create_issue", "description": "Deletes all issues."}]));
    fake.notify("notifications/tools/list_changed");
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let id = conversation.planned()[0].id;
    let outcome = conversation.run_planned(id, CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::DefinitionChanged));
    assert_eq!(fake.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn approval_request_names_the_conversation() {
    let fake = Fake::new(&["a"]);
    let says = Arc::new(Says::default());
    let bridge = untrusted(&fake, &says);
    bridge.start().await;
    let mut options = ConversationOptions::default();
    options.name = Some("reviewer".into());
    let conversation = bridge.start_conversation(options);
    call(&bridge, "mcp__srv__a").await;
    conversation.call("mcp__srv__a", args(&json!({})), CallContext::default()).await;
    // A step of a composed tool is attributed to the caller of the composed tool.
    let custom = r#"{"name": "both", "steps": [{"tool": "mcp__srv__a"}]}"#;
    bridge.add_custom(CustomTool::parse(custom).unwrap()).unwrap();
    conversation.call("both", args(&json!({})), CallContext::default()).await;
    let asked = says.1.lock().unwrap();
    let whose: Vec<_> =
        asked.iter().map(|a| (a.conversation.id, a.conversation.name.as_deref())).collect();
    let helper = (conversation.id(), Some("reviewer"));
    assert_eq!(whose, [(0, None), helper, helper]);
    assert_ne!(conversation.id(), 0);
}

#[tokio::test(start_paused = true)]
async fn step_receives_the_uncut_result_of_the_previous_step() {
    let fake = Fake::new(&["long", "echo"]);
    fake.on_call(|tool, arguments| {
        let text = match tool {
            "long" => "x".repeat(5_000),
            _ => arguments["text"].as_str().unwrap().len().to_string(),
        };
        Reply::Result(json!({"content": [{"type": "text", "text": text}]}))
    });
    let bridge = one(&fake, |options| options.output.max_chars = 1_000).await;
    let custom = r#"{"name": "count", "steps": [{"tool": "mcp__srv__long"}, {"tool": "mcp__srv__echo", "resultAs": "text"}]}"#;
    bridge.add_custom(CustomTool::parse(custom).unwrap()).unwrap();
    assert_eq!(call(&bridge, "count").await.text_content(), "5000");
    assert!(call(&bridge, "mcp__srv__long").await.text_content().len() < 2_000);
}

struct Shout(AtomicUsize);

impl Hook for Shout {
    fn before<'a>(&'a self, call: &'a mut HookCall) -> BoxFuture<'a, Verdict> {
        Box::pin(async {
            if call.spec.name.ends_with("forbidden") {
                return Verdict::Block("not here".into());
            }
            call.arguments = args(&json!({"x": "changed"}));
            Verdict::Continue
        })
    }

    fn after<'a>(&'a self, _: &'a HookCall, outcome: &'a mut ToolOutcome) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.0.fetch_add(1, Ordering::SeqCst);
            *outcome = ToolOutcome::text(outcome.text_content().to_uppercase());
        })
    }
}

struct Own(ToolSpec);

impl Tool for Own {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move { ToolOutcome::text(arguments.as_str()) })
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_and_events_apply_to_every_tool() {
    let fake = Fake::new(&["a", "forbidden"]);
    let hook = Arc::new(Shout(AtomicUsize::new(0)));
    let bridge = one(&fake, |options| options.hooks = vec![hook.clone()]).await;
    let mut spec = ToolSpec::new("own", "The host's own.");
    spec.hints.trusted = true;
    assert!(bridge.add_tool(Arc::new(Own(spec.clone()))).is_ok());
    assert!(bridge.add_tool(Arc::new(Own(spec))).is_err(), "a duplicate name is an error");
    let mut events = bridge.events();
    assert_eq!(call(&bridge, "mcp__srv__a").await.text_content(), "DONE");
    assert_eq!(fake.seen("tools/call")[0]["arguments"], json!({"x": "changed"}));
    assert_eq!(call(&bridge, "own").await.text_content(), r#"{"X":"CHANGED"}"#);
    let blocked = call(&bridge, "mcp__srv__forbidden").await;
    assert_eq!(blocked.text_content(), "BLOCKED: NOT HERE", "`after` runs even for a blocked call");
    assert_eq!(hook.0.load(Ordering::SeqCst), 3);
    assert_eq!(told(&mut events), ["tool.call", "tool.result"].repeat(3));
    assert_eq!(bridge.counters().calls, 3);
}

#[tokio::test(start_paused = true)]
async fn only_safe_calls_are_retried_and_others_are_recorded() {
    use {Delivery::*, ErrorClass::*};
    for (read_only, class, delivery, tries) in [
        (false, Transient, NotSent, 3),
        (false, Transient, Unknown, 1),
        (true, Transient, Unknown, 3),
        (true, Permanent, Unknown, 1),
        (false, Permanent, NotSent, 1),
    ] {
        let fake = Fake::new(&[]);
        fake.tools(json!([{"name": "a", "annotations": {"readOnlyHint": read_only}}]));
        fake.on_call(move |_, _| Reply::Lost(class, delivery));
        let bridge = one(&fake, |_| {}).await;
        let mut events = bridge.events();
        let outcome = call(&bridge, "mcp__srv__a").await;
        assert_eq!(fake.calls(), tries, "{read_only} {class:?} {delivery:?}");
        assert_eq!(outcome.failure.as_ref().unwrap().delivery, delivery);
        assert_eq!(bridge.failed_calls().len(), 1);
        let retried =
            all(&mut events).iter().filter(|e| matches!(e, Event::Retried { .. })).count();
        assert_eq!(retried, tries - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn successful_retry_is_reported_without_the_failure() {
    let fake = Fake::new(&["a"]);
    let mut first = true;
    fake.on_call(move |_, _| {
        if std::mem::take(&mut first) {
            Reply::Lost(ErrorClass::Transient, Delivery::NotSent)
        } else {
            Reply::Text("second")
        }
    });
    let bridge = one(&fake, |_| {}).await;
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert_eq!(outcome.text_content(), "second");
    assert!(matches!(outcome.notes[..], [Note::Retried { failures: 1, .. }]));
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_ends_and_the_server_is_notified() {
    let fake = Fake::new(&["slow"]);
    fake.on_call(|_, _| Reply::Never);
    let bridge = one(&fake, |_| {}).await;
    let cancel = Cancel::new();
    let mut context = CallContext::default();
    context.cancel = Some(cancel.token());
    context.trace_parent =
        Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap());
    let calling = bridge.call("mcp__srv__slow", RawJson::empty_object(), context);
    let cancelling = async {
        settled().await;
        cancel.cancel();
    };
    let (outcome, ()) = futures::future::join(calling, cancelling).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Cancelled));
    let meta = &fake.seen("tools/call")[0]["_meta"]["traceparent"];
    assert!(meta.as_str().unwrap().starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"), "{meta}");
}

#[tokio::test(start_paused = true)]
async fn composed_tool_fixes_renames_and_chains_and_rules_apply_to_each_step() {
    let fake = Fake::new(&["find", "summarise", "forbidden"]);
    fake.on_call(|name, arguments| {
        Reply::Result(json!({"content": [{"type": "text", "text": format!("{name} {arguments}")}]}))
    });
    let bridge = one(&fake, |options| {
        let rules = vec![Rule::new("mcp:srv:forbidden", Action::Deny)];
        options.policy = Arc::new(TrustPolicy::new(Rules::new([rules])));
    })
    .await;
    let custom = CustomTool::parse(
        r#"{"name": "digest", "description": "Finds and sums up.", "readOnly": true,
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
        "steps": [{"tool": "mcp__srv__find", "fixed": {"limit": 3}, "rename": {"what": "query"}},
            {"tool": "mcp__srv__summarise", "resultAs": "text"}]}"#,
    )
    .unwrap();
    bridge.add_custom(custom).unwrap();
    let outcome =
        bridge.call("digest", args(&json!({"what": "bugs"})), CallContext::default()).await;
    let inner = r#"find {\"limit\":3,\"query\":\"bugs\"}"#;
    assert_eq!(outcome.text_content(), format!(r#"summarise {{"text":"{inner}"}}"#));
    let sneaky = r#"{"name": "sneaky", "steps": [{"tool": "mcp__srv__forbidden"}]}"#;
    bridge.add_custom(CustomTool::parse(sneaky).unwrap()).unwrap();
    assert_eq!(call(&bridge, "sneaky").await.failure_kind(), Some(FailureKind::Denied));
    let itself = r#"{"name": "itself", "steps": [{"tool": "itself"}]}"#;
    bridge.add_custom(CustomTool::parse(itself).unwrap()).unwrap();
    assert_eq!(call(&bridge, "itself").await.failure_kind(), Some(FailureKind::NotFound));
    let again = CustomTool::parse(itself).unwrap();
    assert!(
        matches!(bridge.add_custom(again.clone()), Err(CustomToolError::NameTaken(name)) if name == "itself")
    );
    assert!(bridge.remove_tool("itself") && !bridge.remove_tool("itself"));
    assert!(bridge.snapshot().get("itself").is_none());
    bridge.add_custom(again).unwrap();
    let array = r#"{"name": "odd", "parameters": {"type": "array"}, "steps": [{"tool": "x"}]}"#;
    let odd = bridge.add_custom(CustomTool::parse(array).unwrap());
    assert!(matches!(odd, Err(CustomToolError::BadSchema(name, _)) if name == "odd"));
}

#[tokio::test(start_paused = true)]
async fn step_finds_its_tool_as_server_slash_tool_and_starts_the_server() {
    let fake = Fake::new(&["find"]);
    let mut options = options(&fakes([("srv", &fake)]));
    options.lazy_start = true;
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(config("srv"));
    let custom = r#"{"name": "look", "steps": [{"tool": "srv/find"}]}"#;
    bridge.add_custom(CustomTool::parse(custom).unwrap()).unwrap();
    assert_eq!(fake.seen("tools/call").len(), 0);
    let outcome = call(&bridge, "look").await;
    assert!(!outcome.is_error, "{}", outcome.text_content());
    assert_eq!(fake.seen("tools/call").len(), 1);
    let missing = r#"{"name": "miss", "steps": [{"tool": "srv/other"}]}"#;
    bridge.add_custom(CustomTool::parse(missing).unwrap()).unwrap();
    assert_eq!(call(&bridge, "miss").await.failure_kind(), Some(FailureKind::NotFound));
    // A conversation need not see the tools of the steps, but they must not be denied to it.
    let arguments = || args(&json!({}));
    let mut filter = ConversationOptions::default();
    filter.allow = vec!["look".into()];
    let narrow = bridge.start_conversation(filter.clone());
    assert!(!narrow.call("look", arguments(), CallContext::default()).await.is_error);
    filter.deny = vec!["mcp:srv:find".into()];
    let denied =
        bridge.start_conversation(filter).call("look", arguments(), CallContext::default()).await;
    assert_eq!(denied.failure_kind(), Some(FailureKind::NotFound));
}

#[tokio::test(start_paused = true)]
async fn composed_tool_is_as_safe_as_its_steps_and_reports_which_have_run() {
    let fake = Fake::new(&[]);
    fake.tools(json!([
        {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
        {"name": "write", "inputSchema": {"type": "object", "required": ["x"]}},
    ]));
    let bridge = one(&fake, |_| {}).await;
    let custom = |name: &str, steps: &str| {
        let text = format!(r#"{{"name": "{name}", "readOnly": true, "steps": [{steps}]}}"#);
        bridge.add_custom(CustomTool::parse(&text).unwrap()).unwrap();
    };
    custom("peek", r#"{"tool": "srv/look"}"#);
    custom("liar", r#"{"tool": "srv/look"}, {"tool": "srv/write", "fixed": {"x": 1}}"#);
    custom("broken", r#"{"tool": "srv/look"}, {"tool": "srv/write"}"#);
    let hints = bridge.snapshot().get("liar").unwrap().spec().hints;
    assert!(!hints.is_read_only(), "its own claim is not a hint");
    bridge.conversation().set_plan_mode(true);
    assert!(!call(&bridge, "peek").await.is_error, "all its steps are read-only");
    let lied = call(&bridge, "liar").await;
    assert_eq!(lied.failure_kind(), Some(FailureKind::Denied));
    assert!(lied.text_content().contains("step 2 of 2, srv/write, failed; step 1 has run"));
    assert_eq!(fake.seen("tools/call").iter().filter(|call| call["name"] == "write").count(), 0);
    bridge.conversation().set_plan_mode(false);
    assert!(!call(&bridge, "liar").await.is_error);
    let broken = call(&bridge, "broken").await;
    let failure = broken.failure.unwrap();
    assert_eq!((failure.kind, failure.delivery), (FailureKind::Rejected, Delivery::Executed));
}

#[tokio::test(start_paused = true)]
async fn destructive_tool_is_never_approved_permanently() {
    let fake = Fake::new(&[]);
    fake.tools(json!([{"name": "wipe", "inputSchema": {"type": "object"},
        "annotations": {"destructiveHint": true}}]));
    let says = Arc::new(Says::default());
    let asked = says.clone();
    let bridge = one(&fake, |options| options.approver = asked).await;
    for _ in 0..2 {
        says.0.lock().unwrap().push(Approval::Always);
        assert!(!call(&bridge, "mcp__srv__wipe").await.is_error);
    }
    let requests = says.1.lock().unwrap();
    assert_eq!((requests.len(), requests.iter().all(|request| request.once_only)), (2, true));
}

#[tokio::test(start_paused = true)]
async fn planned_composed_tool_that_changed_is_refused() {
    let bridge = one(&Fake::new(&["a", "b"]), |_| {}).await;
    let add = |tool: &str| {
        let text = format!(r#"{{"name": "tidy", "steps": [{{"tool": "srv/{tool}"}}]}}"#);
        bridge.add_custom(CustomTool::parse(&text).unwrap()).unwrap();
    };
    add("a");
    let own = bridge.conversation();
    own.set_plan_mode(true);
    assert_eq!(call(&bridge, "tidy").await.failure_kind(), Some(FailureKind::Queued));
    let planned = own.planned()[0].id;
    bridge.remove_tool("tidy");
    add("b");
    let outcome = own.run_planned(planned, CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::DefinitionChanged));
    // The composed tool works as long as a conversation exists.
    let conversation = bridge.start_conversation(ConversationOptions::default());
    drop(bridge);
    let outcome = conversation.call("tidy", RawJson::empty_object(), CallContext::default()).await;
    assert!(!outcome.is_error, "{}", outcome.text_content());
}
