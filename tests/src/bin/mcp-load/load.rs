//! The load: the callers of every server start at once and then keep calling.

use std::{
    future::{Future as _, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use futures::future::join_all;
use mcp_bridge::{BridgeOptions, RawJson};
use tokio::task::JoinSet;

use crate::{
    fleet::{Fleet, Server},
    gauge::{Gauge, children},
    leaks,
    plan::Plan,
    proof::{Dice, Question},
    report::{Account, Report},
    tally::{Tally, add},
};

/// Calls in one turn of a bridge.
const TURN: u32 = 10;
/// One call in this many is accompanied by another that is dropped halfway.
const COMPANIONS: u64 = 128;
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Time limit for all first calls to reach their servers, and for processes to exit.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time limit for connections to end after their servers.
const SETTLING: Duration = Duration::from_secs(10);

pub(crate) async fn run(plan: &Plan) -> Result<Report, String> {
    let began = Instant::now();
    let mut account = Account::default();
    account.looks.before = Gauge::now();
    let fleet = Fleet::start(&plan.counts, plan.bridged, BridgeOptions::default()).await?;
    account.started_in = began.elapsed();
    let tally = Arc::new(Tally::default());
    let calling = Instant::now();
    let mut callers = JoinSet::new();
    for server in &fleet.servers {
        for place in 0..plan.callers {
            let seed = plan.seed ^ u64::from(server.number * plan.callers + place + 1) << 20;
            callers.spawn(caller(server.clone(), Dice::new(seed), plan.rounds, tally.clone()));
        }
    }
    account.in_flight = gather(&fleet, plan.callers).await?;
    account.processes = children().len();
    watch(&mut callers, plan, &tally, &mut account).await;
    account.seconds = calling.elapsed().as_secs_f64();
    account.looks.end = Gauge::now();
    account.executed = executed(&fleet).await?;
    account.late = late(&fleet);
    account.problems.extend(fleet.end().await);
    account.looks.after = gone(account.looks.before).await;
    Ok(Report::of_load(plan, &tally, &account))
}

/// Waits until every server holds the first calls of all its callers, then releases them. Returns their number.
async fn gather(fleet: &Fleet, callers: u32) -> Result<u64, String> {
    let waiting = fleet.servers.iter().map(|server| async move {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let held = server.number_of("held").await?;
            if held >= u64::from(callers) {
                return Ok(held);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Err(format!("{}: some of its first calls have not arrived", server.name))
    });
    // Count all of them before releasing any: only then are they in flight together.
    let held = join_all(waiting).await.into_iter().collect::<Result<Vec<u64>, String>>()?;
    let freeing = fleet.servers.iter().map(|server| async move {
        let freed = server.call(None, "free", RawJson::empty_object()).await;
        freed.map(drop).map_err(|none| format!("{}: {}", server.name, none.text))
    });
    join_all(freeing).await.into_iter().collect::<Result<(), _>>()?;
    Ok(held.iter().sum())
}

async fn caller(server: Arc<Server>, mut dice: Dice, rounds: u32, tally: Arc<Tally>) {
    let mut turn = server.turn();
    for round in 0..rounds {
        if round % TURN == TURN - 1 {
            turn = server.turn();
        }
        let question = Question::new(&mut dice);
        let row = tally.of(server.kind);
        add(&row.asked);
        let asked = Instant::now();
        let tool = if round == 0 { "hold" } else { "mix" };
        match server.call(turn.as_ref(), tool, question.arguments()).await {
            Ok(answer) if answer == question.answer(server.number) => add(&row.answered),
            Ok(answer) => {
                add(&row.crossed);
                tally.quote(format!("{}: {question:?} got {:.80}", server.name, answer));
            }
            Err(none) => {
                add(&row.lost);
                tally.quote(format!("{}: {none:?}", server.name));
            }
        }
        // The first call waited for all others, so its duration means nothing.
        if round > 0 {
            row.took(asked.elapsed());
        }
        if dice.below(COMPANIONS) == 0 {
            give_up(&server, &mut dice, &tally).await;
        }
    }
}

/// Makes a call and drops it after a few polls: before it is written, in flight, or just as the response arrives.
async fn give_up(server: &Server, dice: &mut Dice, tally: &Tally) {
    let question = Question::new(dice);
    let row = tally.of(server.kind);
    let mut call = pin!(server.call(None, "mix", question.arguments()));
    for _ in 0..=dice.below(6) {
        let look = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx)));
        if let Poll::Ready(answer) = look.await {
            let is_right = answer.is_ok_and(|answer| answer == question.answer(server.number));
            add(if is_right { &row.given_up } else { &row.crossed });
            return;
        }
        tokio::task::yield_now().await;
    }
    add(&row.given_up);
}

/// Measures memory and files while the callers run.
async fn watch(callers: &mut JoinSet<()>, plan: &Plan, tally: &Tally, account: &mut Account) {
    let mut tick = tokio::time::interval(LOOK_AGAIN);
    loop {
        tokio::select! {
            done = callers.join_next() => match done {
                Some(Ok(())) => {}
                Some(Err(error)) => account.problems.push(format!("a caller: {error}")),
                None => return,
            },
            _ = tick.tick() => {
                let now = Gauge::now();
                let ended = tally.sum(|row| &row.answered) + tally.sum(|row| &row.lost);
                account.looks.look(now, ended, plan.calls());
            }
        }
    }
}

/// The number of calls the servers have executed, by their own count.
async fn executed(fleet: &Fleet) -> Result<u64, String> {
    let counts = join_all(fleet.servers.iter().map(|server| server.number_of("answered"))).await;
    Ok(counts.into_iter().collect::<Result<Vec<u64>, _>>()?.iter().sum())
}

/// Responses to dropped calls, and responses that are duplicates or have an unknown id.
fn late(fleet: &Fleet) -> (u64, u64) {
    let noise = fleet.servers.iter().filter_map(|server| server.noise());
    noise.fold((0, 0), |(late, strange), noise| {
        (late + noise.late, strange + noise.duplicate + noise.unknown)
    })
}

/// The resources left once every process has had time to exit, and every connection to notice that its server has.
///
/// The tasks of HTTP connections end after the servers: on a busy machine a single look finds some still running.
/// What is left after [`SETTLING`] is a leak.
pub(crate) async fn gone(before: Gauge) -> Gauge {
    let began = Instant::now();
    while !children().is_empty() && began.elapsed() < PATIENCE {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    let began = Instant::now();
    loop {
        let now = Gauge::now();
        if leaks::left(before, now).is_empty() || began.elapsed() >= SETTLING {
            return now;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
