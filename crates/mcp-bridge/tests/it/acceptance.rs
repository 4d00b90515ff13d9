//! Servers that are down, slow, or have changed, as the requirements describe them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_bridge::{
    Bridge, CallContext, FailureKind, OutputLimits, RawJson, ServerState,
    lifecycle::Backoff,
    options::Retry,
    tool::{Delivery, ErrorClass, Note},
    trust::ToolApprovals,
};
use mcp_transport::ConnectError;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    Fake, Reply, args, call, config, fakes, names, one, options, reached, settled,
};

const UNAVAILABLE: &str = "mcp server srv is unavailable";

fn down() -> ConnectError {
    ConnectError::Unavailable("down".into())
}

#[tokio::test(start_paused = true)]
async fn calls_during_a_reconnect_fail_at_once() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    let turn = bridge.snapshot();
    fake.starts_in(Duration::from_secs(8));
    bridge.reconnect("srv").unwrap();
    settled().await;
    let begun = Instant::now();
    for _ in 0..8 {
        let outcome =
            turn.call("mcp__srv__a", RawJson::empty_object(), CallContext::default()).await;
        assert_eq!(outcome.text_content(), UNAVAILABLE);
    }
    assert_eq!(call(&bridge, "mcp__srv__a").await.text_content(), UNAVAILABLE);
    assert!(begun.elapsed() < Duration::from_millis(10));
}

#[tokio::test(start_paused = true)]
async fn after_a_lost_session_every_call_fails_at_once() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Lost(ErrorClass::Session, Delivery::NotSent));
    let bridge = one(&fake, |_| {}).await;
    fake.starts_in(Duration::from_secs(5));
    let begun = Instant::now();
    for _ in 0..8 {
        let outcome = call(&bridge, "mcp__srv__a").await;
        assert!(outcome.text_content().starts_with(UNAVAILABLE), "{outcome}");
        settled().await;
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn queued_calls_wait_for_a_server_that_is_down() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| {
        options.queue_while_down = Some(Duration::from_secs(3_600));
    })
    .await;
    fake.refuse(Some(down));
    fake.kill();
    reached(&bridge, "srv", ServerState::is_failed).await;
    let meanwhile = bridge.snapshot();
    assert!(meanwhile.get("mcp__srv__a").is_none());
    let nothing = RawJson::empty_object();
    let by_name = call(&bridge, "mcp__srv__a");
    let by_snapshot = meanwhile.call("mcp__srv__a", nothing, CallContext::default());
    let back = async {
        tokio::time::sleep(Duration::from_secs(300)).await;
        fake.refuse(None);
    };
    let (one, other, ()) = tokio::join!(by_name, by_snapshot, back);
    assert_eq!((one.text_content(), other.text_content()), ("done".into(), "done".into()));
}

#[tokio::test(start_paused = true)]
async fn calls_to_a_server_that_is_down_are_unavailable_by_name_and_in_later_snapshots() {
    for keep_stubs in [false, true] {
        let fake = Fake::new(&["a"]);
        let bridge = one(&fake, |options| options.keep_stubs = keep_stubs).await;
        fake.refuse(Some(down));
        fake.kill();
        reached(&bridge, "srv", ServerState::is_pending).await;
        let outcome = call(&bridge, "mcp__srv__a").await;
        assert_eq!(outcome.text_content(), UNAVAILABLE);
        let nothing = RawJson::empty_object();
        let meanwhile = bridge.snapshot();
        let outcome = meanwhile.call("mcp__srv__a", nothing, CallContext::default()).await;
        assert_eq!(outcome.text_content(), UNAVAILABLE);
        let unknown = call(&bridge, "mcp__srv__b").await;
        assert_eq!(unknown.failure_kind(), Some(FailureKind::NotFound));
    }
}

