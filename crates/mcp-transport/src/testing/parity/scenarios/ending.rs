//! The end of links, and its report.

use mcp_jsonrpc::{Message, Notification};
use serde_json::json;

use super::super::{
    Violation,
    probe::{Probe, ensure},
};
use crate::{
    diagnostics::CloseReason,
    error::SendError,
    link::{Connect, Inbound, Outlet},
};

fn refuses(outlet: &dyn Outlet) -> Result<(), Violation> {
    let sent = outlet.send(Message::Notification(Notification::new("too/late", None)));
    ensure!(sent == Err(SendError::Closed), "a closed link took a message: {sent:?}");
    Ok(())
}

pub(super) async fn close_delivers_what_was_sent_and_reports_a_request(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    let sent = probe.request("parity/echo", &json!({}))?;
    probe.outlet.close();
    refuses(&*probe.outlet)?;
    probe.outlet.close();
    let (arrived, report) = probe.end().await;
    let answers = |inbound: &Inbound| {
        matches!(inbound, Inbound::Message(Message::Response(response))
            if response.id.as_ref() == Some(&sent.id))
    };
    ensure!(arrived.iter().any(answers), "a request sent before closing got no response");
    ensure!(report.reason == CloseReason::Requested, "it ended because: {}", report.reason);
    ensure!(report.flushed >= sent.ticket, "an answered request counts as not sent");
    ensure!(probe.has_room(), "a blocked sender was not woken");
    refuses(&*probe.outlet)
}

pub(super) async fn close_ends_a_server_that_does_not_listen(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    probe.call("parity/stop-reading", &json!({})).await?;
    probe.request("parity/echo", &json!({}))?;
    probe.outlet.close();
    let (_, report) = probe.end().await;
    ensure!(report.reason == CloseReason::Requested, "it ended because: {}", report.reason);
    refuses(&*probe.outlet)
}

pub(super) async fn a_server_that_dies_is_reported_as_ended(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    probe.is_alive().await?;
    let sent = probe.request("parity/die", &json!({}))?;
    let (arrived, report) = probe.end().await;
    ensure!(arrived.is_empty(), "a dead server said {arrived:?}");
    ensure!(report.reason == CloseReason::Ended, "it ended because: {}", report.reason);
    ensure!(report.flushed >= sent.ticket, "what killed it counts as not sent");
    ensure!(probe.has_room(), "a blocked sender was not woken");
    refuses(&*probe.outlet)?;
    Probe::open(connect).await?.is_alive().await
}

pub(super) async fn a_server_that_closes_its_output_is_reported(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    probe.request("parity/close-output", &json!({}))?;
    let (_, report) = probe.end().await;
    ensure!(report.reason == CloseReason::Ended, "it ended because: {}", report.reason);
    refuses(&*probe.outlet)
}

pub(super) async fn a_link_without_its_inlet_refuses_to_send(
    connect: &dyn Connect,
) -> Result<(), Violation> {
    let mut probe = Probe::open(connect).await?;
    probe.is_alive().await?;
    let outlet = probe.outlet.clone();
    drop(probe);
    refuses(&*outlet)
}
