//! Messages are neither reordered nor lost, and links are independent.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Waker},
};

use serde_json::json;

use super::super::{
    Violation,
    probe::{Probe, ensure, tick},
};
use crate::{
    io::race::{First, race},
    link::Connect,
};

pub(super) async fn order_is_kept_both_ways(connect: &dyn Connect) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let mut last = 0;
    for n in 0..500 {
        let ticket = probe.notify("parity/note", &json!({ "n": n }))?;
        ensure!(ticket > last, "ticket {ticket} followed ticket {last}");
        last = ticket;
    }
    let report = probe.call("parity/report", &json!({})).await?;
    let notes = report.get("notes").and_then(|notes| notes.decode::<Vec<u64>>().ok());
    ensure!(notes == Some((0..500).collect()), "the server saw {}", report.as_str());

    probe.request("parity/flood", &json!({ "count": 500, "bytes": 10 }))?;
    for n in 0..500 {
        let next = probe.next().await?;
        ensure!(tick(&next) == Some(n), "expected tick {n}, got {next:?}");
    }
    probe.answer().await?;
    Ok(())
}

pub(super) async fn abandoned_polls_lose_nothing(connect: &dyn Connect) -> Result<(), Violation> {
    const COUNT: u64 = 2000;
    let mut probe = Probe::open(connect).await?;
    probe.request("parity/flood", &json!({ "count": COUNT, "bytes": 100 }))?;
    let mut batch = Vec::new();
    while batch.len() < usize::try_from(COUNT).unwrap_or(0) {
        let attempt = {
            let poll = pin!(poll_fn(|cx| probe.inlet.poll_recv(cx, &mut batch)));
            // The poll either completes or is dropped, as in `select!`.
            match race(poll, pin!(tokio::task::yield_now())).await {
                First::Left(news) => news,
                First::Right(()) => Ok(()),
            }
        };
        attempt.map_err(|report| Violation::new(format!("ended too early: {report}")))?;
    }
    for (n, inbound) in (0..COUNT).zip(&batch) {
        ensure!(tick(inbound) == Some(n), "expected tick {n}, got {inbound:?}");
    }
    Ok(())
}

pub(super) async fn two_connections_are_two_servers(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut one = Probe::open(connect).await?;
    let mut other = Probe::open(connect).await?;
    one.notify("parity/note", &json!({ "n": 1 }))?;
    let report = other.call("parity/report", &json!({})).await?;
    ensure!(report.get("notes").is_some_and(|notes| notes.as_str() == "[]"), "they share notes");
    one.is_alive().await?;
    one.outlet.close();
    one.end().await;
    other.is_alive().await
}

pub(super) async fn an_abandoned_attempt_leaves_the_next_one_alone(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    drop(connect.connect());
    let mut attempt = connect.connect();
    let _ = attempt.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(attempt);
    Probe::open(connect).await?.is_alive().await
}
