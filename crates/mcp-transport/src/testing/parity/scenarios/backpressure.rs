//! Backpressure when one side does not read.

use std::future::poll_fn;

use mcp_jsonrpc::Message;
use serde_json::{Value, json};

use super::super::{
    Violation,
    probe::{Probe, Sent, ensure, tick},
};
use crate::{
    diagnostics::CloseReason,
    error::SendError,
    link::{Connect, Inbound},
};

/// More messages than any queue holds, and more bytes than any pipe.
const FLOOD: u64 = 4000;

fn filler() -> Value {
    json!({ "filler": "x".repeat(4000) })
}

/// Makes the server send a flood, and waits for the first message. The server does not read meanwhile, and blocks as
/// long as we do not read either.
async fn flooded(connect: &dyn Connect, die: u8) -> Result<(Probe, Sent), Violation> {
    let mut probe = Probe::open(connect).await?;
    let params = json!({ "count": FLOOD, "bytes": 1000, "die": die });
    let flood = probe.request("parity/flood", &params)?;
    let first = probe.next().await?;
    ensure!(tick(&first) == Some(0), "expected the first tick, got {first:?}");
    Ok((probe, flood))
}

pub(super) async fn server_that_floods_without_reading_blocks_no_sender(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let (mut probe, flood) = flooded(connect, 0).await?;
    let mut waiting = vec![flood.id];
    for _ in 0..150 {
        waiting.push(probe.request("parity/echo", &filler())?.id);
    }
    for n in 1..FLOOD {
        let next = probe.next().await?;
        ensure!(tick(&next) == Some(n), "expected tick {n}, got {next:?}");
    }
    for id in waiting {
        let response = probe.answer().await?;
        ensure!(response.id.as_ref() == Some(&id), "expected the answer to {id}");
    }
    Ok(())
}

pub(super) async fn full_queue_refuses_and_signals_when_drained(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let (mut probe, flood) = flooded(connect, 0).await?;
    let mut taken = 0;
    let limit = loop {
        ensure!(taken < 100_000, "{taken} requests were accepted without a limit");
        match probe.try_request("parity/echo", &filler()) {
            Ok(_) => taken += 1,
            Err(SendError::Full { limit }) => break limit,
            Err(error) => return Err(Violation::new(format!("refused: {error}"))),
        }
    };
    ensure!(limit > 0 && taken > 0, "{taken} requests filled a queue of {limit}");
    ensure!(!probe.has_room(), "a full queue claims to have room");
    probe.notify("parity/note", &json!({ "n": 1 }))?;

    // One task waits for capacity while another continues to read.
    let outlet = probe.outlet.clone();
    let room = tokio::spawn(async move { poll_fn(|cx| outlet.poll_ready(cx)).await });
    let mut answered = 0;
    while answered < taken {
        match probe.next().await? {
            Inbound::Message(Message::Response(response)) => {
                answered += usize::from(response.id != Some(flood.id.clone()));
            }
            Inbound::Message(_) => {}
            lost => return Err(Violation::new(format!("accepted requests were lost: {lost:?}"))),
        }
    }
    ensure!(room.await.is_ok(), "a blocked sender was not woken");
    let report = probe.call("parity/report", &json!({})).await?;
    ensure!(report.get("notes").is_some_and(|n| n.as_str() == "[1]"), "the notification got lost");
    Ok(())
}

pub(super) async fn requests_unread_by_a_dead_server_were_not_sent(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let (mut probe, flood) = flooded(connect, 1).await?;
    let mut tickets = vec![flood.ticket];
    for _ in 0..150 {
        tickets.push(probe.request("parity/echo", &filler())?.ticket);
    }
    ensure!(tickets.is_sorted_by(|a, b| a < b), "tickets do not grow: {tickets:?}");
    let (arrived, report) = probe.end().await;
    let ticks = arrived.iter().filter_map(tick).count() as u64;
    ensure!(ticks == FLOOD - 1, "{ticks} ticks arrived before the end");
    ensure!(report.reason == CloseReason::Ended, "it ended because: {}", report.reason);
    ensure!(report.flushed >= flood.ticket, "the request it acted on counts as not sent");
    let last = tickets.last().copied().unwrap_or(0);
    ensure!(report.flushed < last, "{} of {last} counts as sent", report.flushed);
    Ok(())
}
