//! A minimal host that scenarios drive step by step.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::Arc,
    task::{Context, Waker},
};

use mcp_jsonrpc::{Message, Notification, RawJson, Request, RequestId, Response};
use serde_json::Value;

use super::{Violation, server::raw};
use crate::{
    diagnostics::CloseReport,
    error::SendError,
    link::{Connect, Inbound, Inlet, Link, Outlet},
};

/// Fails the scenario with the text unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(Violation::new(format!($($what)+)));
        }
    };
}
pub(super) use ensure;

pub(super) struct Probe {
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) inlet: Box<dyn Inlet>,
    arrived: VecDeque<Inbound>,
    last_id: i64,
}

/// A request that was accepted for sending.
pub(super) struct Sent {
    pub(super) id: RequestId,
    pub(super) ticket: u64,
}

impl Probe {
    pub(super) async fn open(connect: &dyn Connect) -> Result<Self, Violation> {
        let link = connect.connect().await;
        let Link { outlet, inlet } =
            link.map_err(|error| Violation::new(format!("could not connect: {error}")))?;
        Ok(Self { outlet, inlet, arrived: VecDeque::new(), last_id: 0 })
    }

    pub(super) fn try_request(
        &mut self,
        method: &'static str,
        params: &Value,
    ) -> Result<Sent, SendError> {
        self.last_id += 1;
        let id = RequestId::from(self.last_id);
        let request = Request::new(id.clone(), method, Some(raw(params)));
        let ticket = self.outlet.send(Message::Request(request))?;
        Ok(Sent { id, ticket })
    }

    pub(super) fn request(
        &mut self,
        method: &'static str,
        params: &Value,
    ) -> Result<Sent, Violation> {
        let sent = self.try_request(method, params);
        sent.map_err(|error| Violation::new(format!("`{method}` was not taken: {error}")))
    }

    pub(super) fn notify(&self, method: &'static str, params: &Value) -> Result<u64, Violation> {
        let notification = Notification::new(method, Some(raw(params)));
        let ticket = self.outlet.send(Message::Notification(notification));
        ticket.map_err(|error| Violation::new(format!("`{method}` was not taken: {error}")))
    }

    /// Returns the next item, or the report of the end.
    pub(super) async fn next_or_end(&mut self) -> Result<Inbound, Box<CloseReport>> {
        loop {
            if let Some(inbound) = self.arrived.pop_front() {
                return Ok(inbound);
            }
            let mut batch = Vec::new();
            poll_fn(|cx| self.inlet.poll_recv(cx, &mut batch)).await?;
            self.arrived.extend(batch.into_iter().map(Inbound::read));
        }
    }

    /// Returns the next item.
    pub(super) async fn next(&mut self) -> Result<Inbound, Violation> {
        let next = self.next_or_end().await;
        next.map_err(|report| Violation::new(format!("ended too early: {report}")))
    }

    /// Returns the next response, and skips other messages.
    pub(super) async fn answer(&mut self) -> Result<Response, Violation> {
        loop {
            match self.next().await? {
                Inbound::Message(Message::Response(response)) => return Ok(response),
                Inbound::Message(_) => {}
                Inbound::Reply(reply) => {
                    return Err(Violation::new(format!("the answer to {} is none", reply.id())));
                }
                Inbound::Lost { id, failure } => {
                    return Err(Violation::new(format!("the answer to {id} was lost: {failure}")));
                }
            }
        }
    }

    /// Sends a request and waits for its result.
    pub(super) async fn call(
        &mut self,
        method: &'static str,
        params: &Value,
    ) -> Result<RawJson, Violation> {
        let sent = self.request(method, params)?;
        let response = self.answer().await?;
        ensure!(
            response.id.as_ref() == Some(&sent.id),
            "`{method}` {} got the answer to {:?}",
            sent.id,
            response.id
        );
        response.outcome.map_err(|error| Violation::new(format!("`{method}` was refused: {error}")))
    }

    /// Checks that the link still works.
    pub(super) async fn is_alive(&mut self) -> Result<(), Violation> {
        let hello = serde_json::json!({ "still": "there" });
        let echoed = self.call("parity/echo", &hello).await?;
        ensure!(echoed == raw(&hello), "an echo came back changed: {}", echoed.as_str());
        Ok(())
    }

    /// Waits for the end. Returns the items that arrived before it, and the report.
    pub(super) async fn end(&mut self) -> (Vec<Inbound>, Box<CloseReport>) {
        let mut arrived = Vec::new();
        loop {
            match self.next_or_end().await {
                Ok(inbound) => arrived.push(inbound),
                Err(report) => return (arrived, report),
            }
        }
    }

    /// Whether there is capacity for a request, without waiting.
    pub(super) fn has_room(&self) -> bool {
        self.outlet.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

/// Returns the number of a `parity/tick`.
pub(super) fn tick(inbound: &Inbound) -> Option<u64> {
    match inbound {
        Inbound::Message(Message::Notification(notification))
            if notification.method == "parity/tick" =>
        {
            notification.params.as_ref()?.get("n")?.decode().ok()
        }
        _ => None,
    }
}
