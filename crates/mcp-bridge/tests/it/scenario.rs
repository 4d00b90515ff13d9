//! The day of a host with eight servers, in a second: whatever happens to one happens to nobody else.

use std::time::Duration;

use mcp_bridge::{
    Bridge, CallContext, Delivery, Detail, ErrorClass, FailureKind, RawJson, ServerState,
};
use mcp_jsonrpc::{Loss, Trouble};
use mcp_transport::ConnectError;
use serde_json::json;

use crate::support::{Fake, Reply, call, config, fakes, names, options, reached, settled, tool};

const MINUTE: Duration = Duration::from_secs(60);

fn down() -> ConnectError {
    ConnectError::Unavailable("down".into())
}

fn login_needed() -> ConnectError {
    let loss = Loss::new(Delivery::NotSent, ErrorClass::Auth, Trouble::Credentials, "401");
    ConnectError::Refused(Box::new(loss))
}

fn server(n: usize) -> String {
    format!("s{n}")
}

fn work(n: usize) -> String {
    format!("mcp__s{n}__work")
}

/// Eight servers with a tool each.
async fn eight(change: impl FnOnce(&mut mcp_bridge::BridgeOptions)) -> (Bridge, Vec<Fake>) {
    let servers: Vec<Fake> = (0..8).map(|_| Fake::new(&["work"])).collect();
    let named: Vec<String> = (0..8).map(server).collect();
    let mut options = options(&fakes(named.iter().map(String::as_str).zip(&servers)));
    change(&mut options);
    let bridge = Bridge::new(options);
    for name in &named {
        bridge.add_server(config(name));
    }
    bridge.start().await;
    (bridge, servers)
}

/// A call to this server fails on its way, with this verdict.
async fn fails(bridge: &Bridge, n: usize, delivery: Delivery) {
    let outcome = call(bridge, &work(n)).await;
    let failure = outcome.failure.clone().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!((failure.kind, failure.delivery), (FailureKind::Unavailable, delivery), "{outcome}");
}

/// One of the things that happen to servers, to this one.
async fn happens(what: usize, n: usize, bridge: &Bridge, fake: &Fake) {
    let name = server(n);
    match what {
        // It dies in the middle of a call, and its tool may have run.
        0 => {
            fake.on_call(|_, _| Reply::Die);
            fails(bridge, n, Delivery::Unknown).await;
            fake.on_call(|_, _| Reply::Text("done"));
        }
        // It forgets us, and its tool has not run.
        1 => {
            fake.on_call(|_, _| Reply::Lost(ErrorClass::Session, Delivery::NotSent));
            fails(bridge, n, Delivery::NotSent).await;
            fake.on_call(|_, _| Reply::Text("done"));
        }
        // It has another tool, for a while.
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
        // It is away for half a minute. The turn that began before is told so.
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
        // Its login has run out, and the user logs in.
        4 => {
            fake.refuse(Some(login_needed));
            fake.kill();
            reached(bridge, &name, ServerState::NeedsAuth).await;
            let login = format!("mcp__s{n}__authenticate");
            assert!(bridge.snapshot().get(&login).is_some());
            fake.refuse(None);
            bridge.reconnect(&name);
        }
        // It is switched off and on.
        _ => {
            bridge.disable(&name);
            reached(bridge, &name, ServerState::Disabled).await;
            bridge.enable(&name);
            bridge.connect(&name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn eight_servers_live_through_a_day_of_everything_that_can_happen() {
    let (bridge, servers) = eight(|_| {}).await;
    let order = names(&bridge);
    assert_eq!(order.len(), 8);
    for minute in 0..24 * 60 {
        let victim = minute % 8;
        happens(minute / 8 % 6, victim, &bridge, &servers[victim]).await;
        // In the course of the day everybody is called while everything happens to everybody else.
        let other = (victim + 1 + minute / 8 % 7) % 8;
        let outcome = call(&bridge, &work(other)).await;
        assert!(!outcome.is_error, "minute {minute}, {victim} → {other}: {outcome}");
        settled().await;
        tokio::time::sleep(MINUTE).await;
        reached(&bridge, &server(victim), ServerState::Connected).await;
        assert!(!call(&bridge, &work(victim)).await.is_error, "minute {minute}");
        assert_eq!(names(&bridge), order, "minute {minute}");
    }
    assert_eq!(bridge.explain_all(), []);
}

#[tokio::test(start_paused = true)]
async fn eight_servers_rest_and_wake_all_day_and_never_answer_twice() {
    let (bridge, servers) = eight(|options| options.idle_stop = Some(MINUTE)).await;
    let order = names(&bridge);
    for hour in 1..=24 {
        tokio::time::sleep(60 * MINUTE).await;
        assert!(bridge.status().iter().all(|server| server.detail == Detail::Idle), "hour {hour}");
        assert_eq!(names(&bridge), order, "what rests can be called");
        for (n, fake) in servers.iter().enumerate() {
            assert!(!call(&bridge, &work(n)).await.is_error, "hour {hour}");
            assert_eq!((fake.connects(), fake.calls()), (hour + 1, hour), "hour {hour}");
        }
    }
}

/// Nobody can be reached, as a WebSocket would say.
fn unreachable(trouble: Trouble, reason: &str) -> ConnectError {
    ConnectError::Unreachable { trouble, reason: reason.into() }
}

/// The same, as said of a POST.
fn lost(trouble: Trouble, reason: &str) -> ConnectError {
    let loss = Loss::new(Delivery::NotSent, ErrorClass::Transient, trouble, reason);
    ConnectError::Refused(Box::new(loss))
}

#[tokio::test(start_paused = true)]
async fn when_the_network_goes_all_servers_behind_it_have_one_explanation() {
    let (bridge, servers) = eight(|_| {}).await;
    // Each puts it in other words, one of them in a language that nobody here expects.
    let refusals: [fn() -> ConnectError; 3] = [
        || unreachable(Trouble::Refused, "ws://b.test/ws: Connection refused (os error 111)"),
        || lost(Trouble::Refused, "could not connect to http://a.test/mcp: tcp connect error"),
        || lost(Trouble::Refused, "http://c.test/sse: Verbindungsaufbau abgelehnt"),
    ];
    for (n, fake) in servers.iter().enumerate().skip(2) {
        fake.refuse(Some(refusals[n % 3]));
        fake.kill();
    }
    tokio::time::sleep(10 * MINUTE).await;
    let all = bridge.explain_all();
    assert_eq!((all.len(), all[0].servers.len()), (1, 6), "{all:?}");
    assert_eq!(all[0].cause, "nobody listens where they should be");
    assert!(!call(&bridge, &work(0)).await.is_error && !call(&bridge, &work(1)).await.is_error);
}

#[tokio::test(start_paused = true)]
async fn servers_in_different_trouble_have_an_explanation_each_whatever_their_words() {
    let (bridge, servers) = eight(|_| {}).await;
    let refusals: [fn() -> ConnectError; 4] = [
        || lost(Trouble::CutOff, "it did not work"),
        || lost(Trouble::UnknownHost, "it did not work"),
        || lost(Trouble::Tls, "it did not work"),
        // A server may say so of somebody else.
        || lost(Trouble::Status(502), "its backend says: connection refused"),
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
            ("their connections are cut off", 2),
            ("their names lead nowhere", 2),
            ("no secure connection to them comes about", 2),
            ("its backend says: connection refused", 2),
        ]
    );
}