#[tokio::test(start_paused = true)]
async fn connect_retries_failed_and_waiting_servers_at_once() {
    for backoff in [Backoff::five_attempts(), Backoff::default()] {
        let fake = Fake::new(&["a"]);
        fake.refuse(Some(down));
        let bridge = one(&fake, |options| options.backoff = backoff).await;
        reached(&bridge, "srv", ServerState::is_failed).await;
        fake.refuse(None);
        let begun = Instant::now();
        assert!(bridge.connect("srv").is_ok());
        reached(&bridge, "srv", ServerState::is_connected).await;
        assert!(begun.elapsed() < Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn five_attempts_preset_fails_after_five_attempts_with_full_delays() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(down));
    let begun = Instant::now();
    let bridge = one(&fake, |options| options.backoff = Backoff::five_attempts()).await;
    reached(&bridge, "srv", ServerState::is_failed).await;
    assert_eq!(fake.connects(), 5);
    let waited = begun.elapsed().as_secs_f64();
    assert!((15.0..=18.1).contains(&waited), "1 + 2 + 4 + 8 and at most a fifth more: {waited}");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(fake.connects(), 5, "no more attempts");
}

#[tokio::test(start_paused = true)]
async fn hung_servers_do_not_block_the_start_batch() {
    let (hung, quick) = (Fake::new(&["h"]), Fake::new(&["q"]));
    hung.starts_in(Duration::from_secs(3_600));
    let all = [("h1", &hung), ("h2", &hung), ("h3", &hung), ("quick", &quick)];
    let bridge = Bridge::new(options(&fakes(all)));
    for (name, _) in all {
        bridge.add_server_as_written(config(name));
    }
    let begun = Instant::now();
    let start = bridge.start();
    let connected = reached(&bridge, "quick", ServerState::is_connected);
    tokio::select! {
        () = start => panic!("the hung servers have not settled"),
        () = connected => {}
    }
    assert!(begun.elapsed() <= Duration::from_millis(2_100), "{:?}", begun.elapsed());
    assert_eq!(quick.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn timed_out_read_only_calls_of_trusted_servers_are_retried() {
    for (read_only, trusted, tries) in [(true, true, 4), (false, true, 1), (true, false, 1)] {
        let fake = Fake::new(&[]);
        fake.tools(json!([{"name": "a", "annotations": {"readOnlyHint": read_only}}]));
        fake.on_call(|_, _| Reply::Never);
        let mut options = options(&fakes([("srv", &fake)]));
        options.retry = Retry::every(Duration::from_millis(10), 4);
        options.client.call_idle_timeout = Duration::from_secs(1);
        let bridge = Bridge::new(options);
        let mut server = config("srv");
        server.trust = trusted;
        bridge.add_server_as_written(server);
        bridge.start().await;
        let mut context = CallContext::default();
        context.approved = true;
        let outcome = bridge.call("mcp__srv__a", args(&json!({})), context).await;
        assert_eq!(outcome.failure_kind(), Some(FailureKind::TimedOut));
        assert_eq!(fake.calls(), tries, "{read_only} {trusted}");
    }
}

#[tokio::test(start_paused = true)]
async fn output_limit_can_be_set_per_tool() {
    let fake = Fake::new(&["log", "read"]);
    fake.on_call(|_, _| Reply::Text("0123456789"));
    let mut output = OutputLimits::default();
    output.tools = vec![("mcp__srv__log".into(), 6)];
    let bridge = one(&fake, |options| options.output = output).await;
    let cut = call(&bridge, "mcp__srv__log").await;
    assert!(matches!(cut.notes[..], [Note::Truncated { chars: 10, .. }]), "{:?}", cut.notes);
    assert!(call(&bridge, "mcp__srv__read").await.notes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn result_without_content_is_shown_to_the_model_as_json() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Result(json!({"foo": 1})));
    let bridge = one(&fake, |_| {}).await;
    assert_eq!(call(&bridge, "mcp__srv__a").await.text_content(), r#"{"foo":1}"#);
}

#[tokio::test(start_paused = true)]
async fn truncated_description_adds_tool_search_with_the_full_text() {
    let long = "word ".repeat(200);
    for (limit, shown, is_cut) in
        [(None, 200, true), (Some(2_048), 999, false), (Some(9_999), 999, false)]
    {
        let fake = Fake::new(&[]);
        fake.tools(json!([{"name": "a", "description": long}]));
        let bridge = Bridge::new(options(&fakes([("srv", &fake)])));
        let mut server = config("srv");
        (server.trust, server.limits.description) = (false, limit);
        bridge.add_server_as_written(server);
        bridge.start().await;
        let turn = bridge.snapshot();
        let description = &turn.get("mcp__srv__a").unwrap().spec().description;
        assert_eq!(description.chars().count(), shown, "{limit:?}");
        assert_eq!(turn.get("tool_search").is_some(), is_cut, "{limit:?}");
        if is_cut {
            let query = args(&json!({"query": "select:mcp__srv__a"}));
            let found = turn.call("tool_search", query, CallContext::default()).await;
            assert!(found.text_content().contains(long.trim()), "{found}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn description_is_never_longer_than_2048_characters_and_search_returns_the_whole() {
    let long = "word ".repeat(1_000);
    for trusted in [false, true] {
        let fake = Fake::new(&[]);
        fake.tools(json!([{"name": "a", "description": long}]));
        let bridge = Bridge::new(options(&fakes([("srv", &fake)])));
        let mut server = config("srv");
        (server.trust, server.limits.description) = (trusted, (!trusted).then_some(9_999));
        bridge.add_server_as_written(server);
        bridge.start().await;
        let turn = bridge.snapshot();
        let description = &turn.get("mcp__srv__a").unwrap().spec().description;
        assert_eq!(description.chars().count(), 2_048, "trusted: {trusted}");
        let query = args(&json!({"query": "select:mcp__srv__a"}));
        let found = turn.call("tool_search", query, CallContext::default()).await;
        assert!(found.text_content().contains(long.trim()), "trusted: {trusted}");
    }
}

/// A host that switches search off decides against it, also for a description that was cut.
#[tokio::test(start_paused = true)]
async fn search_that_the_host_switched_off_is_not_added_for_a_truncated_description() {
    let fake = Fake::new(&[]);
    fake.tools(json!([{"name": "a", "description": "word ".repeat(1_000)}]));
    let bridge = one(&fake, |options| options.tool_search = false).await;
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
    let turn = bridge.snapshot();
    assert!(turn.get("mcp__srv__a").unwrap().spec().description.ends_with("… [cut]"));
}

#[tokio::test(start_paused = true)]
async fn result_without_members_is_an_empty_result_like_one_without_blocks() {
    for result in [json!({}), json!({"content": []})] {
        let fake = Fake::new(&["a"]);
        fake.on_call(move |_, _| Reply::Result(result.clone()));
        let bridge = one(&fake, |_| {}).await;
        let outcome = call(&bridge, "mcp__srv__a").await;
        assert_eq!((outcome.text_content().as_str(), outcome.is_error), ("", false));
        assert!(outcome.content.is_empty() && outcome.failure.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn search_limit_of_a_model_is_bounded_by_the_host() {
    let many: Vec<String> = (0..30).map(|n| format!("read_{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let bridge = one(&Fake::new(&many), |options| options.max_matches = 3).await;
    let query = args(&json!({"query": "read", "limit": 25}));
    let found = bridge.call("tool_search", query, CallContext::default()).await;
    assert_eq!(found.text_content().matches("\"id\"").count(), 3, "{found}");
}

#[tokio::test(start_paused = true)]
async fn hyphens_in_names_become_underscores_and_old_names_still_work() {
    let fake = Fake::new(&["get-sum"]);
    let mut options = options(&fakes([("my-server", &fake)]));
    options.always_load = vec!["mcp__my-server__*".into()];
    options.search_threshold = 0;
    let bridge = Bridge::new(options.clone());
    bridge.add_server_as_written(config("my-server"));
    bridge.start().await;
    assert!(names(&bridge).contains(&"mcp__my_server__get_sum".to_owned()), "{:?}", names(&bridge));
    assert!(!call(&bridge, "mcp__my-server__get-sum").await.is_error);
    let mut conversation = mcp_bridge::ConversationOptions::default();
    conversation.deny = vec!["mcp__my-server__*".into()];
    let conversation = bridge.start_conversation(conversation);
    assert!(conversation.snapshot().get("mcp__my_server__get_sum").is_none());
    options.keep_hyphens = true;
    let kept = Bridge::new(options);
    kept.add_server_as_written(config("my-server"));
    kept.start().await;
    assert!(names(&kept).contains(&"mcp__my-server__get-sum".to_owned()), "{:?}", names(&kept));
}

#[tokio::test(start_paused = true)]
async fn saved_list_of_loaded_tools_with_hyphens_restores_them_in_order() {
    let fake = Fake::new(&["get-sum", "get-product", "other"]);
    let mut options = options(&fakes([("my-server", &fake)]));
    options.search_threshold = 0;
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(config("my-server"));
    bridge.start().await;
    bridge.conversation().restore(["mcp__my-server__get-sum", "mcp__my_server__get_product"]);
    let shown = names(&bridge);
    let loaded = &shown[shown.len() - 2..];
    assert_eq!(loaded, ["mcp__my_server__get_sum", "mcp__my_server__get_product"]);
    let count = bridge.conversation().loaded().len();
    bridge.conversation().restore(["mcp__my-server__get-product"]);
    assert!(!call(&bridge, "mcp__my-server__get-sum").await.is_error);
    assert_eq!(bridge.conversation().loaded().len(), count, "a tool is loaded once");
}

/// The files of a version that kept hyphens in names.
#[tokio::test(start_paused = true)]
async fn approvals_and_catalogue_of_names_with_hyphens_are_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let approved = folder.path().join("tools.json");
    let fake = Fake::new(&["get-sum"]);
    let mut options = options(&fakes([("my-server", &fake)]));
    options.catalogue = Some(folder.path().join("catalogue"));
    let mut untrusted = config("my-server");
    untrusted.trust = false;

    let mut before = options.clone();
    before.keep_hyphens = true;
    let before = Bridge::new(before);
    before.add_server_as_written(untrusted.clone());
    before.start().await;
    let hash = before.snapshot().get("mcp__my-server__get-sum").unwrap().spec().hash.clone();
    before.shutdown().await;
    let file = json!({"mcp:my-server:get-sum": {"hash": hash, "definition": "{}"}});
    mcp_safe::fs::replace(&approved, file.to_string().as_bytes()).unwrap();

    options.lazy_start = true;
    options.approvals = Arc::new(ToolApprovals::load(&approved).unwrap());
    let now = Bridge::new(options);
    now.add_server_as_written(untrusted);
    assert_eq!(names(&now), ["mcp__my_server__get_sum"], "from the catalogue");
    assert!(!call(&now, "mcp__my_server__get_sum").await.is_error, "approved before");
    assert_eq!(fake.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn catalogue_of_a_relative_program_is_not_shared_between_projects() {
    let folder = tempfile::tempdir().unwrap();
    let seen = async |project: &str, program: &str| {
        let fake = Fake::new(&["poisoned"]);
        let mut options = options(&fakes([("srv", &fake)]));
        options.catalogue = Some(folder.path().join("catalogue"));
        options.project = Some(project.into());
        let bridge = Bridge::new(options);
        let transport = mcp_config::Transport::Stdio(mcp_config::Stdio::new(program));
        bridge.add_server_as_written(mcp_bridge::ServerConfig::new(
            "srv".parse().unwrap(),
            transport,
        ));
        let known = names(&bridge).len();
        bridge.start().await;
        bridge.shutdown().await;
        known
    };
    assert_eq!(seen("/a", "./server").await, 0);
    assert_eq!(seen("/a", "./server").await, 1, "from the catalogue");
    assert_eq!(seen("/b", "./server").await, 0, "a different program");
    assert_eq!(seen("/a", "server").await, 0);
    assert_eq!(seen("/b", "server").await, 1, "the same program in every project");
}

/// Lists the options that the connector passed to its closures.
#[cfg(all(feature = "stdio", feature = "http", feature = "ws"))]
#[test]
fn default_connector_adjusts_options_of_every_transport() {
    use mcp_bridge::{
        ServerConfig,
        connect::{Connector, DefaultConnector},
    };
    use mcp_config::{Remote, Stdio, Transport};

    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |seen: &Arc<Mutex<Vec<String>>>| {
        let seen = seen.clone();
        move |config: &ServerConfig| seen.lock().unwrap().push(config.name.to_string())
    };
    let (stdio, http, ws) = (note(&seen), note(&seen), note(&seen));
    let connector = DefaultConnector::new()
        .adjust_stdio(move |config, options| {
            options.lifeline = false;
            stdio(config);
        })
        .adjust_http(move |config, options| {
            options.max_in_flight = 1;
            http(config);
        })
        .adjust_ws(move |config, options| {
            options.headers.push(("x-tenant".into(), "a".into()));
            ws(config);
        });
    for (name, transport) in [
        ("local", Transport::Stdio(Stdio::new("true"))),
        ("web", Transport::Http(Remote::new("https://example.com/mcp"))),
        ("old", Transport::Sse(Remote::new("https://example.com/sse"))),
        ("socket", Transport::Ws(Remote::new("wss://example.com/mcp"))),
    ] {
        connector.open(&ServerConfig::new(name.parse().unwrap(), transport)).unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), ["local", "web", "old", "socket"]);
}
