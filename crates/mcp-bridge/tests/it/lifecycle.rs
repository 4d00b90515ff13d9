//! Connections: start, loss, reconnect, login, idle stop.

use std::{sync::Mutex, time::Duration};

use mcp_bridge::{
    Bridge, CallContext, FailureKind, ServerState, lifecycle::Backoff, tool::ErrorClass,
};
use mcp_client::Delivery;
use mcp_config::model::ConnectMode;
use mcp_jsonrpc::{FailureCause, Loss};
use mcp_transport::ConnectError;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    Fake, Reply, args, call, config, fakes, names, one, options, reached, settled, told,
};

fn down() -> ConnectError {
    ConnectError::Unavailable("down".into())
}

pub(crate) fn login_needed() -> ConnectError {
    let loss = Loss::new(Delivery::NotSent, ErrorClass::Auth, FailureCause::Credentials, "401");
    ConnectError::Refused(Box::new(loss))
}

#[tokio::test(start_paused = true)]
async fn dead_server_is_reconnected_on_the_backoff_schedule() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.backoff.jitter = 0.0).await;
    let began = Instant::now();
    fake.refuse(Some(down));
    fake.kill();
    reached(&bridge, "srv", ServerState::is_failed).await;
    assert_eq!(began.elapsed().as_secs(), 1 + 2 + 5 + 15);
    fake.refuse(None);
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert_eq!(began.elapsed().as_secs(), 23 + 60);
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn day_of_reconnects_leaks_nothing() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    let began = Instant::now();
    let mut cycles = 0;
    while began.elapsed() < Duration::from_secs(86_400) {
        fake.kill();
        reached(&bridge, "srv", ServerState::is_pending).await;
        reached(&bridge, "srv", ServerState::is_connected).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        cycles += 1;
    }
    assert!(cycles > 1_000 && fake.connects() == cycles + 1);
    assert!(!call(&bridge, "mcp__srv__a").await.is_error);
}

#[tokio::test(start_paused = true)]
async fn failing_server_does_not_affect_others() {
    let (good, bad) = (Fake::new(&["a"]), Fake::new(&["b"]));
    bad.refuse(Some(|| ConnectError::InvalidOptions("broken".into())));
    let bridge = Bridge::new(options(&fakes([("good", &good), ("bad", &bad)])));
    let mut events = bridge.events();
    bridge.add_server_as_written(config("bad"));
    bridge.add_server_as_written(config("good"));
    bridge.start().await;
    assert_eq!(names(&bridge), ["mcp__good__a"]);
    let status = bridge.status();
    assert_eq!(status[0].state, ServerState::Failed { next_try: None });
    assert_eq!(status[0].problem.as_deref(), Some("broken"));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(bad.connects(), 1, "a permanent failure is not retried");
    let told = told(&mut events);
    assert!(told.contains(&"server.error") && told.contains(&"server.connected"), "{told:?}");
    bridge.start().await;
    assert_eq!(good.connects(), 1, "a second start has no effect");
    assert!(bridge.reconnect("bad").is_ok());
    settled().await;
    assert_eq!(bad.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn servers_start_in_batches_of_three_local_and_twenty_remote() {
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
            bridge.add_server_as_written(config(name));
        }
        let began = Instant::now();
        bridge.start().await;
        assert_eq!(fake.most_starts(), batch);
        assert_eq!(began.elapsed().as_secs(), 30_u64.div_ceil(batch as u64));
    }
}

#[tokio::test(start_paused = true)]
async fn lazy_server_starts_on_first_call_and_stops_when_idle() {
    let fake = Fake::new(&["a"]);
    let mut options = options(&fakes([("srv", &fake)]));
    options.idle_stop = Some(Duration::from_secs(300));
    let bridge = Bridge::new(options);
    let mut lazy = config("srv");
    lazy.connect = Some(ConnectMode::Lazy);
    bridge.add_server_as_written(lazy);
    bridge.start().await;
    settled().await;
    assert_eq!((fake.connects(), bridge.status()[0].state), (0, ServerState::Idle));
    assert!(bridge.connect("srv").is_ok());
    reached(&bridge, "srv", ServerState::is_connected).await;
    tokio::time::sleep(Duration::from_secs(301)).await;
    assert_eq!(bridge.status()[0].state, ServerState::Idle);
    assert_eq!(names(&bridge), ["mcp__srv__a"], "an idle server can be called");
    let turn = bridge.snapshot();
    let both = futures::future::join(call(&bridge, "mcp__srv__a"), call(&bridge, "mcp__srv__a"));
    let (one, other) = both.await;
    assert!(!one.is_error && !other.is_error);
    assert_eq!(fake.connects(), 2, "single flight");
    drop(turn);
}

