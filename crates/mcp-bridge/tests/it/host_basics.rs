//! Basics for the author of a host: logins, approvers, traces, tools that are not loaded, sub-agents.

use std::sync::{Arc, Mutex};

use mcp_bridge::{
    Approval, ApprovalRequest, Bridge, BridgeOptions, CallContext, ConversationOptions,
    FailureKind, OutputLimits, RawJson, ServerState, ToolOutcome,
    connect::{DefaultConnector, LoginFailure},
    error::OfferError,
    offers::Mention,
    tool::{LogLevel, Note},
};
use mcp_transport::{
    ConnectError,
    record::{Cassette, Recorder, Replay},
};
use serde_json::json;

use crate::{
    lifecycle::{WithLogin, login_needed},
    support::{Fake, Reply, all, args, call, config, fakes, names, one, options, tool},
};

async fn with_login(fake: &Fake) -> Bridge {
    fake.refuse(Some(login_needed));
    one(fake, |options| options.connector = Arc::new(WithLogin(fake.clone()))).await
}

#[tokio::test(start_paused = true)]
async fn login_tool_returns_once_tools_are_available_and_lists_them() {
    let fake = Fake::new(&["a", "b"]);
    fake.starts_in(std::time::Duration::from_secs(3));
    let bridge = with_login(&fake).await;
    let outcome = call(&bridge, "mcp__srv__authenticate").await;
    let text = "open https://login.test/\nlogged in to srv; its tools: mcp__srv__a, mcp__srv__b";
    assert_eq!(outcome.text_content(), text);
    assert_eq!(names(&bridge), ["mcp__srv__a", "mcp__srv__b"]);
}

#[tokio::test(start_paused = true)]
async fn login_returns_the_settled_status_and_typed_failures() {
    let fake = Fake::new(&["a"]);
    let bridge = with_login(&fake).await;
    let status = bridge.login("srv", Arc::new(|_| {})).await.unwrap();
    assert_eq!((status.state, status.tools), (ServerState::Connected, 1));
    // A login that does not help settles too, and a second login is possible.
    fake.refuse_once(ConnectError::Unavailable("out of order".into()));
    let status = bridge.login("srv", Arc::new(|_| {})).await.unwrap();
    assert_ne!(status.state, ServerState::Connected);
    assert!(status.problem.unwrap().contains("out of order"));
    let unknown = bridge.login("nothing", Arc::new(|_| {})).await;
    assert!(matches!(unknown, Err(LoginFailure::UnknownServer(name)) if name == "nothing"));
    let plain = one(&Fake::new(&["a"]), |_| {}).await;
    let none = plain.login("srv", Arc::new(|_| {})).await;
    assert!(matches!(none, Err(LoginFailure::NoLogin(_))), "{none:?}");
}

