//! Snapshots: the tools of a turn, and calls made in it.

use std::time::Duration;

use mcp_bridge::{CallContext, ConversationOptions, FailureKind, RawJson, ServerState, tool::Note};
use mcp_client::Delivery;
use serde_json::json;

use crate::support::{
    Fake, Reply, args, call, config, fakes, names, one, options, reached, settled, tool,
};

#[tokio::test(start_paused = true)]
async fn server_tool_implements_the_tool_trait() {
    let fake = Fake::new(&["echo"]);
    fake.on_call(|name, arguments| {
        assert_eq!(name, "echo");
        Reply::Result(json!({"content": [{"type": "text", "text": arguments["x"]}]}))
    });
    let bridge = one(&fake, |_| {}).await;
    assert_eq!(names(&bridge), ["mcp__srv__echo"]);
    let turn = bridge.snapshot();
    let tool = turn.get("mcp__srv__echo").unwrap();
    let outcome = tool.call(args(&json!({"x": "hello"})), CallContext::default()).await;
    assert_eq!((outcome.text_content().as_str(), outcome.is_error), ("hello", false));
    let nobody = turn.call("nobody", RawJson::empty_object(), CallContext::default()).await;
    assert_eq!(nobody.failure_kind(), Some(FailureKind::NotFound));
}

#[tokio::test(start_paused = true)]
async fn current_turn_keeps_tools_of_a_dead_server_and_the_next_has_none() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    let turn = bridge.snapshot();
    fake.refuse(Some(|| mcp_transport::ConnectError::Unavailable("down".into())));
    fake.kill();
    reached(&bridge, "srv", ServerState::is_pending).await;
    assert_eq!(turn.tools().len(), 1);
    let outcome = turn.call("mcp__srv__a", RawJson::empty_object(), CallContext::default()).await;
    assert_eq!(outcome.text_content(), "mcp server srv is unavailable");
    assert_eq!(outcome.failure.unwrap().delivery, Delivery::NotSent);
    assert!(names(&bridge).is_empty());
    fake.refuse(None);
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn list_change_is_visible_in_the_next_turn_only() {
    let fake = Fake::new(&["a", "b"]);
    let bridge = one(&fake, |_| {}).await;
    let turn = bridge.snapshot();
    let before = turn.get("mcp__srv__a").unwrap().spec().generation;
    fake.tools(json!([tool("c"), {"name": "a", "description": "Does evil."}]));
    for _ in 0..500 {
        fake.notify("notifications/tools/list_changed");
    }
    let lists = fake.seen("tools/list").len();
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(fake.seen("tools/list").len(), lists + 1, "many changes cause one fetch");
    assert_eq!(turn.tools().len(), 2, "the current turn is unchanged");
    for name in ["mcp__srv__a", "mcp__srv__b"] {
        let sent = turn.call(name, RawJson::empty_object(), CallContext::default()).await;
        assert_eq!(sent.text_content(), "done", "{name}");
        assert_eq!(sent.notes, [Note::DefinitionChanged], "{name}");
    }
    assert_eq!(fake.calls(), 2);
    assert_eq!(names(&bridge), ["mcp__srv__a", "mcp__srv__c"], "additions come last");
    assert!(bridge.snapshot().get("mcp__srv__a").unwrap().spec().generation > before);
}

#[tokio::test(start_paused = true)]
async fn tools_are_in_configuration_order_after_reconnects() {
    let (slow, quick) = (Fake::new(&["z", "a"]), Fake::new(&["m"]));
    slow.starts_in(Duration::from_secs(5));
    let bridge = mcp_bridge::Bridge::new(options(&fakes([("slow", &slow), ("quick", &quick)])));
    bridge.add_server_as_written(config("slow"));
    bridge.add_server_as_written(config("quick"));
    bridge.start().await;
    let expected = ["mcp__slow__z", "mcp__slow__a", "mcp__quick__m"];
    assert_eq!(names(&bridge), expected);
    slow.tools(json!([tool("a"), tool("z")]));
    slow.kill();
    reached(&bridge, "slow", ServerState::is_pending).await;
    reached(&bridge, "slow", ServerState::is_connected).await;
    assert_eq!(names(&bridge), expected);
    let (one, other) = (bridge.snapshot(), bridge.snapshot());
    assert_eq!(one.version(), other.version());
    assert!(std::ptr::eq(one.tools(), other.tools()), "the list is built once");
}

#[tokio::test(start_paused = true)]
async fn conversations_share_the_connection_and_have_separate_filters() {
    let fake = Fake::new(&["read_x", "write_x"]);
    let bridge = one(&fake, |_| {}).await;
    let mut only_reading = ConversationOptions::default();
    only_reading.allow = vec!["mcp:srv:read_*".into()];
    let conversation = bridge.start_conversation(only_reading);
    let tools: Vec<_> =
        conversation.snapshot().tools().iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(tools, ["mcp__srv__read_x"]);
    let hidden = conversation
        .call("mcp__srv__write_x", RawJson::empty_object(), CallContext::default())
        .await;
    assert_eq!(hidden.failure_kind(), Some(FailureKind::NotFound));
    assert!(!call(&bridge, "mcp__srv__write_x").await.is_error);
    assert_eq!(fake.connects(), 1);
    settled().await;
}