#[tokio::test(start_paused = true)]
async fn call_in_flight_prevents_idle_stop() {
    let fake = Fake::new(&["slow"]);
    fake.on_call(|_, _| Reply::Never);
    let bridge = one(&fake, |options| options.idle_stop = Some(Duration::from_secs(10))).await;
    let outcome = call(&bridge, "mcp__srv__slow").await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::TimedOut));
    assert_eq!(outcome.failure.unwrap().delivery, Delivery::Unknown);
    assert_eq!(fake.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn lost_session_discards_state_and_fetches_new_tools() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    fake.on_call(|_, _| Reply::Lost(ErrorClass::Session, Delivery::NotSent));
    fake.tools(serde_json::json!([{"name": "b"}]));
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert!(outcome.text_content().starts_with("mcp server srv is unavailable"), "{outcome}");
    settled().await;
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert_eq!((names(&bridge), fake.connects()), (vec!["mcp__srv__b".to_owned()], 2));
}

#[tokio::test(start_paused = true)]
async fn needs_auth_without_a_login_explains_which_credentials_to_set() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(login_needed));
    let bridge = one(&fake, |_| {}).await;
    assert_eq!(bridge.status()[0].state, ServerState::NeedsLogin);
    assert_eq!(names(&bridge), Vec::<String>::new());
    let explained = bridge.explain("srv").unwrap();
    assert_eq!(explained.next_step, "set its credentials in its configuration entry");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fake.connects(), 1);
    fake.refuse(None);
    bridge.reconnect("srv").unwrap();
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn unauthorized_call_reports_only_authentication_failed() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Lost(ErrorClass::Auth, Delivery::NotSent));
    let bridge = one(&fake, |_| {}).await;
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert_eq!(outcome.text_content(), "authentication failed");
    assert!(!format!("{:?}", bridge.failed_calls()).contains("Bearer"));
}

#[tokio::test(start_paused = true)]
async fn disabled_server_stays_stopped_until_enabled() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |_| {}).await;
    bridge.disable("srv").unwrap();
    reached(&bridge, "srv", ServerState::is_disabled).await;
    assert!(names(&bridge).is_empty());
    bridge.reconnect("srv").unwrap();
    bridge.connect("srv").unwrap();
    settled().await;
    assert_eq!(bridge.status()[0].state, ServerState::Disabled);
    bridge.enable("srv").unwrap();
    bridge.connect("srv").unwrap();
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert_eq!(fake.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn unanswered_ping_closes_the_connection() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.ping_every = Some(Duration::from_secs(30))).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(fake.seen("ping").len() >= 3);
    assert_eq!(bridge.status()[0].state, ServerState::Connected);
    fake.mute();
    reached(&bridge, "srv", ServerState::is_pending).await;
}

#[tokio::test(start_paused = true)]
async fn frozen_server_is_restarted_after_a_call_timeout_but_a_slow_tool_is_not() {
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
    reached(&bridge, "srv", ServerState::is_pending).await;
    let why = bridge.explain("srv").unwrap();
    assert_eq!(why.cause, "it does not respond to pings");
}

#[tokio::test(start_paused = true)]
async fn transport_failure_states_whether_the_call_may_have_run() {
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
async fn slow_server_does_not_delay_others_and_calls_can_queue() {
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
    reached(&bridge, "srv", ServerState::is_failed).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let tries = fake.connects();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fake.connects(), tries, "no more attempts");
}

#[tokio::test(start_paused = true)]
async fn user_request_is_handled_during_a_thousand_calls() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.idle_stop = Some(Duration::from_secs(60))).await;
    bridge.wait_for("srv", |status| status.state.is_idle()).await.unwrap();
    let mut calls: Vec<_> = (0..1_000).map(|_| Box::pin(call(&bridge, "mcp__srv__a"))).collect();
    // Each call reports that it needs the server, before the supervisor has run.
    futures::future::poll_fn(|cx| {
        assert!(calls.iter_mut().all(|call| call.as_mut().poll(cx).is_pending()));
        std::task::Poll::Ready(())
    })
    .await;
    assert!(bridge.disable("srv").is_ok());
    settled().await;
    assert_eq!(bridge.status()[0].state, ServerState::Disabled);
    let ended = futures::future::join_all(calls).await;
    assert!(ended.iter().all(|o| o.failure_kind() == Some(FailureKind::Unavailable)));
    bridge.enable("srv").unwrap();
    settled().await;
    assert!(!call(&bridge, "mcp__srv__a").await.is_error, "later calls are handled again");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_bridge_closes_its_connections() {
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
    assert!(!still.is_error, "the current turn still works");
    drop(turn);
    fake.refuse(Some(down));
    settled().await;
    fake.kill();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(fake.connects(), 1);
}

/// A login that makes the server accept connections, and a logout that makes it refuse them.
struct Logs(Fake);

