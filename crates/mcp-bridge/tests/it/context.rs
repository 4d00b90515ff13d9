//! Prompts, resources, instructions, subscriptions and elicitation.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_bridge::{
    Bridge, CallContext, ConversationOptions, ServerState,
    error::OfferError,
    tool::{BoxFuture, Handler},
};
use mcp_client::{CallError, ClientCapabilities, ElicitRequest, ElicitResult};
use mcp_transport::ConnectError;
use serde_json::json;

use crate::support::{
    Fake, Reply, args, call, config, fakes, names, one, options, reached, settled,
};

#[tokio::test(start_paused = true)]
async fn prompts_are_commands_with_arguments_and_completion() {
    let fake = Fake::new(&["a"]);
    fake.prompts(json!([{"name": "review pr", "description": "Reviews.",
        "arguments": [{"name": "repo", "required": true}, {"name": "focus"}]}]));
    let bridge = one(&fake, |_| {}).await;
    let commands = bridge.commands();
    assert_eq!((commands.len(), commands[0].name.as_str()), (1, "mcp__srv__review_pr"));
    let filled =
        bridge.run_command("/mcp__srv__review_pr", &["me/x", "speed", "and", "size"]).await;
    let text = filled.unwrap().messages[0].content.as_text().unwrap().to_owned();
    assert_eq!(text, r#"{"focus":"speed and size","repo":"me/x"}"#);
    let none = BTreeMap::new();
    let completed = bridge.complete("mcp__srv__review_pr", "repo", "m", &none).await.unwrap();
    assert_eq!(completed.values, ["one", "two"]);
    assert!(bridge.run_command("/nothing", &[]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn resources_are_listed_and_read_by_two_tools_and_can_be_attached() {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "file:///x", "name": "x", "description": "A file."}]));
    let bridge = one(&fake, |_| {}).await;
    assert_eq!(names(&bridge), ["mcp__srv__a", "list_mcp_resources", "read_mcp_resource"]);
    let listed = call(&bridge, "list_mcp_resources").await;
    assert!(listed.text_content().contains(r#""uri":"file:///x""#), "{listed}");
    let which = args(&json!({"server": "srv", "uri": "file:///x"}));
    let read = bridge.call("read_mcp_resource", which, CallContext::default()).await;
    assert_eq!(read.text_content(), "contents");
    assert_eq!(bridge.resources().await[0].mention().to_string(), "@srv:file:///x");
    let unknown = args(&json!({"server": "unknown", "uri": "x"}));
    assert!(bridge.call("read_mcp_resource", unknown, CallContext::default()).await.is_error);
}

#[tokio::test(start_paused = true)]
async fn conversation_cannot_read_resources_of_a_denied_server() {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "file:///x", "name": "x"}]));
    let bridge = one(&fake, |_| {}).await;
    let mut options = ConversationOptions::default();
    options.deny = vec!["mcp:srv:*".into()];
    let conversation = bridge.start_conversation(options);
    let ask = |tool: &'static str, arguments| {
        let conversation = conversation.clone();
        async move { conversation.call(tool, args(&arguments), CallContext::default()).await }
    };
    let listed = ask("list_mcp_resources", json!({})).await;
    assert_eq!(listed.text_content(), r#"{"resources":[]}"#);
    let read = ask("read_mcp_resource", json!({"server": "srv", "uri": "file:///x"})).await;
    assert_eq!(read.text_content(), "unknown server");
}

#[tokio::test(start_paused = true)]
async fn instructions_are_sanitized_truncated_and_share_the_limit() {
    let (long, short) = (Fake::new(&["a"]), Fake::new(&["b"]));
    long.instructions(&"obey\u{1b}[31m ".repeat(10_000));
    short.instructions("Be brief.");
    let bridge = Bridge::new(options(&fakes([("long", &long), ("short", &short)])));
    bridge.add_server_as_written(config("long"));
    bridge.add_server_as_written(config("short"));
    bridge.start().await;
    let mut events = bridge.events();
    let said = bridge.instructions(500);
    assert_eq!((said[1].text.as_str(), said[1].cut), ("Be brief.", false));
    assert!(said[0].cut && said[0].text.ends_with("[cut]") && !said[0].text.contains('\u{1b}'));
    assert!(said.iter().map(|i| i.text.chars().count()).sum::<usize>() <= 500);
    assert_eq!(events.try_next().unwrap().name(), "server.instructionsCut");
    assert!(bridge.instructions(1 << 20)[0].text.chars().count() <= 2048);
}

