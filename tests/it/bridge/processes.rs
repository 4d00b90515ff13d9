//! Eight stdio servers that are killed, changed, stopped when idle and dropped.

use std::time::{Duration, Instant};

use mcp_bridge::{
    Bridge, CallContext, Event, FailureKind, RawJson, ServerConfig, ServerState, tool::Delivery,
};
use mcp_config::{Stdio, Transport};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{call, config, options, reached};

async fn pid(bridge: &Bridge, server: &str) -> Pid {
    let pid = call(bridge, &format!("mcp__{server}__pid")).await;
    Pid::from_raw(pid.parse().unwrap_or_else(|_| panic!("{pid}")))
}

fn is_alive(pid: Pid) -> bool {
    kill(pid, None).is_ok()
}

/// Polls until a process has ended.
async fn gone(pid: Pid) {
    let going = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    mcp_tests::soon("the process is gone", going).await;
}

#[tokio::test]
async fn killed_server_fails_its_call_and_seven_others_keep_working() {
    let bridge = Bridge::new(options());
    let names: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
    for name in &names {
        bridge.add_server_as_written(config(name));
    }
    mcp_tests::soon("the start", bridge.start()).await;
    assert_eq!(bridge.snapshot().tools().len(), 8 * 4);
    let victim = pid(&bridge, "s3").await;
    let turn = bridge.snapshot();
    let order: Vec<_> = turn.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    let waiting = turn.call("mcp__s3__wait", RawJson::empty_object(), CallContext::default());
    let killing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        kill(victim, Signal::SIGKILL).unwrap();
    };
    let joined = futures::future::join(waiting, killing);
    let (outcome, ()) = mcp_tests::soon("the call fails", joined).await;
    let failure = outcome.failure.clone().unwrap();
    assert_eq!((failure.kind, failure.delivery), (FailureKind::Unavailable, Delivery::Unknown));
    assert!(outcome.text_content().starts_with("mcp server s3 is unavailable"), "{outcome}");
    assert_eq!(call(&bridge, "mcp__s4__echo").await, "{}", "other servers are not affected");
    reached(&bridge, "s3", ServerState::is_connected).await;
    assert_ne!(pid(&bridge, "s3").await, victim);
    let again: Vec<_> =
        bridge.snapshot().tools().iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(again, order, "byte for byte the same order");
    let mut pids = Vec::new();
    for name in &names {
        pids.push(pid(&bridge, name).await);
    }
    mcp_tests::soon("the end", bridge.shutdown()).await;
    for pid in pids {
        gone(pid).await;
    }
}

#[tokio::test]
async fn http_server_killed_without_a_call_is_disconnected_and_retried_with_backoff() {
    let mut program = tokio::process::Command::new(env!("CARGO_BIN_EXE_tool-server"));
    program.arg("--http");
    let (mut process, url) = mcp_tests::listening::script(program).await.unwrap();
    let mut options = options();
    options.ping_remote_every = Some(Duration::from_millis(50));
    options.backoff.delays = [100, 200, 400].map(Duration::from_millis).to_vec();
    options.backoff.jitter = 0.0;
    let bridge = Bridge::new(options);
    let remote = Transport::Http(mcp_config::Remote::new(url.as_str()));
    let mut server = ServerConfig::new("srv".parse().unwrap(), remote);
    server.trust = true;
    bridge.add_server_as_written(server);
    mcp_tests::soon("the start", bridge.start()).await;
    let turn = bridge.snapshot();
    assert_eq!(turn.tools().len(), 4);
    let mut events = bridge.events();
    process.kill().await.unwrap();

    let (mut names, mut attempts) = (Vec::new(), Vec::new());
    let retrying = async {
        while attempts.len() < 3 {
            let event = events.next().await.unwrap();
            names.push(event.name());
            if let Event::ServerConnecting { attempt, .. } = event {
                attempts.push((attempt, Instant::now()));
            }
        }
    };
    mcp_tests::soon("three attempts", retrying).await;
    assert_eq!(names.iter().filter(|name| **name == "server.disconnected").count(), 1, "{names:?}");
    let gaps: Vec<_> = attempts.windows(2).map(|two| two[1].1 - two[0].1).collect();
    assert!(gaps[0] >= Duration::from_millis(190), "{gaps:?}");
    assert!(gaps[1] >= Duration::from_millis(390), "{gaps:?}");
    assert_eq!(attempts.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(bridge.snapshot().tools().is_empty(), "gone from the next turn");
    let late = turn.call("mcp__srv__echo", RawJson::empty_object(), CallContext::default()).await;
    assert_eq!(late.text_content(), "mcp server srv is unavailable");
}

#[tokio::test]
async fn changed_tool_list_is_seen_in_the_next_turn() {
    let bridge = Bridge::new(options());
    bridge.add_server_as_written(config("srv"));
    mcp_tests::soon("the start", bridge.start()).await;
    let turn = bridge.snapshot();
    assert_eq!(call(&bridge, "mcp__srv__grow").await, "grown");
    let grown = bridge.wait_for("srv", |status| status.tools == 5);
    mcp_tests::soon("the new list", grown).await.unwrap();
    assert_eq!(turn.tools().len(), 4);
    let next = bridge.snapshot();
    assert_eq!(next.tools()[4].spec().name, "mcp__srv__grown_0");
    assert_eq!(call(&bridge, "mcp__srv__grown_0").await, "{}");
}

#[tokio::test]
async fn idle_server_is_stopped_and_started_by_the_next_call() {
    let mut options = options();
    options.idle_stop = Some(Duration::from_millis(300));
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(config("srv"));
    mcp_tests::soon("the start", bridge.start()).await;
    let first = pid(&bridge, "srv").await;
    let idle = bridge.wait_for("srv", |status| status.state.is_idle());
    mcp_tests::soon("it rests", idle).await.unwrap();
    gone(first).await;
    assert_ne!(pid(&bridge, "srv").await, first);
}

#[tokio::test]
async fn dropped_bridge_leaves_no_process() {
    let bridge = Bridge::new(options());
    bridge.add_server_as_written(config("srv"));
    mcp_tests::soon("the start", bridge.start()).await;
    let pid = pid(&bridge, "srv").await;
    drop(bridge);
    gone(pid).await;
}

#[tokio::test]
async fn missing_or_crashing_program_is_explained() {
    let bridge = Bridge::new(options());
    for (name, program, args) in [
        ("missing", "no-such-program-anywhere", &[][..]),
        ("dies", "sh", &["-c", "echo oh no >&2; exit 3"]),
    ] {
        let mut program = Stdio::new(program);
        program.args = args.iter().map(|arg| (*arg).into()).collect();
        bridge.add_server_as_written(ServerConfig::new(
            name.parse().unwrap(),
            Transport::Stdio(program),
        ));
    }
    mcp_tests::soon("the start", bridge.start()).await;
    let missing = bridge.explain("missing").unwrap();
    assert!(missing.evidence.iter().any(|line| line.starts_with("looked in: /")), "{missing}");
    assert!(missing.next_step.starts_with("install the program"), "{missing}");
    let dies = bridge.explain("dies").unwrap().to_string();
    assert!(dies.contains("exit status 3") && dies.contains("stderr: oh no"), "{dies}");
}