#[tokio::test(start_paused = true)]
async fn default_approver_tells_the_host_and_not_the_model_which_option_to_set() {
    let fake = Fake::new(&["a"]);
    let bridge = Bridge::new(options(&fakes([("srv", &fake)])));
    let mut untrusted = config("srv");
    untrusted.trust = false;
    bridge.add_server_as_written(untrusted);
    bridge.start().await;
    let mut events = bridge.events();
    let denied = call(&bridge, "mcp__srv__a").await;
    assert_eq!(denied.failure_kind(), Some(FailureKind::Denied));
    assert_eq!(denied.text_content(), "denied: no user was asked");
    let told = format!("{:?}", all(&mut events));
    assert!(told.contains("BridgeOptions::approver"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn closure_approves_calls() {
    let fake = Fake::new(&["read", "write"]);
    let approver = |request: ApprovalRequest| async move {
        if request.permission == "mcp:srv:read" { Approval::Once } else { Approval::Deny }
    };
    let options = options(&fakes([("srv", &fake)])).with_approver(approver);
    let bridge = Bridge::new(options);
    let mut untrusted = config("srv");
    untrusted.trust = false;
    bridge.add_server_as_written(untrusted);
    bridge.start().await;
    assert!(!call(&bridge, "mcp__srv__read").await.is_error);
    assert_eq!(call(&bridge, "mcp__srv__write").await.text_content(), "denied: the user said no");
}

fn traced() -> CallContext {
    let mut context = CallContext::default();
    context.trace_parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().ok();
    context.trace_state = Some("vendor=1".into());
    context.meta = RawJson::parse(
        r#"{"example.com/widget":{"a":1},"io.modelcontextprotocol/clientInfo":{},"tracestate":"x"}"#,
    )
    .ok();
    context
}

#[tokio::test(start_paused = true)]
async fn trace_context_and_meta_are_sent_as_given() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    bridge.call("mcp__srv__a", args(&json!({})), traced()).await;
    let mut meta = fake.seen("tools/call")[0]["_meta"].clone();
    meta.as_object_mut().unwrap().remove("progressToken");
    assert_eq!(
        meta,
        json!({"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "tracestate": "vendor=1", "example.com/widget": {"a": 1}})
    );
}

#[tokio::test(start_paused = true)]
async fn meta_of_a_tool_and_of_a_result_reach_the_host() {
    let fake = Fake::new(&[]);
    fake.tools(json!([{"name": "a", "inputSchema": {"type": "object"},
        "_meta": {"ui": {"resourceUri": "ui://a"}}}]));
    fake.on_call(|_, _| Reply::Result(json!({"content": [], "_meta": {"cost": 3}})));
    let bridge = one(&fake, |_| {}).await;
    let turn = bridge.snapshot();
    let meta = turn.tools()[0].spec().meta.clone().unwrap();
    assert_eq!(meta.as_str(), r#"{"ui":{"resourceUri":"ui://a"}}"#);
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert_eq!(outcome.meta.unwrap().as_str(), r#"{"cost":3}"#);
}

async fn over(connect: Arc<dyn mcp_transport::Connect>) -> Bridge {
    let connector = DefaultConnector::new().register("srv", connect);
    let bridge = Bridge::new(BridgeOptions::default().with_connector(connector));
    bridge.add_server_as_written(config("srv"));
    bridge.start().await;
    bridge
}

#[tokio::test(start_paused = true)]
async fn traced_call_is_replayed() {
    let fake = Fake::new(&["a"]);
    let recorder = Arc::new(Recorder::new(fake.clone()));
    let live = over(recorder.clone()).await;
    live.call("mcp__srv__a", args(&json!({"x": 1})), traced()).await;
    live.shutdown().await;
    let cassette: Cassette = recorder.cassette().to_string().parse().unwrap();
    let played = over(Arc::new(Replay::new(cassette))).await;
    let mut other = CallContext::default();
    other.trace_parent = Some(mcp_bridge::tool::TraceParent::new());
    other.meta = traced().meta;
    let outcome = played.call("mcp__srv__a", args(&json!({"x": 1})), other).await;
    assert_eq!(outcome.text_content(), "done");
}

fn thirty() -> Fake {
    let names: Vec<String> = (0..30).map(|n| format!("get_thing_{n}")).collect();
    Fake::new(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[tokio::test(start_paused = true)]
async fn calling_a_known_tool_by_name_through_a_snapshot_loads_it() {
    let fake = thirty();
    let bridge = one(&fake, |_| {}).await;
    let turn = bridge.snapshot();
    assert!(turn.is_lazy() && turn.get("mcp__srv__get_thing_7").is_none());
    let outcome =
        turn.call("mcp__srv__get_thing_7", args(&json!({})), CallContext::default()).await;
    assert_eq!(outcome.text_content(), "done");
    assert!(bridge.snapshot().get("mcp__srv__get_thing_7").is_some());
    assert_eq!(bridge.conversation().loaded(), ["mcp__srv__get_thing_7"]);
}

#[tokio::test(start_paused = true)]
async fn denied_tool_is_not_loaded_by_a_call() {
    use mcp_bridge::trust::{Action, Rule, Rules, TrustPolicy};
    let fake = thirty();
    let deny = Rules::new([vec![Rule::new("mcp:srv:get_thing_7", Action::Deny)]]);
    let bridge = one(&fake, |options| options.policy = Arc::new(TrustPolicy::new(deny))).await;
    let denied = call(&bridge, "mcp__srv__get_thing_7").await;
    assert_eq!(denied.failure_kind(), Some(FailureKind::Denied));
    assert!(bridge.conversation().loaded().is_empty());
}

#[tokio::test(start_paused = true)]
async fn resumed_conversation_restores_its_loaded_tools_with_one_call() {
    let fake = thirty();
    let first = one(&fake, |_| {}).await;
    for tool in ["mcp__srv__get_thing_9", "mcp__srv__get_thing_2"] {
        call(&first, tool).await;
    }
    let (kept, shown) = (first.conversation().loaded(), names(&first));
    // Restored before the server is connected: the tools appear with it.
    let again = Bridge::new(options(&fakes([("srv", &fake)])));
    again.conversation().restore(&kept);
    again.add_server_as_written(config("srv"));
    again.start().await;
    assert_eq!(names(&again), shown);
}

#[tokio::test(start_paused = true)]
async fn unknown_tool_is_answered_with_the_nearest_names() {
    let bridge = one(&Fake::new(&["create_issue", "close_issue"]), |_| {}).await;
    let turn = bridge.snapshot();
    let outcome =
        turn.call("mcp__srv__create_isue", args(&json!({})), CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::NotFound));
    let text = outcome.text_content();
    assert!(text.contains("did you mean mcp__srv__create_issue"), "{text}");
    let hidden = bridge
        .start_conversation(ConversationOptions::default().with_deny(["mcp:srv:create_issue"]));
    let outcome =
        hidden.call("mcp__srv__create_isue", args(&json!({})), CallContext::default()).await;
    assert!(!outcome.text_content().contains("create_issue"), "{outcome}");
}

#[tokio::test(start_paused = true)]
async fn connected_server_is_asked_once_for_a_tool_it_did_not_list() {
    let fake = Fake::new(&["one"]);
    let bridge = one(&fake, |_| {}).await;
    assert_eq!(fake.seen("tools/list").len(), 1);
    fake.tools(json!([tool("one"), tool("two")]));
    assert_eq!(call(&bridge, "mcp__srv__two").await.text_content(), "done");
    assert_eq!(fake.seen("tools/list").len(), 2);
    for _ in 0..3 {
        assert!(call(&bridge, "mcp__srv__three").await.is_error);
    }
    assert_eq!(fake.seen("tools/list").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn cached_server_is_started_before_a_tool_is_reported_unknown() {
    let (fake, folder) = (Fake::new(&["one"]), tempfile::tempdir().unwrap());
    let remember = |options: &mut BridgeOptions| {
        options.catalogue = Some(folder.path().to_owned());
        options.lazy_start = true;
    };
    let first = one(&fake, remember).await;
    call(&first, "mcp__srv__one").await;
    first.shutdown().await;
    fake.tools(json!([tool("one"), tool("two")]));
    let again = one(&fake, remember).await;
    assert_eq!((names(&again), fake.connects()), (vec!["mcp__srv__one".to_owned()], 1));
    let denied = again.start_conversation(ConversationOptions::default().with_allow(["host:*"]));
    let outcome = denied.call("mcp__srv__two", args(&json!({})), CallContext::default()).await;
    assert!(outcome.is_error && fake.connects() == 1, "a filtered tool does not start the server");
    assert_eq!(call(&again, "mcp__srv__two").await.text_content(), "done");
    assert_eq!(fake.connects(), 2);
}

async fn call_in(conversation: &mcp_bridge::Conversation, tool: &str) -> ToolOutcome {
    conversation.call(tool, args(&json!({})), CallContext::default()).await
}

#[tokio::test(start_paused = true)]
async fn derived_conversation_inherits_plan_mode_and_filters() {
    let bridge = one(&Fake::new(&["create_x", "get_x", "get_y"]), |_| {}).await;
    let main =
        bridge.start_conversation(ConversationOptions::default().with_deny(["mcp:srv:get_y"]));
    let sub = main.derive(ConversationOptions::default().with_name("reader"));
    let deeper = sub
        .derive(ConversationOptions::default().with_allow(["mcp:srv:get_*", "mcp:srv:create_*"]));
    main.set_plan_mode(true);
    for conversation in [&main, &sub, &deeper] {
        assert!(conversation.is_planning());
        let queued = call_in(conversation, "mcp__srv__create_x").await;
        assert_eq!(queued.failure_kind(), Some(FailureKind::Queued));
        assert_eq!(conversation.planned().len(), 1);
        let hidden = call_in(conversation, "mcp__srv__get_y").await;
        assert_eq!(hidden.failure_kind(), Some(FailureKind::NotFound));
    }
    main.set_plan_mode(false);
    assert_eq!(call_in(&deeper, "mcp__srv__create_x").await.text_content(), "done");
    sub.set_plan_mode(true);
    assert!(!main.is_planning() && deeper.is_planning());
    let unrelated = bridge.start_conversation(ConversationOptions::default());
    assert_eq!(unrelated.snapshot().tools().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn known_need_for_a_login_is_part_of_explain_all() {
    let fake = Fake::new(&["a"]);
    drop(with_login(&fake).await);
    let again = with_login(&fake).await;
    assert_eq!(fake.connects(), 1, "no connection attempt");
    let all = again.explain_all();
    assert_eq!((all.len(), &*all[0].servers[0]), (1, "srv"));
    assert_eq!(all[0].cause, "it is known to need a login");
}

#[tokio::test(start_paused = true)]
async fn unknown_commands_and_servers_are_errors_with_suggestions() {
    let fake = Fake::new(&["a"]);
    fake.prompts(json!([{"name": "review_pr"}]));
    let bridge = one(&fake, |_| {}).await;
    let error = bridge.run_command("/mcp__srv__reviewpr", &[]).await.unwrap_err();
    let OfferError::UnknownCommand { name, nearest } = &error else { panic!("{error:?}") };
    assert_eq!((name.as_str(), nearest[0].as_str()), ("mcp__srv__reviewpr", "mcp__srv__review_pr"));
    assert!(error.to_string().contains("did you mean mcp__srv__review_pr"), "{error}");
    let error = bridge.read_resource("nothing", "a:b").await.unwrap_err();
    assert_eq!(error.to_string(), "unknown server: nothing");
}

#[tokio::test(start_paused = true)]
async fn attached_resource_is_limited_and_redacted() {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "file:///x", "name": "x"}]));
    fake.content("Authorization: Bearer abcDEF0123456789xyz\n".to_owned() + &"x".repeat(1_000));
    let limits = OutputLimits::default().with_max_chars(300);
    let bridge = one(&fake, |options| options.output = limits).await;
    let mention: Mention = bridge.resources().await[0].mention().to_string().parse().unwrap();
    let attached = bridge.attach(&mention).await.unwrap();
    let text = attached.text_content();
    assert!(text.starts_with("Authorization: Bearer [redacted]"), "{text}");
    assert!(text.contains("characters cut"), "{text}");
    assert!(attached.notes.contains(&Note::Redacted));
    let whole = bridge.read_resource("srv", "file:///x").await.unwrap();
    assert!(
        whole.contents[0].text.as_ref().unwrap().contains("abcDEF"),
        "the API returns the full text"
    );
}

#[tokio::test(start_paused = true)]
async fn log_lines_of_a_server_reach_the_call_in_flight() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| {
        Reply::Logged(json!({"level": "warning", "logger": "cache", "data": "cold"}))
    });
    let bridge = one(&fake, |_| {}).await;
    let (heard, mut context) = (Arc::new(Mutex::new(Vec::new())), CallContext::default());
    let hearing = heard.clone();
    context.on_log = Some(Arc::new(move |level: LogLevel, logger: Option<&str>, data: RawJson| {
        let line = format!("{level} {} {}", logger.unwrap_or_default(), data.as_str());
        hearing.lock().unwrap().push(line);
    }));
    bridge.call("mcp__srv__a", args(&json!({})), context).await;
    assert_eq!(*heard.lock().unwrap(), [r#"warning cache "cold""#]);
}
