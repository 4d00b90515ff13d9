//! Connections that come, go, and come back.

use std::{sync::Mutex, time::Duration};

use mcp_bridge::{Backoff, Bridge, CallContext, Detail, ErrorClass, FailureKind, ServerState};
use mcp_client::Delivery;
use mcp_config::ConnectMode;
use mcp_jsonrpc::{Loss, Trouble};
use mcp_transport::ConnectError;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    Fake, Reply, args, call, config, fakes, names, one, options, reached, settled, told,
};

fn down() -> ConnectError {
    ConnectError::Unavailable("down".into())
}

fn login_needed() -> ConnectError {
    let loss = Loss::new(Delivery::NotSent, ErrorClass::Auth, Trouble::Credentials, "401");
    ConnectError::Refused(Box::new(loss))
}

#[tokio::test(start_paused = true)]
async fn a_dead_server_comes_back_by_itself_on_the_schedule() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.backoff.jitter = 0.0).await;
    let began = Instant::now();
    fake.refuse(Some(down));
    fake.kill();
    reached(&bridge, "srv", ServerState::Failed).await;
    assert_eq!(began.elapsed().as_secs(), 1 + 2 + 5 + 15);
    fake.refuse(None);
    reached(&bridge, "srv", ServerState::Connected).await;
    assert_eq!(began.elapsed().as_secs(), 23 + 60);
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn a_day_of_reconnects_leaves_everything_as_it_was() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    let began = Instant::now();
    let mut cycles = 0;
    while began.elapsed() < Duration::from_secs(86_400) {
        fake.kill();
        reached(&bridge, "srv", ServerState::Pending).await;
        reached(&bridge, "srv", ServerState::Connected).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        cycles += 1;
    }
    assert!(cycles > 1_000 && fake.connects() == cycles + 1);
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
}

#[tokio::test(start_paused = true)]
async fn one_server_that_fails_affects_nobody_else() {
    let (good, bad) = (Fake::new(&["a"]), Fake::new(&["b"]));
    bad.refuse(Some(|| ConnectError::InvalidOptions("broken".into())));
    let bridge = Bridge::new(options(&fakes([("good", &good), ("bad", &bad)])));
    let mut events = bridge.events();
    bridge.add_server(config("bad"));
    bridge.add_server(config("good"));
    bridge.start().await;
    assert_eq!(names(&bridge), ["mcp__good__a"]);
    let status = bridge.status();
    assert_eq!((status[0].state, status[0].detail), (ServerState::Failed, Detail::Final));
    assert_eq!(status[0].problem.as_deref(), Some("broken"));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(bad.connects(), 1, "a permanent cause does not loop");
    let told = told(&mut events);
    assert!(told.contains(&"server.error") && told.contains(&"server.connected"), "{told:?}");
    bridge.start().await;
    assert_eq!(good.connects(), 1, "starting twice is starting once");
    assert!(bridge.reconnect("bad"));
    settled().await;
    assert_eq!(bad.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn starts_come_in_batches_of_three_local_and_twenty_remote() {
    for (is_remote, batch) in [(false, 3), (true, 20)] {
        let fake = Fake::new(&["a"]);
        fake.starts_in(Duration::from_secs(1));
        if is_remote {
            fake.remote();
        }
        let names: Vec<String> = (0..30).map(|n| format!("s{n}")).collect();
        let mut options = options(&fakes(names.iter().map(|name| (name.as_str(), &fake))));
        (options.local_batch, options.remote_batch) = (3, 20);
        let bridge = Bridge::new(options);
        for name in &names {
            bridge.add_server(config(name));
        }
        let began = Instant::now();
        bridge.start().await;
        assert_eq!(fake.most_starts(), batch);
        assert_eq!(began.elapsed().as_secs(), 30_u64.div_ceil(batch as u64));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_starts_with_its_first_call_and_stops_when_idle() {
    let fake = Fake::new(&["a"]);
    let mut options = options(&fakes([("srv", &fake)]));
    options.idle_stop = Some(Duration::from_secs(300));
    let bridge = Bridge::new(options);
    let mut lazy = config("srv");
    lazy.connect = Some(ConnectMode::Lazy);
    bridge.add_server(lazy);
    bridge.start().await;
    settled().await;
    assert_eq!((fake.connects(), bridge.status()[0].detail), (0, Detail::Idle));
    assert!(bridge.connect("srv"));
    reached(&bridge, "srv", ServerState::Connected).await;
    tokio::time::sleep(Duration::from_secs(301)).await;
    assert_eq!(bridge.status()[0].detail, Detail::Idle);
    assert_eq!(names(&bridge), ["mcp__srv__a"], "a resting server can be called");
    let turn = bridge.snapshot();
    let both = futures::future::join(call(&bridge, "mcp__srv__a"), call(&bridge, "mcp__srv__a"));
    let (one, other) = both.await;
    assert!(!one.is_error && !other.is_error);
    assert_eq!(fake.connects(), 2, "single flight");
    drop(turn);
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_keeps_a_server_from_being_stopped() {
    let fake = Fake::new(&["slow"]);
    fake.on_call(|_, _| Reply::Never);
    let bridge = one(&fake, |options| options.idle_stop = Some(Duration::from_secs(10))).await;
    let outcome = call(&bridge, "mcp__srv__slow").await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::TimedOut));
    assert_eq!(outcome.failure.unwrap().delivery, Delivery::Unknown);
    assert_eq!(fake.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_clears_everything_and_shows_the_new_tools() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    fake.on_call(|_, _| Reply::Lost(ErrorClass::Session, Delivery::NotSent));
    fake.tools(serde_json::json!([{"name": "b"}]));
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert!(outcome.text_content().starts_with("mcp server srv is unavailable: "), "{outcome}");
    settled().await;
    reached(&bridge, "srv", ServerState::Connected).await;
    assert_eq!((names(&bridge), fake.connects()), (vec!["mcp__srv__b".to_owned()], 2));
}

#[tokio::test(start_paused = true)]
async fn needs_auth_offers_one_tool_and_is_remembered() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(login_needed));
    let bridge = one(&fake, |_| {}).await;
    assert_eq!(bridge.status()[0].state, ServerState::NeedsAuth);
    assert_eq!(names(&bridge), ["mcp__srv__authenticate"]);
    let outcome = call(&bridge, "mcp__srv__authenticate").await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Auth));
    let explained = bridge.explain("srv").unwrap();
    assert_eq!(explained.next_step, "log in to it");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fake.connects(), 1);
    fake.refuse(None);
    bridge.reconnect("srv");
    reached(&bridge, "srv", ServerState::Connected).await;
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_refusal_in_the_middle_of_a_call_is_authentication_failed_and_nothing_else() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Lost(ErrorClass::Auth, Delivery::NotSent));
    let bridge = one(&fake, |_| {}).await;
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert_eq!(outcome.text_content(), "authentication failed");
    assert!(!format!("{:?}", bridge.dead_letters()).contains("Bearer"));
}

