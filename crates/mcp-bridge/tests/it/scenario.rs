//! A simulated day of a host with eight servers: failures of one do not affect the others.

use std::time::Duration;

use mcp_bridge::{
    Bridge, CallContext, FailureKind, RawJson, ServerState,
    tool::{Delivery, ErrorClass},
};
use mcp_jsonrpc::{FailureCause, Loss};
use mcp_transport::ConnectError;
use serde_json::json;

use crate::support::{Fake, Reply, call, config, fakes, names, options, reached, settled, tool};

const MINUTE: Duration = Duration::from_secs(60);

fn down() -> ConnectError {
    ConnectError::Unavailable("down".into())
}

fn login_needed() -> ConnectError {
    let loss = Loss::new(Delivery::NotSent, ErrorClass::Auth, FailureCause::Credentials, "401");
    ConnectError::Refused(Box::new(loss))
}

fn server(n: usize) -> String {
    format!("s{n}")
}

fn work(n: usize) -> String {
    format!("mcp__s{n}__work")
}

/// A bridge with eight servers that have one tool each.
async fn eight(change: impl FnOnce(&mut mcp_bridge::BridgeOptions)) -> (Bridge, Vec<Fake>) {
    let servers: Vec<Fake> = (0..8).map(|_| Fake::new(&["work"])).collect();
    let named: Vec<String> = (0..8).map(server).collect();
    let mut options = options(&fakes(named.iter().map(String::as_str).zip(&servers)));
    change(&mut options);
    let bridge = Bridge::new(options);
    for name in &named {
        bridge.add_server_as_written(config(name));
    }
    bridge.start().await;
    (bridge, servers)
}

/// Calls a tool of this server and expects it to fail with this delivery status.
async fn fails(bridge: &Bridge, n: usize, delivery: Delivery) {
    let outcome = call(bridge, &work(n)).await;
    let failure = outcome.failure.clone().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!((failure.kind, failure.delivery), (FailureKind::Unavailable, delivery), "{outcome}");
}

