//! Calls to servers whose connection or session has ended: with queueing and without.

use std::time::Duration;

use mcp_bridge::{
    Bridge, BridgeOptions, CallContext, FailureKind, RawJson, ServerState,
    options::Retry,
    tool::{Delivery, ErrorClass},
};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Fake, Reply, call, fakes, names, one, options, reached, settled};

const UNAVAILABLE: &str = "mcp server srv is unavailable";

fn queueing(options: &mut BridgeOptions) {
    options.queue_while_down = Some(Duration::from_secs(60));
}

/// A server that loses its session with the first call, and works afterwards.
fn forgetful() -> Fake {
    let fake = Fake::new(&["a"]);
    let mut is_lost = false;
    fake.on_call(move |_, _| {
        if std::mem::replace(&mut is_lost, true) {
            Reply::Text("done")
        } else {
            Reply::Lost(ErrorClass::Session, Delivery::NotSent)
        }
    });
    fake
}

#[tokio::test(start_paused = true)]
async fn call_that_finds_its_session_lost_waits_for_the_next_one_if_calls_queue() {
    for queues in [true, false] {
        let fake = forgetful();
        let bridge = one(&fake, |options| {
            options.retry = Retry::every(Duration::ZERO, 1);
            if queues {
                queueing(options);
            }
        })
        .await;
        fake.starts_in(Duration::from_secs(5));
        let began = Instant::now();
        let outcome = call(&bridge, "mcp__srv__a").await;
        if queues {
            assert_eq!(outcome.text_content(), "done");
            assert_eq!(began.elapsed().as_secs(), 5);
        } else {
            assert_eq!(outcome.text_content(), UNAVAILABLE);
            assert!(began.elapsed() < Duration::from_millis(10));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn queued_call_is_not_sent_forever_to_a_server_that_ends_every_session() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Lost(ErrorClass::Session, Delivery::NotSent));
    let bridge = one(&fake, queueing).await;
    assert_eq!(call(&bridge, "mcp__srv__a").await.text_content(), UNAVAILABLE);
    assert_eq!(fake.calls(), 4);
}

#[tokio::test(start_paused = true)]
async fn queued_call_that_may_have_run_is_not_sent_again() {
    let fake = Fake::new(&["a"]);
    fake.on_call(|_, _| Reply::Lost(ErrorClass::Session, Delivery::Unknown));
    let bridge = one(&fake, queueing).await;
    let outcome = call(&bridge, "mcp__srv__a").await;
    assert!(outcome.text_content().contains("may have been carried out"), "{outcome}");
    assert_eq!(fake.calls(), 1);
}

/// The client is closed, and its supervisor has not run yet: the status still says connected.
#[tokio::test(start_paused = true)]
async fn call_queues_although_the_closed_connection_still_counts_as_connected() {
    for queues in [true, false] {
        let fake = Fake::new(&["a"]);
        let bridge = one(&fake, |options| {
            if queues {
                queueing(options);
            }
        })
        .await;
        let turn = bridge.snapshot();
        fake.on_call(|_, _| Reply::Die);
        // The end of this call is the moment at which the client is known to be closed.
        let first = call(&bridge, "mcp__srv__a").await;
        assert_eq!(first.failure.unwrap().delivery, Delivery::Unknown);
        fake.on_call(|_, _| Reply::Text("done"));
        let next = turn.call("mcp__srv__a", RawJson::empty_object(), CallContext::default()).await;
        let expected = if queues { "done" } else { UNAVAILABLE };
        assert_eq!(next.text_content(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn call_that_starts_a_server_queues_through_failed_attempts() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| {
        queueing(options);
        options.idle_stop = Some(Duration::from_secs(10));
    })
    .await;
    bridge.wait_for("srv", |status| status.state.is_idle()).await.unwrap();
    fake.refuse_once(mcp_transport::ConnectError::Unavailable("down".into()));
    assert_eq!(call(&bridge, "mcp__srv__a").await.text_content(), "done");
}

#[tokio::test(start_paused = true)]
async fn calls_during_a_login_with_wider_scope_fail_at_once() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| {
        options.connector = std::sync::Arc::new(crate::lifecycle::WithLogin(fake.clone()));
    })
    .await;
    fake.starts_in(Duration::from_secs(8));
    let turn = bridge.snapshot();
    let login = bridge.login("srv", std::sync::Arc::new(|_| {}));
    let calling = async {
        settled().await;
        let began = Instant::now();
        let outcome =
            turn.call("mcp__srv__a", RawJson::empty_object(), CallContext::default()).await;
        assert_eq!(outcome.text_content(), UNAVAILABLE);
        assert!(began.elapsed() < Duration::from_millis(10));
    };
    tokio::join!(login, calling).0.unwrap();
    assert!(!call(&bridge, "mcp__srv__a").await.is_error, "the login waited for the connection");
}

/// With stubs, the tools of a server that is down stay listed, and calls of them queue too.
#[tokio::test(start_paused = true)]
async fn calls_of_stubs_queue_by_name_and_in_a_later_snapshot() {
    let fake = Fake::new(&["a"]);
    let bridge = one(&fake, |options| {
        queueing(options);
        options.keep_stubs = true;
    })
    .await;
    fake.refuse_once(mcp_transport::ConnectError::Unavailable("down".into()));
    fake.kill();
    reached(&bridge, "srv", ServerState::is_pending).await;
    let later = bridge.snapshot();
    assert_eq!(names(&bridge), ["mcp__srv__a"]);
    let by_name = call(&bridge, "mcp__srv__a");
    let by_snapshot = later.call("mcp__srv__a", RawJson::empty_object(), CallContext::default());
    let (one, other) = tokio::join!(by_name, by_snapshot);
    assert_eq!((one.text_content(), other.text_content()), ("done".into(), "done".into()));
}

#[tokio::test(start_paused = true)]
async fn calls_and_logins_wait_for_a_slow_start_up_to_the_start_limit() {
    const LIMIT: Duration = Duration::from_secs(7);
    let fake = Fake::new(&["a"]);
    let mut options = options(&fakes([("srv", &fake)]));
    options.connector = std::sync::Arc::new(crate::lifecycle::WithLogin(fake.clone()));
    (options.lazy_start, options.start_limit) = (true, LIMIT);
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(crate::support::config("srv"));
    for (start, is_reached) in [(3, true), (10, false)] {
        fake.starts_in(Duration::from_secs(start));
        let began = Instant::now();
        let status = bridge.login("srv", std::sync::Arc::new(|_| {})).await.unwrap();
        assert_eq!(status.state.is_connected(), is_reached);
        assert_eq!(began.elapsed(), Duration::from_secs(start).min(LIMIT));
        bridge.disable("srv").unwrap();
        reached(&bridge, "srv", ServerState::is_disabled).await;
        bridge.enable("srv").unwrap();
        reached(&bridge, "srv", ServerState::is_idle).await;
        let began = Instant::now();
        assert_eq!(call(&bridge, "mcp__srv__a").await.is_error, !is_reached);
        assert_eq!(began.elapsed(), Duration::from_secs(start).min(LIMIT));
        bridge.disable("srv").unwrap();
        reached(&bridge, "srv", ServerState::is_disabled).await;
        bridge.enable("srv").unwrap();
        reached(&bridge, "srv", ServerState::is_idle).await;
    }
}

/// A bridge over a read-only tool that never answers, with an idle limit of a second and ten attempts.
async fn never(change: impl FnOnce(&mut BridgeOptions)) -> (Fake, Bridge) {
    let fake = Fake::new(&[]);
    fake.tools(json!([{"name": "a", "annotations": {"readOnlyHint": true}}]));
    fake.on_call(|_, _| Reply::Never);
    let mut options = options(&fakes([("srv", &fake)]));
    options.retry = Retry::every(Duration::from_millis(10), 10);
    options.client.call_idle_timeout = Duration::from_secs(1);
    change(&mut options);
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(crate::support::config("srv"));
    bridge.start().await;
    (fake, bridge)
}

#[tokio::test(start_paused = true)]
async fn all_attempts_of_a_call_share_its_total_limit() {
    const TOTAL: Duration = Duration::from_millis(2_500);
    for by_context in [true, false] {
        let (fake, bridge) = never(|options| options.client.call_total_timeout = TOTAL).await;
        let mut context = CallContext::default();
        context.total_timeout = by_context.then_some(TOTAL);
        let began = Instant::now();
        let outcome = bridge.call("mcp__srv__a", RawJson::empty_object(), context).await;
        assert_eq!(outcome.failure_kind(), Some(FailureKind::TimedOut));
        let took = began.elapsed();
        assert!((TOTAL..TOTAL + Duration::from_millis(20)).contains(&took), "{took:?}");
        assert_eq!(fake.calls(), 3);
    }
}