#[tokio::test(start_paused = true)]
async fn disable_is_silent_and_only_enable_ends_it() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    bridge.disable("srv");
    reached(&bridge, "srv", ServerState::Disabled).await;
    assert!(names(&bridge).is_empty());
    bridge.reconnect("srv");
    bridge.connect("srv");
    settled().await;
    assert_eq!(bridge.status()[0].state, ServerState::Disabled);
    bridge.enable("srv");
    bridge.connect("srv");
    reached(&bridge, "srv", ServerState::Connected).await;
    assert_eq!(fake.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_a_ping_is_gone() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.ping_every = Some(Duration::from_secs(30))).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(fake.seen("ping").len() >= 3);
    assert_eq!(bridge.status()[0].state, ServerState::Connected);
    fake.mute();
    reached(&bridge, "srv", ServerState::Pending).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_froze_in_a_call_is_replaced_and_one_that_only_hangs_in_it_is_not() {
    let fake = Fake::new(&["slow"]);
    fake.on_call(|_, _| Reply::Never);
    let bridge = one(&fake, |_| {}).await;
    let outcome = call(&bridge, "mcp__srv__slow").await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::TimedOut));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!((fake.connects(), fake.seen("ping").len()), (1, 1));
    fake.mute();
    let outcome = call(&bridge, "mcp__srv__slow").await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::TimedOut));
    reached(&bridge, "srv", ServerState::Pending).await;
    let why = bridge.explain("srv").unwrap();
    assert_eq!(why.cause, "it no longer answers, not even when asked whether it is there");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_on_the_way_says_what_it_was_and_whether_the_call_may_have_run() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    let down = FailureKind::Unavailable;
    for (class, delivery, kind, text) in [
        (
            ErrorClass::Transient,
            Delivery::Unknown,
            down,
            "is unavailable: no result came; the call may have been carried out",
        ),
        (
            ErrorClass::Permanent,
            Delivery::NotSent,
            down,
            "is unavailable: it does not take this call",
        ),
        (
            ErrorClass::Permanent,
            Delivery::Unknown,
            FailureKind::InvalidResult,
            "gave no answer that can be read; the call may have been carried out",
        ),
    ] {
        fake.on_call(move |_, _| Reply::Lost(class, delivery));
        let outcome = call(&bridge, "mcp__srv__a").await;
        assert_eq!(outcome.failure_kind(), Some(kind));
        assert_eq!(outcome.text_content(), format!("mcp server srv {text}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_delays_nobody_and_a_host_may_queue_while_one_is_down() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| {
        options.queue_while_down = Some(Duration::from_secs(30));
        options.backoff = Backoff::five_attempts();
    })
    .await;
    let turn = bridge.snapshot();
    fake.refuse_once(down()).refuse_once(down());
    fake.kill();
    settled().await;
    let outcome = turn
        .call(
            "mcp__srv__a",
            mcp_bridge::RawJson::empty_object(),
            mcp_bridge::CallContext::default(),
        )
        .await;
    assert!(!outcome.is_error, "{outcome}");
    fake.refuse(Some(down));
    fake.kill();
    reached(&bridge, "srv", ServerState::Failed).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let tries = fake.connects();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fake.connects(), tries, "the preset gives up");
}

