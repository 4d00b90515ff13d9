//! Injects failures for a while: servers are killed, restarted, disabled and changed while they are called.
//!
//! A call may find its server unavailable and must report that in time. It must never get the response of another call,
//! and once the injection ends every server must be available again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use mcp_bridge::{BridgeOptions, FailureKind, RawJson};
use tokio::task::JoinSet;

use crate::{
    fleet::{Fleet, Server},
    gauge::{Gauge, children},
    load::gone,
    plan::{Kind, Plan},
    proof::{Dice, Question},
    report::{Account, Report},
    tally::{Tally, add},
};

/// Time limit of a call: without a response by then it is lost.
const HANGS: Duration = Duration::from_secs(30);
/// Time limit for the recovery, on a busy machine.
const RECOVERY: Duration = Duration::from_secs(90);
/// Pause between two calls of one caller.
const PAUSE_MS: u64 = 20;
/// Maximum pause between two injected failures.
const MAX_PAUSE_MS: u64 = 250;

/// The failures that are injected.
const FAILURES: [&str; 6] =
    ["killed", "restarted", "reconnected", "disabled for a while", "lists changed", "left alone"];

pub(crate) async fn run(plan: &Plan) -> Result<Report, String> {
    let duration = plan.soak.unwrap_or_default();
    println!("soak: {} s of cause with seed {}", duration.as_secs(), plan.seed);
    let mut account = Account::default();
    account.looks.before = Gauge::now();
    let mut options = BridgeOptions::default();
    // A tenth of the default delays, for ten times as many reconnects.
    options.backoff.delays = [20, 100, 500, 1_500].map(Duration::from_millis).to_vec();
    options.ping_every = Some(Duration::from_secs(2));
    let began = Instant::now();
    let mut fleet = Fleet::start(&plan.counts, plan.bridged, options).await?;
    account.started_in = began.elapsed();
    account.processes = children().len();
    let connects = fleet.bridge.counters().connects;
    let (tally, done) = (Arc::new(Tally::default()), Arc::new(AtomicBool::new(false)));
    let mut callers = JoinSet::new();
    for server in &fleet.servers {
        for place in 0..plan.callers {
            let seed = plan.seed ^ u64::from(server.number * plan.callers + place + 1) << 20;
            let (server, tally, done) = (server.clone(), tally.clone(), done.clone());
            callers.spawn(caller(server, Dice::new(seed), tally, done));
        }
    }
    let calling = Instant::now();
    inject_failures(&mut fleet, plan, duration, &mut account).await?;
    done.store(true, Ordering::SeqCst);
    while let Some(ended) = callers.join_next().await {
        if let Err(error) = ended {
            account.problems.push(format!("a caller: {error}"));
        }
    }
    account.seconds = calling.elapsed().as_secs_f64();
    account.reconnects = fleet.bridge.counters().connects - connects;
    recover(&fleet, plan, &mut account).await;
    account.looks.end = Gauge::now();
    account.problems.extend(fleet.end().await);
    account.looks.after = gone(account.looks.before).await;
    Ok(Report::of_soak(plan, &tally, &account))
}

async fn caller(server: Arc<Server>, mut dice: Dice, tally: Arc<Tally>, done: Arc<AtomicBool>) {
    let row = tally.of(server.kind);
    while !done.load(Ordering::SeqCst) {
        let turn = server.turn();
        for _ in 0..=dice.below(8) {
            let question = Question::new(&mut dice);
            add(&row.asked);
            let asked = Instant::now();
            let call = server.call(turn.as_ref(), "mix", question.arguments());
            match tokio::time::timeout(HANGS, call).await {
                Ok(Ok(answer)) if answer == question.answer(server.number) => {
                    add(&row.answered);
                    row.took(asked.elapsed());
                }
                Ok(Ok(answer)) => {
                    add(&row.crossed);
                    tally.quote(format!("{}: {question:?} got {answer:.80}", server.name));
                }
                Ok(Err(none)) if may_be(none.kind) => add(&row.refused),
                Ok(Err(none)) => {
                    add(&row.lost);
                    tally.quote(format!("{} ({:?}): {none:?}", server.name, server.kind));
                }
                Err(_) => {
                    add(&row.lost);
                    tally.quote(format!("{}: no end within {HANGS:?}", server.name));
                }
            }
            tokio::time::sleep(Duration::from_millis(dice.below(PAUSE_MS))).await;
        }
    }
}

