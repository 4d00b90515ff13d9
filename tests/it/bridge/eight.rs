//! A host with eight published servers over four transports.

use std::{path::Path, sync::Arc};

use futures::future::join_all;
use mcp_bridge::{
    Bridge, CallContext, Event, Events, FailureKind, RawJson, ServerState, Snapshot, tool::Delivery,
};
use mcp_tests::soon;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tokio::{process::Command, sync::Notify};

use super::live::{Away, Kind, Kits, Mark, call, options, text};
use super::reached;

const LONG: &str = "mcp__everything__trigger-long-running-operation";

/// A tool of each server, its arguments, and a part of its result.
fn lines(folder: &Path) -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("mcp__everything__echo", json!({"message": "one"}), "Echo: one"),
        ("mcp__http__get-sum", json!({"a": 2, "b": 3}), "5"),
        ("mcp__sse__echo", json!({"message": "three"}), "Echo: three"),
        ("mcp__files__list_allowed_directories", json!({}), "Allowed directories"),
        ("mcp__memory__read_graph", json!({}), "entities"),
        ("mcp__time__get_current_time", json!({"timezone": "Europe/Oslo"}), "Europe/Oslo"),
        ("mcp__git__git_status", json!({"repo_path": folder}), "Repository status"),
        ("mcp__socket__add", json!({"a": 20, "b": 3}), "23"),
    ]
}

/// Calls the tools of all servers at once.
async fn call_each(bridge: &Bridge, folder: &Path, except: Option<&str>) {
    let wanted = |tool: &str| except.is_none_or(|server| !tool.contains(server));
    join_all(lines(folder).into_iter().filter(|line| wanted(line.0)).map(
        async |(tool, arguments, answer)| {
            let said = text(bridge, tool, &arguments).await;
            assert!(said.contains(answer), "{tool}: {said}");
        },
    ))
    .await;
}

fn order(turn: &Snapshot) -> Vec<String> {
    turn.tools().iter().map(|tool| tool.spec().name.clone()).collect()
}

async fn hears(events: &mut Events, what: &str, is_it: impl Fn(&Event) -> bool) {
    soon(what, async { while !is_it(&events.next().await.unwrap()) {} }).await;
}

#[tokio::test]
async fn eight_servers_over_four_transports_are_searched_called_and_restarted() {
    let Some(kits) = Kits::find() else { return };
    let (folder, mark) = (tempfile::tempdir().unwrap(), Mark::new());
    let made = Command::new("git").args(["init", "-q"]).arg(folder.path()).status().await;
    assert!(made.unwrap().success());
    let starts = [Kind::EverythingHttp, Kind::EverythingSse, Kind::WebSocket]
        .map(|kind| Away::start(&kits, kind));
    let away = join_all(starts).await;
    let mut options = options();
    options.tool_search = true;
    let bridge = Bridge::new(options);
    let mut events = bridge.events();
    bridge.add_server_as_written(mark.on(kits.everything("everything")));
    bridge.add_server_as_written(away[0].config("http"));
    bridge.add_server_as_written(away[1].config("sse"));
    bridge.add_server_as_written(mark.on(kits.filesystem("files", folder.path())));
    bridge.add_server_as_written(mark.on(kits.memory("memory", folder.path())));
    bridge.add_server_as_written(mark.on(kits.time("time")));
    bridge.add_server_as_written(mark.on(kits.git("git", folder.path())));
    bridge.add_server_as_written(away[2].config("socket"));

    soon("the start", bridge.start()).await;
    assert_eq!(bridge.explain_all(), []);
    assert!(bridge.status().iter().all(|server| server.state.is_connected()));
    assert_eq!(mark.processes(None).len(), 5);

    // Too many tools for a prompt, so that the tool search is offered.
    assert_eq!(order(&bridge.snapshot()).len(), 4, "{:?}", order(&bridge.snapshot()));
    let query = json!({"query": "convert time between timezones"});
    let found: Value = serde_json::from_str(&text(&bridge, "tool_search", &query).await).unwrap();
    assert_eq!(found["matches"][0]["id"], "mcp__time__convert_time", "{found}");
    assert!(order(&bridge.snapshot()).contains(&"mcp__time__convert_time".to_owned()));

    call_each(&bridge, folder.path(), None).await;

    // Kill the server during a call, while all other servers are called.
    let before = order(&bridge.snapshot());
    let victim = mark.processes(Some("everything"))[0];
    let begun = Arc::new(Notify::new());
    let mut context = CallContext::default();
    let heard = begun.clone();
    context.on_progress = Some(Arc::new(move |_| heard.notify_one()));
    let arguments = RawJson::encode(&json!({"duration": 3600, "steps": 36_000})).unwrap();
    let killing = async {
        soon("the first step", begun.notified()).await;
        kill(Pid::from_raw(victim), Signal::SIGKILL).unwrap();
        call_each(&bridge, folder.path(), Some("everything")).await;
    };
    let calling = soon("the end of the call", bridge.call(LONG, arguments, context));
    let (outcome, ()) = futures::future::join(calling, killing).await;
    let failure = outcome.failure.clone().unwrap();
    assert_eq!((failure.kind, failure.delivery), (FailureKind::Unavailable, Delivery::Unknown));
    assert!(
        outcome.text_content().starts_with("mcp server everything is unavailable"),
        "{outcome}"
    );
    let is_end = |event: &Event| matches!(event, Event::ServerDisconnected { server, .. } | Event::ServerError { server, .. } if &**server == "everything");
    hears(&mut events, "the end", is_end).await;

    // The server reconnects, and its tools are listed in the same position.
    reached(&bridge, "everything", ServerState::is_connected).await;
    assert_ne!(mark.processes(Some("everything")), [victim]);
    call_each(&bridge, folder.path(), None).await;
    let after = order(&bridge.snapshot());
    assert_eq!(after[..before.len()], before, "the order of tools has not changed");
    assert_eq!(bridge.counters().connects, 9);

    soon("the end", bridge.shutdown()).await;
    mark.gone(None).await;
    let outcome = call(&bridge, "mcp__time__get_current_time", &json!({"timezone": "UTC"})).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Unavailable), "{outcome}");
}