#[tokio::test(start_paused = true)]
async fn what_a_person_says_is_heard_through_a_thousand_calls() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.idle_stop = Some(Duration::from_secs(60))).await;
    bridge.wait_for("srv", |status| status.detail == Detail::Idle).await.unwrap();
    let mut calls: Vec<_> = (0..1_000).map(|_| Box::pin(call(&bridge, "mcp__srv__a"))).collect();
    // Each says that it needs the server, and nobody has listened yet.
    futures::future::poll_fn(|cx| {
        assert!(calls.iter_mut().all(|call| call.as_mut().poll(cx).is_pending()));
        std::task::Poll::Ready(())
    })
    .await;
    assert!(bridge.disable("srv"));
    settled().await;
    assert_eq!(bridge.status()[0].state, ServerState::Disabled);
    let ended = futures::future::join_all(calls).await;
    assert!(ended.iter().all(|o| o.failure_kind() == Some(FailureKind::Unavailable)));
    bridge.enable("srv");
    settled().await;
    assert!(!call(&bridge, "mcp__srv__a").await.is_error, "and wishes are heard again");
}

#[tokio::test(start_paused = true)]
async fn when_the_bridge_is_dropped_so_are_its_connections() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    let turn = bridge.snapshot();
    drop(bridge);
    settled().await;
    let still = turn
        .call(
            "mcp__srv__a",
            mcp_bridge::RawJson::empty_object(),
            mcp_bridge::CallContext::default(),
        )
        .await;
    assert!(!still.is_error, "a turn that is under way is finished");
    drop(turn);
    fake.refuse(Some(down));
    settled().await;
    fake.kill();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(fake.connects(), 1);
}

/// Logs in, and from then on the server lets us in; out, and it does not.
struct Logs(Fake);

impl mcp_bridge::Login for Logs {
    fn login(&self, tell: mcp_bridge::TellUser) -> mcp_bridge::BoxFuture<'_, Result<(), String>> {
        tell("open https://login.test/".into());
        self.0.refuse(None);
        Box::pin(async { Ok(()) })
    }

    fn logout(&self) -> mcp_bridge::BoxFuture<'_, Result<(), String>> {
        self.0.refuse(Some(login_needed));
        Box::pin(async { Ok(()) })
    }

    fn is_needed(&self) -> bool {
        self.0.connects() > 0 && self.0.is_refusing()
    }
}

struct WithLogin(Fake);

impl mcp_bridge::Connector for WithLogin {
    fn open(&self, _: &mcp_bridge::ServerConfig) -> Result<mcp_bridge::Way, ConnectError> {
        let mut way = mcp_bridge::Way::new(std::sync::Arc::new(self.0.clone()));
        way.login = Some(std::sync::Arc::new(Logs(self.0.clone())));
        Ok(way)
    }
}