/// Whether a call may fail like this during the injection: the server is down, or not in this turn.
fn may_be(kind: Option<FailureKind>) -> bool {
    matches!(kind, Some(FailureKind::Unavailable | FailureKind::NotFound))
}

/// Injects failures into random servers until the time is over.
async fn inject_failures(
    fleet: &mut Fleet,
    plan: &Plan,
    duration: Duration,
    account: &mut Account,
) -> Result<(), String> {
    let mut dice = Dice::new(plan.seed);
    let mut counts = [0_u64; FAILURES.len()];
    let mut disabled: Vec<(Instant, String)> = Vec::new();
    let began = Instant::now();
    while began.elapsed() < duration {
        disabled.retain(|(until, name)| {
            let over = Instant::now() >= *until;
            if over {
                let _ = fleet.bridge.enable(name);
                let _ = fleet.bridge.connect(name);
            }
            !over
        });
        let at = usize::try_from(dice.below(fleet.servers.len() as u64)).unwrap_or_default();
        let server = fleet.servers[at].clone();
        let cause = match (dice.below(8), server.kind) {
            (0..3, Kind::Stdio) => usize::from(!kill(&server).await) * 5,
            (0..3, Kind::HttpModern | Kind::HttpLegacy) => {
                fleet.http.restart(server.number).await.map_err(|error| error.to_string())?;
                1
            }
            (0..3, Kind::Ws) => {
                fleet.ws.restart(server.number).await.map_err(|error| error.to_string())?;
                1
            }
            (0..4, _) => {
                let _ = fleet.bridge.reconnect(&server.name);
                2
            }
            (4, _) => {
                let _ = fleet.bridge.disable(&server.name);
                let until = Instant::now() + Duration::from_millis(dice.below(1_000));
                disabled.push((until, server.name.clone()));
                3
            }
            (5.., _) => {
                let changed = server.call(None, "change", RawJson::empty_object());
                let changed = tokio::time::timeout(HANGS, changed).await;
                if changed.is_ok_and(|changed| changed.is_ok()) { 4 } else { 5 }
            }
        };
        counts[cause] += 1;
        tokio::time::sleep(Duration::from_millis(dice.below(MAX_PAUSE_MS))).await;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        account.looks.look(Gauge::now(), millis(began.elapsed()), millis(duration));
    }
    for (_, name) in disabled {
        let _ = fleet.bridge.enable(&name);
        let _ = fleet.bridge.connect(&name);
    }
    account.injected = FAILURES.into_iter().zip(counts).collect();
    Ok(())
}

/// Kills a server's process, if the server reports its pid.
async fn kill(server: &Server) -> bool {
    let Ok(Ok(pid)) = tokio::time::timeout(HANGS, server.number_of("pid")).await else {
        return false;
    };
    #[cfg(unix)]
    {
        use nix::{
            sys::signal::{Signal, kill},
            unistd::Pid,
        };
        i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok())
    }
    #[cfg(not(unix))]
    {
        let _ = pid;
        false
    }
}

/// Checks that everything has recovered: connected, one process per server, correct answers.
async fn recover(fleet: &Fleet, plan: &Plan, account: &mut Account) {
    let checks = fleet.servers.iter().map(|server| async move {
        let is_up = |status: &mcp_bridge::ServerStatus| status.state.is_connected();
        let waiting = fleet.bridge.wait_for(&server.name, is_up);
        if tokio::time::timeout(RECOVERY, waiting).await.is_err() {
            let explained = fleet.bridge.explain(&server.name).map(|why| why.to_string());
            return Some(format!(
                "{} did not recover: {}",
                server.name,
                explained.unwrap_or_default()
            ));
        }
        let question = Question::new(&mut Dice::new(plan.seed ^ u64::from(server.number)));
        match server.call(None, "mix", question.arguments()).await {
            Ok(answer) if answer == question.answer(server.number) => None,
            other => Some(format!("{} after its recovery: {other:?}", server.name)),
        }
    });
    account.problems.extend(join_all(checks).await.into_iter().flatten());
    // Servers that were asked to exit may still be running.
    let (began, wanted) = (Instant::now(), account.processes);
    while children().len() > wanted && began.elapsed() < RECOVERY {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let processes = children().len();
    if processes != wanted {
        account.problems.push(format!("{processes} processes for {wanted} servers"));
    }
}