impl mcp_bridge::connect::Login for Logs {
    fn login(
        &self,
        user: mcp_bridge::connect::LoginUser,
    ) -> mcp_bridge::tool::BoxFuture<'_, Result<(), mcp_bridge::connect::LoginFailure>> {
        (user.tell)("open https://login.test/".into());
        self.0.refuse(None);
        Box::pin(async { Ok(()) })
    }

    fn logout(
        &self,
    ) -> mcp_bridge::tool::BoxFuture<'_, Result<(), mcp_bridge::connect::LoginFailure>> {
        self.0.refuse(Some(login_needed));
        Box::pin(async { Ok(()) })
    }

    fn is_needed(&self) -> bool {
        self.0.connects() > 0 && self.0.is_refusing()
    }
}

pub(crate) struct WithLogin(pub(crate) Fake);

impl mcp_bridge::connect::Connector for WithLogin {
    fn open(
        &self,
        _: &mcp_bridge::ServerConfig,
    ) -> Result<mcp_bridge::connect::ServerRoute, ConnectError> {
        let mut way = mcp_bridge::connect::ServerRoute::new(std::sync::Arc::new(self.0.clone()));
        way.login = Some(std::sync::Arc::new(Logs(self.0.clone())));
        Ok(way)
    }
}

#[tokio::test(start_paused = true)]
async fn login_tool_logs_in_and_tools_become_available() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(login_needed));
    let bridge = one(&fake, |options| {
        options.connector = std::sync::Arc::new(WithLogin(fake.clone()));
    })
    .await;
    let outcome = call(&bridge, "mcp__srv__authenticate").await;
    assert_eq!(
        outcome.text_content(),
        "open https://login.test/\nlogged in to srv; its tools: mcp__srv__a"
    );
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn login_url_is_shown_as_progress_and_logout_closes_the_connection() {
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
    reached(&bridge, "srv", ServerState::is_connected).await;
    bridge.logout("srv").await.unwrap();
    reached(&bridge, "srv", ServerState::needs_login).await;
    assert_eq!(names(&bridge), ["mcp__srv__authenticate"]);
    assert!(bridge.logout("nobody").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn server_known_to_need_a_login_is_not_contacted() {
    let fake = Fake::new(&["a"]);
    fake.refuse(Some(login_needed));
    let with_login = |options: &mut mcp_bridge::BridgeOptions| {
        options.connector = std::sync::Arc::new(WithLogin(fake.clone()));
    };
    drop(one(&fake, with_login).await);
    let again = one(&fake, with_login).await;
    assert_eq!((again.status()[0].state, fake.connects()), (ServerState::NeedsLogin, 1));
    assert_eq!(names(&again), ["mcp__srv__authenticate"]);
    fake.refuse(None);
    again.reconnect("srv").unwrap();
    reached(&again, "srv", ServerState::is_connected).await;
    drop(one(&fake, with_login).await);
    assert_eq!(fake.connects(), 3);
}

#[tokio::test(start_paused = true)]
async fn stubs_of_a_server_that_is_down_stay_listed_and_fail() {
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
    bridge.disable("srv").unwrap();
    reached(&bridge, "srv", ServerState::is_disabled).await;
    assert!(names(&bridge).is_empty());
}

#[tokio::test(start_paused = true)]
async fn call_that_needs_a_login_adds_the_login_tool() {
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
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
}

#[tokio::test(start_paused = true)]
async fn server_beyond_the_process_limit_does_not_block_others() {
    let (one, two) = (Fake::new(&["a"]), Fake::new(&["b"]));
    let mut options = options(&fakes([("one", &one), ("two", &two)]));
    options.max_processes = Some(1);
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(config("one"));
    bridge.add_server_as_written(config("two"));
    let begun = Instant::now();
    bridge.start().await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let waits = if bridge.status()[0].state.is_connected() { "two" } else { "one" };
    let runs = if waits == "two" { "one" } else { "two" };
    let explained = bridge.explain(waits).unwrap();
    assert_eq!(explained.cause, "the maximum number of local servers is already running");
    bridge.disable(runs).unwrap();
    reached(&bridge, waits, ServerState::is_connected).await;
}

#[tokio::test(start_paused = true)]
async fn closed_connection_has_an_event_and_silent_server_an_explanation() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| options.ping_every = Some(Duration::from_secs(30))).await;
    let mut events = bridge.events();
    fake.kill();
    settled().await;
    assert!(told(&mut events).contains(&"server.disconnected"));
    reached(&bridge, "srv", ServerState::is_connected).await;
    fake.mute();
    reached(&bridge, "srv", ServerState::is_pending).await;
    let explained = bridge.explain("srv").unwrap();
    assert_eq!(explained.cause, "it does not respond to pings");
}