#[tokio::test(start_paused = true)]
async fn the_login_tool_logs_in_and_the_tools_appear() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(login_needed));
    let bridge = one(&fake, |options| {
        options.connector = std::sync::Arc::new(WithLogin(fake.clone()));
    })
    .await;
    let outcome = call(&bridge, "mcp__srv__authenticate").await;
    assert_eq!(outcome.text_content(), "open https://login.test/\nlogged in to srv");
    reached(&bridge, "srv", ServerState::Connected).await;
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn a_login_is_shown_while_it_is_of_use_and_a_logout_ends_the_connection() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(login_needed));
    let bridge = one(&fake, |options| {
        options.connector = std::sync::Arc::new(WithLogin(fake.clone()));
    })
    .await;
    let (shown, mut context) =
        (std::sync::Arc::new(Mutex::new(Vec::new())), CallContext::default());
    let showing = shown.clone();
    context.on_progress =
        Some(std::sync::Arc::new(move |step| showing.lock().unwrap().push(step.message)));
    bridge.call("mcp__srv__authenticate", args(&json!({})), context).await;
    assert_eq!(*shown.lock().unwrap(), [Some("open https://login.test/".to_owned())]);
    reached(&bridge, "srv", ServerState::Connected).await;
    bridge.logout("srv").await.unwrap();
    reached(&bridge, "srv", ServerState::NeedsAuth).await;
    assert_eq!(names(&bridge), ["mcp__srv__authenticate"]);
    assert!(bridge.logout("nobody").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_known_to_need_a_login_is_not_knocked_at_again() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(login_needed));
    let with_login = |options: &mut mcp_bridge::BridgeOptions| {
        options.connector = std::sync::Arc::new(WithLogin(fake.clone()));
    };
    drop(one(&fake, with_login).await);
    let again = one(&fake, with_login).await;
    assert_eq!((again.status()[0].state, fake.connects()), (ServerState::NeedsAuth, 1));
    assert_eq!(names(&again), ["mcp__srv__authenticate"]);
    fake.refuse(None);
    again.reconnect("srv");
    reached(&again, "srv", ServerState::Connected).await;
    drop(one(&fake, with_login).await);
    assert_eq!(fake.connects(), 3);
}

#[tokio::test(start_paused = true)]
async fn stubs_stay_on_request_and_say_that_their_server_is_down() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.keep_stubs = true).await;
    let before = names(&bridge);
    fake.refuse(Some(down));
    fake.kill();
    settled().await;
    assert_ne!(bridge.status()[0].state, ServerState::Connected);
    assert_eq!(names(&bridge), before);
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Unavailable));
    bridge.disable("srv");
    reached(&bridge, "srv", ServerState::Disabled).await;
    assert!(names(&bridge).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_refused_for_want_of_a_login_offers_one_beside_the_tools() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Lost(ErrorClass::Auth, Delivery::NotSent));
    let bridge = one(&fake, |options| {
        options.connector = std::sync::Arc::new(WithLogin(fake.clone()));
    })
    .await;
    let mut events = bridge.events();
    for _ in 0..2 {
        assert_eq!(call(&bridge, "mcp__srv__a").await.failure_kind(), Some(FailureKind::Auth));
        settled().await;
    }
    assert_eq!(bridge.status()[0].state, ServerState::Connected);
    assert_eq!(names(&bridge), ["mcp__srv__a", "mcp__srv__authenticate"]);
    let told = told(&mut events);
    assert_eq!(told.iter().filter(|name| **name == "server.needsAuth").count(), 1, "{told:?}");
    fake.on_call(|_, _| Reply::Text("done"));
    call(&bridge, "mcp__srv__authenticate").await;
    settled().await;
    reached(&bridge, "srv", ServerState::Connected).await;
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_for_which_there_is_no_process_left_holds_up_nobody() {
    let (one, two) = (Fake::new(&["a"]), Fake::new(&["b"]));
    let mut options = options(&fakes([("one", &one), ("two", &two)]));
    options.max_processes = Some(1);
    let bridge = Bridge::new(options);
    bridge.add_server(config("one"));
    bridge.add_server(config("two"));
    let begun = Instant::now();
    bridge.start().await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let waits = if bridge.status()[0].state == ServerState::Connected { "two" } else { "one" };
    let runs = if waits == "two" { "one" } else { "two" };
    let explained = bridge.explain(waits).unwrap();
    assert_eq!(explained.cause, "as many local servers run as this host allows at once");
    bridge.disable(runs);
    reached(&bridge, waits, ServerState::Connected).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_is_told_as_such_and_a_silent_server_is_explained() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.ping_every = Some(Duration::from_secs(30))).await;
    let mut events = bridge.events();
    fake.kill();
    settled().await;
    assert!(told(&mut events).contains(&"server.disconnected"));
    reached(&bridge, "srv", ServerState::Connected).await;
    fake.mute();
    reached(&bridge, "srv", ServerState::Pending).await;
    let explained = bridge.explain("srv").unwrap();
    assert_eq!(explained.cause, "it no longer answers, not even when asked whether it is there");
}
