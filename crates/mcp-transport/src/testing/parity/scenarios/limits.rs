//! Messages over the limit, lines that are not messages, and diagnostics.

use mcp_jsonrpc::Failure;
use serde_json::json;

use super::super::{
    MAX_MESSAGE, Violation,
    probe::{Probe, ensure},
    server::{STRAY_FIRST, STRAY_LINES},
};
use crate::link::{Connect, Inbound};

pub(super) async fn oversized_response_fails_alone(connect: &dyn Connect) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let held = probe.request("parity/hold", &json!({}))?;
    let sent = probe.request("parity/size", &json!({ "bytes": MAX_MESSAGE + 1 }))?;
    match probe.next().await? {
        Inbound::Lost { id, failure: Failure::TooLarge { size, limit } } => {
            ensure!(id == sent.id, "{id} was lost instead of {}", sent.id);
            ensure!(size > MAX_MESSAGE && limit == MAX_MESSAGE, "{size} bytes, {limit} allowed");
        }
        other => return Err(Violation::new(format!("unexpected: {other:?}"))),
    }
    let release = probe.request("parity/release", &json!({}))?;
    let mut others = vec![held.id, release.id];
    while !others.is_empty() {
        let id = probe.answer().await?.id;
        ensure!(others.iter().any(|other| Some(other) == id.as_ref()), "an answer to {id:?}");
        others.retain(|other| Some(other) != id.as_ref());
    }
    let too_large = probe.outlet.diagnostics().too_large;
    ensure!(too_large == 1, "{too_large} messages counted as too large");
    Ok(())
}

pub(super) async fn response_below_the_limit_arrives(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    // The envelope counts on a wire, and is shorter than this.
    let bytes = MAX_MESSAGE - 200;
    let result = probe.call("parity/size", &json!({ "bytes": bytes })).await?;
    ensure!(result.as_bytes().len() == bytes + 2, "{} bytes arrived", result.as_bytes().len());
    ensure!(probe.outlet.diagnostics().too_large == 0, "something was too large");
    Ok(())
}

pub(super) async fn stray_bytes_are_skipped_and_counted(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    probe.call("parity/stray", &json!({})).await?;
    probe.is_alive().await?;
    let diagnostics = probe.outlet.diagnostics();
    let lines = diagnostics.skipped_lines;
    ensure!(lines == 2 * STRAY_LINES, "{lines} lines counted, there were {}", 2 * STRAY_LINES);
    ensure!(diagnostics.skipped_bytes > 0, "no bytes counted");
    let first = diagnostics.first_skipped.as_deref();
    ensure!(first == Some(STRAY_FIRST), "the first line was {first:?}");
    Ok(())
}

pub(super) async fn diagnostics_hold_no_contents(connect: &dyn Connect) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    for _ in 0..100 {
        probe.call("parity/echo", &json!({ "password": "hunter2" })).await?;
    }
    let diagnostics = probe.outlet.diagnostics();
    ensure!(!format!("{diagnostics:?}").contains("hunter2"), "a password is in there");
    let frames = &diagnostics.frames;
    ensure!((2..=64).contains(&frames.len()), "{} frames are kept", frames.len());
    let (sent, received): (Vec<_>, Vec<_>) = frames.iter().partition(|frame| frame.sent);
    ensure!(
        sent.iter().all(|frame| frame.method.as_deref() == Some("parity/echo")),
        "frames sent are {sent:?}"
    );
    ensure!(!received.is_empty(), "frames received are missing");
    ensure!(received.iter().all(|frame| frame.id.is_some()), "frames received are {received:?}");

    probe.outlet.close();
    let (_, report) = probe.end().await;
    ensure!(!format!("{report:?} {report}").contains("hunter2"), "a password is in the report");
    ensure!(report.diagnostics.frames.len() == frames.len(), "the report lacks frames");
    Ok(())
}