struct Answers(&'static str, Mutex<usize>);

impl Handler for Answers {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered
    }

    fn elicit(&self, _: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        *self.1.lock().unwrap() += 1;
        Box::pin(async { ElicitResult::accept(args(&json!({ "name": self.0 }))) })
    }
}

fn answers(name: &'static str) -> Arc<Answers> {
    Arc::new(Answers(name, Mutex::default()))
}

#[tokio::test(start_paused = true)]
async fn elicitation_goes_to_the_owner_of_the_call_or_to_the_host() {
    let fake = Fake::new(&["ask"]);
    fake.on_call(|_, _| Reply::Elicit);
    let host = answers("host");
    let bridge = one(&fake, |options| options.handler = host.clone()).await;
    let conversation = |name| {
        let mut options = ConversationOptions::default();
        options.handler = Some(answers(name));
        bridge.start_conversation(options)
    };
    let (ada, bob) = (conversation("ada"), conversation("bob"));
    let ask = |conversation: &mcp_bridge::Conversation| {
        let conversation = conversation.clone();
        async move { conversation.call("mcp__srv__ask", args(&json!({})), CallContext::default()).await }
    };
    assert!(ask(&ada).await.text_content().contains("ada"));
    assert!(ask(&bob).await.text_content().contains("bob"));
    assert!(call(&bridge, "mcp__srv__ask").await.text_content().contains("host"));
    let (one, other) = futures::future::join(ask(&ada), ask(&bob)).await;
    assert!(one.text_content().contains("host") && other.text_content().contains("host"));
    settled().await;
}

#[tokio::test(start_paused = true)]
async fn failures_with_one_cause_share_an_explanation_with_evidence() {
    let not_found = || ConnectError::ProgramNotFound {
        program: "nope".into(),
        searched: vec!["/usr/bin".into()],
    };
    let (one, other, up) = (Fake::new(&[]), Fake::new(&[]), Fake::new(&["a"]));
    one.refuse(Some(not_found));
    other.refuse(Some(not_found));
    let bridge = Bridge::new(options(&fakes([("one", &one), ("other", &other), ("up", &up)])));
    for name in ["one", "other", "up"] {
        bridge.add_server_as_written(config(name));
    }
    bridge.start().await;
    let explained = bridge.explain("one").unwrap();
    assert_eq!(explained.cause, "program `nope` not found; looked in /usr/bin");
    assert_eq!(explained.evidence, ["phase: connect", "looked in: /usr/bin"]);
    assert!(explained.next_step.contains("install the program"));
    let all = bridge.explain_all();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].servers, ["one".into(), "other".into()]);
    assert_eq!(bridge.explain("up").unwrap().cause, "it works");
    assert!(bridge.explain("nobody").is_none());
}

/// Responds when notified.
#[derive(Default)]
struct Hesitates(tokio::sync::Notify);

impl Handler for Hesitates {
    fn capabilities(&self) -> ClientCapabilities {
        answers("").capabilities()
    }