/// Makes one kind of event happen to this server.
async fn happens(what: usize, n: usize, bridge: &Bridge, fake: &Fake) {
    let name = server(n);
    match what {
        // It dies during a call, and the tool may have run.
        0 => {
            fake.on_call(|_, _| Reply::Die);
            fails(bridge, n, Delivery::Unknown).await;
            fake.on_call(|_, _| Reply::Text("done"));
        }
        // It loses the session, and the tool has not run.
        1 => {
            fake.on_call(|_, _| Reply::Lost(ErrorClass::Session, Delivery::NotSent));
            fails(bridge, n, Delivery::NotSent).await;
            fake.on_call(|_, _| Reply::Text("done"));
        }
        // It offers an additional tool for a while.
        2 => {
            let before = bridge.snapshot();
            fake.tools(json!([tool("more"), tool("work")]));
            fake.notify("notifications/tools/list_changed");
            tokio::time::sleep(Duration::from_secs(1)).await;
            let more = format!("mcp__s{n}__more");
            assert!(before.get(&more).is_none() && bridge.snapshot().get(&more).is_some());
            fake.tools(json!([tool("work")]));
            fake.notify("notifications/tools/list_changed");
        }
        // It is down for half a minute. Calls of the turn that began before fail.
        3 => {
            let turn = bridge.snapshot();
            fake.refuse(Some(down));
            fake.kill();
            tokio::time::sleep(MINUTE / 2).await;
            let nothing = RawJson::empty_object();
            let outcome = turn.call(&work(n), nothing, CallContext::default()).await;
            assert_eq!(outcome.failure.unwrap().delivery, Delivery::NotSent);
            assert!(bridge.snapshot().get(&work(n)).is_none());
            fake.refuse(None);
        }
        // Its login expires, and the user logs in.
        4 => {
            fake.refuse(Some(login_needed));
            fake.kill();
            reached(bridge, &name, ServerState::needs_login).await;
            assert!(bridge.snapshot().get(&work(n)).is_none());
            fake.refuse(None);
            bridge.reconnect(&name).unwrap();
        }
        // It is disabled and enabled.
        _ => {
            bridge.disable(&name).unwrap();
            reached(bridge, &name, ServerState::is_disabled).await;
            bridge.enable(&name).unwrap();
            bridge.connect(&name).unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn eight_servers_survive_a_day_of_all_failures() {
    let (bridge, servers) = eight(|_| {}).await;
    let order = names(&bridge);
    assert_eq!(order.len(), 8);
    for minute in 0..24 * 60 {
        let victim = minute % 8;
        happens(minute / 8 % 6, victim, &bridge, &servers[victim]).await;
        // Over the day, every server is called while every kind of event happens to another one.
        let other = (victim + 1 + minute / 8 % 7) % 8;
        let outcome = call(&bridge, &work(other)).await;
        assert!(!outcome.is_error, "minute {minute}, {victim} → {other}: {outcome}");
        settled().await;
        tokio::time::sleep(MINUTE).await;
        reached(&bridge, &server(victim), ServerState::is_connected).await;
        assert!(!call(&bridge, &work(victim)).await.is_error, "minute {minute}");
        assert_eq!(names(&bridge), order, "minute {minute}");
    }
    assert_eq!(bridge.explain_all(), []);
}

#[tokio::test(start_paused = true)]
async fn eight_servers_stop_when_idle_and_restart_all_day() {
    let (bridge, servers) = eight(|options| options.idle_stop = Some(MINUTE)).await;
    let order = names(&bridge);
    for hour in 1..=24 {
        tokio::time::sleep(60 * MINUTE).await;
        assert!(bridge.status().iter().all(|server| server.state.is_idle()), "hour {hour}");
        assert_eq!(names(&bridge), order, "idle servers can be called");
        for (n, fake) in servers.iter().enumerate() {
            assert!(!call(&bridge, &work(n)).await.is_error, "hour {hour}");
            assert_eq!((fake.connects(), fake.calls()), (hour + 1, hour), "hour {hour}");
        }
    }
}

/// A connect error as the WebSocket transport reports it.
fn unreachable(cause: FailureCause, reason: &str) -> ConnectError {
    ConnectError::Unreachable { cause, reason: reason.into() }
}

/// The same failure as the HTTP transport reports it.
fn lost(cause: FailureCause, reason: &str) -> ConnectError {
    let loss = Loss::new(Delivery::NotSent, ErrorClass::Transient, cause, reason);
    ConnectError::Refused(Box::new(loss))
}

#[tokio::test(start_paused = true)]
async fn servers_behind_a_failed_network_share_one_explanation() {
    let (bridge, servers) = eight(|_| {}).await;
    // Each transport words it differently, one of them in another language.
    let refusals: [fn() -> ConnectError; 3] = [
        || unreachable(FailureCause::Refused, "ws://b.test/ws: Connection refused (os error 111)"),
        || lost(FailureCause::Refused, "could not connect to http://a.test/mcp: tcp connect error"),
        || lost(FailureCause::Refused, "http://c.test/sse: Verbindungsaufbau abgelehnt"),
    ];
    for (n, fake) in servers.iter().enumerate().skip(2) {
        fake.refuse(Some(refusals[n % 3]));
        fake.kill();
    }
    tokio::time::sleep(10 * MINUTE).await;
    let all = bridge.explain_all();
    assert_eq!((all.len(), all[0].servers.len()), (1, 6), "{all:?}");
    assert_eq!(all[0].cause, "the connection is refused");
    assert!(!call(&bridge, &work(0)).await.is_error && !call(&bridge, &work(1)).await.is_error);
}

#[tokio::test(start_paused = true)]
async fn different_failure_causes_have_separate_explanations() {
    let (bridge, servers) = eight(|_| {}).await;
    let refusals: [fn() -> ConnectError; 4] = [
        || lost(FailureCause::CutOff, "it did not work"),
        || lost(FailureCause::UnknownHost, "it did not work"),
        || lost(FailureCause::Tls, "it did not work"),
        // A server may report such a failure of its own backend.
        || lost(FailureCause::Status(502), "its backend says: connection refused"),
    ];
    for (n, fake) in servers.iter().enumerate() {
        fake.refuse(Some(refusals[n % 4]));
        fake.kill();
    }
    tokio::time::sleep(10 * MINUTE).await;
    let all = bridge.explain_all();
    let causes: Vec<_> = all.iter().map(|one| (one.cause.as_str(), one.servers.len())).collect();
    assert_eq!(
        causes,
        [
            ("the connection is closed before the response", 2),
            ("the host name cannot be resolved", 2),
            ("the TLS handshake fails", 2),
            ("its backend says: connection refused", 2),
        ]
    );
}
