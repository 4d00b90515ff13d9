//! What servers offer besides tools, and what they ask.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_bridge::{BoxFuture, Bridge, CallContext, Handler, LeaseOptions, ServerState};
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
    assert_eq!(bridge.resources().await[0].mention(), "@srv:file:///x");
    let unknown = args(&json!({"server": "nobody", "uri": "x"}));
    assert!(bridge.call("read_mcp_resource", unknown, CallContext::default()).await.is_error);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_without_a_server_reads_nothing_of_it() {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "file:///x", "name": "x"}]));
    let bridge = one(&fake, |_| {}).await;
    let mut options = LeaseOptions::default();
    options.deny = vec!["mcp:srv:*".into()];
    let lease = bridge.lease(options);
    let ask = |tool: &'static str, arguments| {
        let lease = lease.clone();
        async move { lease.call(tool, args(&arguments), CallContext::default()).await }
    };
    let listed = ask("list_mcp_resources", json!({})).await;
    assert_eq!(listed.text_content(), r#"{"resources":[]}"#);
    let read = ask("read_mcp_resource", json!({"server": "srv", "uri": "file:///x"})).await;
    assert_eq!(read.text_content(), "there is no server of that name");
}

#[tokio::test(start_paused = true)]
async fn instructions_are_cleaned_capped_and_shared_fairly() {
    let (long, short) = (Fake::new(&["a"]), Fake::new(&["b"]));
    long.instructions(&"obey\u{1b}[31m ".repeat(10_000));
    short.instructions("Be brief.");
    let bridge = Bridge::new(options(&fakes([("long", &long), ("short", &short)])));
    bridge.add_server(config("long"));
    bridge.add_server(config("short"));
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
async fn a_question_goes_to_the_owner_of_the_call_and_to_the_host_if_that_is_not_known() {
    let fake = Fake::new(&["ask"]);
    fake.on_call(|_, _| Reply::Elicit);
    let host = answers("host");
    let bridge = one(&fake, |options| options.handler = host.clone()).await;
    let lease = |name| {
        let mut options = LeaseOptions::default();
        options.handler = Some(answers(name));
        bridge.lease(options)
    };
    let (ada, bob) = (lease("ada"), lease("bob"));
    let ask = |lease: &mcp_bridge::Lease| {
        let lease = lease.clone();
        async move { lease.call("mcp__srv__ask", args(&json!({})), CallContext::default()).await }
    };
    assert!(ask(&ada).await.text_content().contains("ada"));
    assert!(ask(&bob).await.text_content().contains("bob"));
    assert!(call(&bridge, "mcp__srv__ask").await.text_content().contains("host"));
    let (one, other) = futures::future::join(ask(&ada), ask(&bob)).await;
    assert!(one.text_content().contains("host") && other.text_content().contains("host"));
    settled().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_explained_with_its_evidence_and_one_cause_is_told_once() {
    let not_found = || ConnectError::ProgramNotFound {
        program: "nope".into(),
        searched: vec!["/usr/bin".into()],
    };
    let (one, other, up) = (Fake::new(&[]), Fake::new(&[]), Fake::new(&["a"]));
    one.refuse(Some(not_found));
    other.refuse(Some(not_found));
    let bridge = Bridge::new(options(&fakes([("one", &one), ("other", &other), ("up", &up)])));
    for name in ["one", "other", "up"] {
        bridge.add_server(config(name));
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

/// Answers when it is let to.
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
async fn a_server_that_is_retired_ends_its_calls_beside_its_successor() {
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
    assert!(bridge.retire_server("srv") && !bridge.retire_server("srv"));
    assert!(names(&bridge).is_empty(), "nobody can call it any more");
    fake.on_call(|_, _| Reply::Text("new"));
    bridge.add_server(config("srv"));
    bridge.connect("srv");
    reached(&bridge, "srv", ServerState::Connected).await;
    assert_eq!(call(&bridge, "mcp__srv__ask").await.text_content(), "new");
    user.0.notify_one();
    let outcome = old.await.unwrap();
    assert!(outcome.failure.is_none(), "{outcome}");
    settled().await;
    assert_eq!((fake.connects(), names(&bridge).len()), (2, 1), "its end is not its successor's");
    bridge.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_outlives_crashes_and_replacement_and_keeps_its_server_up() {
    const UPDATED: &str = "notifications/resources/updated";
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "note:1", "name": "x"}]));
    let minute = Duration::from_secs(60);
    let bridge = one(&fake, |options| options.idle_stop = Some(minute)).await;
    let mut updates = bridge.subscribe("srv", vec!["note:1".into()]).await.unwrap();
    fake.notify_with(UPDATED, Some(json!({"uri": "note:1"})));
    assert_eq!(updates.next().await.as_deref(), Some("note:1"));
    // Who listens uses it, calls or not.
    tokio::time::sleep(10 * minute).await;
    assert_eq!((bridge.status()[0].state, fake.connects()), (ServerState::Connected, 1));
    fake.kill();
    // Nobody knows what happened meanwhile, so it counts as changed.
    assert_eq!(updates.next().await.as_deref(), Some("note:1"));
    assert_eq!((fake.connects(), fake.seen("resources/subscribe").len()), (2, 2));
    fake.notify_with(UPDATED, Some(json!({"uri": "note:1"})));
    assert_eq!(updates.next().await.as_deref(), Some("note:1"));
    // Another entry of the same name is another server to ask.
    bridge.retire_server("srv");
    bridge.add_server(config("srv"));
    bridge.connect("srv");
    assert_eq!(updates.next().await.as_deref(), Some("note:1"));
    assert_eq!(fake.seen("resources/subscribe").len(), 3);
    drop(updates);
    settled().await;
    assert_eq!(fake.seen("resources/unsubscribe").len(), 1);
    tokio::time::sleep(2 * minute).await;
    assert_eq!(bridge.status()[0].state, ServerState::Pending, "nobody listens any more");
    let mut updates = bridge.subscribe("srv", vec!["note:1".into()]).await.unwrap();
    bridge.remove_server("srv").await;
    assert_eq!(updates.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_tells_nobody_of_changes_says_so() {
    let bridge = one(&Fake::new(&["a"]), |_| {}).await;
    let refused = bridge.subscribe("srv", vec!["note:1".into()]).await;
    assert!(matches!(refused, Err(CallError::Unsupported(_))), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_follows_a_dead_server_to_its_successor_and_ends_with_the_bridge() {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "note:1", "name": "x"}]));
    let bridge = one(&fake, |_| {}).await;
    let mut updates = bridge.subscribe("srv", vec!["note:1".into()]).await.unwrap();
    fake.refuse(Some(|| ConnectError::InvalidOptions("gone for good".into())));
    fake.kill();
    reached(&bridge, "srv", ServerState::Failed).await;
    let waiting = tokio::spawn(async move {
        let first = updates.next().await;
        (first, updates)
    });
    settled().await;
    fake.refuse(None);
    bridge.retire_server("srv");
    bridge.add_server(config("srv"));
    bridge.connect("srv");
    let (first, mut updates) = waiting.await.unwrap();
    assert_eq!(first.as_deref(), Some("note:1"));
    bridge.shutdown().await;
    assert_eq!(updates.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_keeps_no_bridge_alive() {
    let fake = Fake::new(&["a"]);
    fake.resources(json!([{"uri": "note:1", "name": "x"}]));
    let bridge = one(&fake, |_| {}).await;
    let mut updates = bridge.subscribe("srv", vec!["note:1".into()]).await.unwrap();
    drop(bridge);
    assert_eq!(updates.next().await, None);
}
