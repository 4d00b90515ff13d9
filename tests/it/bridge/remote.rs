//! Remote servers that are killed, restarted, change their tools or lose their sessions.

use std::{sync::Arc, time::Duration};

use mcp_bridge::{
    Bridge, CallContext, FailureKind, RawJson, ServerState, ServerStatus, ToolOutcome,
    tool::Delivery,
};
use mcp_config::model::EraPin;
use mcp_tests::soon;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    live::{Away, Kind, Kits, call, options, text},
    reached,
};

/// A host with one such server, named `srv`.
async fn host(kits: &Kits, kind: Kind) -> (Bridge, Away) {
    let away = Away::start(kits, kind).await;
    let bridge = Bridge::new(options());
    bridge.add_server_as_written(away.config("srv"));
    soon("the start", bridge.start()).await;
    assert_eq!(bridge.explain_all(), [], "{kind:?}");
    (bridge, away)
}

/// A call that returns, and one that reports progress and then never ends.
fn lines(kind: Kind) -> [(&'static str, Value); 2] {
    match kind {
        Kind::EverythingHttp | Kind::EverythingSse => [
            ("mcp__srv__get-sum", json!({"a": 2, "b": 3})),
            (
                "mcp__srv__trigger-long-running-operation",
                json!({"duration": 3600, "steps": 36_000}),
            ),
        ],
        Kind::Mcp2Http | Kind::WebSocket => {
            [("mcp__srv__add", json!({"a": 2, "b": 3})), ("mcp__srv__wait", json!({}))]
        }
    }
}

/// Calls a tool, and kills its server once the call has begun.
async fn killed_during(bridge: &Bridge, away: &mut Away, line: &(&str, Value)) -> ToolOutcome {
    let begun = Arc::new(Notify::new());
    let mut context = CallContext::default();
    let heard = begun.clone();
    context.on_progress = Some(Arc::new(move |_| heard.notify_one()));
    let killing = async {
        soon("the first step", begun.notified()).await;
        away.kill().await;
    };
    let arguments = RawJson::encode(&line.1).unwrap();
    let calling = soon(line.0, bridge.call(line.0, arguments, context));
    futures::future::join(calling, killing).await.0
}

async fn recovers_after_kill_during_a_call(kind: Kind) {
    let Some(kits) = Kits::find() else { return };
    let (bridge, mut away) = host(&kits, kind).await;
    let [add, long] = lines(kind);
    assert!(text(&bridge, add.0, &add.1).await.contains('5'));
    let turn = bridge.snapshot();

    let outcome = killed_during(&bridge, &mut away, &long).await;
    let failure = outcome.failure.clone().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!((failure.kind, failure.delivery), (FailureKind::Unavailable, Delivery::Unknown));
    assert!(outcome.text_content().starts_with("mcp server srv is unavailable"), "{outcome}");

    // While the server is down, a call fails at once.
    let arguments = RawJson::encode(&add.1).unwrap();
    let calling = turn.call(add.0, arguments, CallContext::default());
    let outcome = soon("a call to a server that is down", calling).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Unavailable), "{outcome}");

    away.restart(&kits).await;
    let working = async {
        while call(&bridge, add.0, &add.1).await.is_error {
            reached(&bridge, "srv", ServerState::is_connected).await;
        }
    };
    soon("it works again", working).await;
    assert_eq!(bridge.snapshot().tools().len(), turn.tools().len());
    soon("the end", bridge.shutdown()).await;
}

#[tokio::test]
async fn http_server_killed_during_a_call_recovers() {
    recovers_after_kill_during_a_call(Kind::EverythingHttp).await;
}

#[tokio::test]
async fn sse_server_killed_during_a_call_recovers() {
    recovers_after_kill_during_a_call(Kind::EverythingSse).await;
}

#[tokio::test]
async fn websocket_server_killed_during_a_call_recovers() {
    recovers_after_kill_during_a_call(Kind::WebSocket).await;
}

#[tokio::test]
async fn modern_http_server_killed_during_a_call_recovers() {
    recovers_after_kill_during_a_call(Kind::Mcp2Http).await;
}

#[tokio::test]
async fn changed_tool_list_is_seen_in_the_next_turn_over_every_remote_transport() {
    let Some(kits) = Kits::find() else { return };
    for (kind, era) in
        [(Kind::WebSocket, None), (Kind::Mcp2Http, None), (Kind::Mcp2Http, Some(EraPin::Legacy))]
    {
        let away = Away::start(&kits, kind).await;
        let bridge = Bridge::new(options());
        let mut config = away.config("srv");
        config.era.clone_from(&era);
        bridge.add_server_as_written(config);
        soon("the start", bridge.start()).await;
        let turn = bridge.snapshot();
        assert_eq!(text(&bridge, "mcp__srv__grow", &json!({})).await, "grew");
        let more = bridge.status()[0].tools + 1;
        let grown = bridge.wait_for("srv", |status| status.tools == more);
        soon(&format!("the new list of {kind:?}, {era:?}"), grown).await.unwrap();
        assert!(
            turn.get("mcp__srv__grown").is_none(),
            "{kind:?} {era:?}: the current turn does not change"
        );
        assert!(bridge.snapshot().get("mcp__srv__grown").is_some(), "{kind:?} {era:?}");
        assert_eq!(text(&bridge, "mcp__srv__grown", &json!({})).await, "grown");
    }
}