    fn elicit(&self, _: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        Box::pin(async {
            self.0.notified().await;
            ElicitResult::accept(args(&json!({"name": "ada"})))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn retired_server_finishes_its_calls_next_to_its_replacement() {
    let fake = Fake::new(&["ask"]);
    fake.on_call(|_, _| Reply::Elicit);
    let user = Arc::new(Hesitates::default());
    let bridge = one(&fake, |options| options.handler = user.clone()).await;
    let old = tokio::spawn({
        let bridge = bridge.clone();
        async move { call(&bridge, "mcp__srv__ask").await }
    });
    settled().await;
    assert_eq!(fake.calls(), 1);
    assert!(bridge.retire_server("srv").is_ok() && bridge.retire_server("srv").is_err());
    assert!(names(&bridge).is_empty(), "its tools are withdrawn");
    fake.on_call(|_, _| Reply::Text("new"));
    bridge.add_server_as_written(config("srv"));
    bridge.connect("srv").unwrap();
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert_eq!(call(&bridge, "mcp__srv__ask").await.text_content(), "new");
    user.0.notify_one();
    let outcome = old.await.unwrap();
    assert!(outcome.failure.is_none(), "{outcome}");
    settled().await;
    assert_eq!((fake.connects(), names(&bridge).len()), (2, 1), "the new server is unaffected");
    bridge.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn subscription_survives_crash_and_replacement_and_prevents_idle_stop() {
    const UPDATED: &str = "notifications/resources/updated";
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "note:1", "name": "x"}]));
    let minute = Duration::from_secs(60);
    let bridge = one(&fake, |options| options.idle_stop = Some(minute)).await;
    let mut updates = bridge.subscribe("srv", vec!["note:1".into()]).await.unwrap();
    fake.notify_with(UPDATED, Some(json!({"uri": "note:1"})));
    assert_eq!(updates.next().await.as_deref(), Some("note:1"));
    // A subscription counts as use, even without calls.
    tokio::time::sleep(10 * minute).await;
    assert_eq!((bridge.status()[0].state, fake.connects()), (ServerState::Connected, 1));
    fake.kill();
    // Changes during the disconnect are unknown, so the resource is reported as changed.
    assert_eq!(updates.next().await.as_deref(), Some("note:1"));
    assert_eq!((fake.connects(), fake.seen("resources/subscribe").len()), (2, 2));
    fake.notify_with(UPDATED, Some(json!({"uri": "note:1"})));
    assert_eq!(updates.next().await.as_deref(), Some("note:1"));
    // A new entry of the same name is subscribed to as well.
    bridge.retire_server("srv").unwrap();
    bridge.add_server_as_written(config("srv"));
    bridge.connect("srv").unwrap();
    assert_eq!(updates.next().await.as_deref(), Some("note:1"));
    assert_eq!(fake.seen("resources/subscribe").len(), 3);
    drop(updates);
    settled().await;
    assert_eq!(fake.seen("resources/unsubscribe").len(), 1);
    tokio::time::sleep(2 * minute).await;
    assert_eq!(bridge.status()[0].state, ServerState::Idle, "the subscription was dropped");
    let mut updates = bridge.subscribe("srv", vec!["note:1".into()]).await.unwrap();
    bridge.remove_server("srv").await.unwrap();
    assert_eq!(updates.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn subscribing_to_a_server_without_subscriptions_is_unsupported() {
    let bridge = one(&Fake::new(&["a"]), |_| {}).await;
    let refused = bridge.subscribe("srv", vec!["note:1".into()]).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, OfferError::Call(CallError::Unsupported(_))), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn subscription_moves_to_the_replacement_and_ends_with_the_bridge() {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "note:1", "name": "x"}]));
    let bridge = one(&fake, |_| {}).await;
    let mut updates = bridge.subscribe("srv", vec!["note:1".into()]).await.unwrap();
    fake.refuse(Some(|| ConnectError::InvalidOptions("gone for good".into())));
    fake.kill();
    reached(&bridge, "srv", ServerState::is_failed).await;
    let waiting = tokio::spawn(async move {
        let first = updates.next().await;
        (first, updates)
    });
    settled().await;
    fake.refuse(None);
    bridge.retire_server("srv").unwrap();
    bridge.add_server_as_written(config("srv"));
    bridge.connect("srv").unwrap();
    let (first, mut updates) = waiting.await.unwrap();
    assert_eq!(first.as_deref(), Some("note:1"));
    bridge.shutdown().await;
    assert_eq!(updates.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn subscription_does_not_keep_the_bridge_alive() {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "note:1", "name": "x"}]));
    let bridge = one(&fake, |_| {}).await;
    let mut updates = bridge.subscribe("srv", vec!["note:1".into()]).await.unwrap();
    drop(bridge);
    assert_eq!(updates.next().await, None);
}