#[tokio::test]
async fn lost_session_is_replaced_and_tools_are_listed_again() {
    let Some(kits) = Kits::find() else { return };
    let away = Away::start(&kits, Kind::Mcp2Http).await;
    let bridge = Bridge::new(options());
    let mut config = away.config("srv");
    config.era = Some(EraPin::Legacy);
    bridge.add_server_as_written(config);
    soon("the start", bridge.start()).await;
    let turn = bridge.snapshot();
    let connects = bridge.counters().connects;
    assert_eq!(text(&bridge, "mcp__srv__lose", &json!({})).await, "lost");
    let add = json!({"a": 2, "b": 3});
    // The stream or a call may notice first; a refused call did not run.
    let outcome = call(&bridge, "mcp__srv__add", &add).await;
    if let Some(failure) = &outcome.failure {
        assert_eq!((failure.kind, failure.delivery), (FailureKind::Unavailable, Delivery::NotSent));
    }
    let again = async {
        while bridge.counters().connects == connects {
            bridge.wait_for("srv", |status| status.state.is_connected()).await;
            tokio::task::yield_now().await;
        }
    };
    soon("another session", again).await;
    assert_eq!(text(&bridge, "mcp__srv__add", &add).await, "5");
    assert_eq!(bridge.snapshot().tools().len(), turn.tools().len());
}

#[tokio::test]
async fn server_restarted_between_two_calls_is_initialized_again() {
    let Some(kits) = Kits::find() else { return };
    for kind in [Kind::EverythingHttp, Kind::EverythingSse, Kind::WebSocket, Kind::Mcp2Http] {
        let (bridge, mut away) = host(&kits, kind).await;
        let [add, _] = lines(kind);
        assert!(text(&bridge, add.0, &add.1).await.contains('5'));
        away.restart(&kits).await;
        // Some restarts are noticed at once, others by the first call, which reports that it did not run.
        let mut calls = 0;
        let working = async {
            while call(&bridge, add.0, &add.1).await.is_error {
                calls += 1;
                reached(&bridge, "srv", ServerState::is_connected).await;
            }
        };
        soon("it works again", working).await;
        assert!(calls <= 2, "{kind:?}: {calls} calls failed");
    }
}

#[tokio::test]
async fn idle_session_is_ended_and_the_next_call_begins_another() {
    let Some(kits) = Kits::find() else { return };
    for kind in [Kind::EverythingHttp, Kind::EverythingSse, Kind::WebSocket] {
        let away = Away::start(&kits, kind).await;
        let mut options = options();
        options.idle_stop = Some(Duration::from_millis(300));
        let bridge = Bridge::new(options);
        bridge.add_server_as_written(away.config("srv"));
        soon("the start", bridge.start()).await;
        let idle = bridge.wait_for("srv", |status| status.state.is_idle());
        soon("it rests", idle).await.unwrap();
        assert!(!bridge.snapshot().tools().is_empty(), "tools of an idle server can be called");
        let [add, _] = lines(kind);
        assert!(text(&bridge, add.0, &add.1).await.contains('5'), "{kind:?}");
        assert_eq!(bridge.counters().connects, 2, "{kind:?}");
    }
}

#[tokio::test]
async fn servers_down_for_the_same_reason_are_explained_together() {
    let Some(kits) = Kits::find() else { return };
    let kinds = [Kind::EverythingHttp, Kind::EverythingSse, Kind::WebSocket];
    let mut away = Vec::new();
    let bridge = Bridge::new(options());
    for (kind, name) in kinds.into_iter().zip(["one", "two", "three"]) {
        away.push(Away::start(&kits, kind).await);
        bridge.add_server_as_written(away.last().unwrap().config(name));
    }
    soon("the start", bridge.start()).await;
    assert_eq!(bridge.explain_all(), []);
    for server in &mut away {
        server.kill().await;
    }
    let is_down = |status: &ServerStatus| status.state.next_try().is_some();
    for name in ["one", "two", "three"] {
        // A session over HTTP may not have noticed; reconnecting detects it.
        bridge.reconnect(name).unwrap();
        soon("it is down", bridge.wait_for(name, is_down)).await.unwrap();
    }
    let explained = async {
        // The bridge keeps retrying, so one server may be between two attempts.
        loop {
            match &bridge.explain_all()[..] {
                [one] if one.servers.len() == 3 => return one.clone(),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let explained = soon("one explanation", explained).await;
    assert_eq!(explained.cause, "the connection is closed before the response");
    let step = "check what they have in common: the network, a proxy, this machine";
    assert_eq!(explained.next_step, step);
}
