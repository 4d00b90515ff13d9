//! WebSocket servers, valid and faulty.

mod auth;
mod ending;
mod frames;
mod parity;
mod server;
mod tls;
mod upgrade;

use std::{future::poll_fn, time::Duration};

use mcp_jsonrpc::{Message, Notification, Request};
use mcp_transport::{
    Connect as _, ConnectError, Inbound, Link, Ws, WsOptions, diagnostics::CloseReport,
};

pub(crate) use self::{parity::parity_server, server::bridge};

/// Awaits `future` with a time limit.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it takes too long")
}

async fn open(options: WsOptions) -> Link {
    soon(Ws::new(options).connect()).await.expect("a link")
}

async fn refused(options: WsOptions) -> ConnectError {
    soon(Ws::new(options).connect()).await.expect_err("it must not connect")
}

fn request(link: &Link, id: i64) -> u64 {
    link.outlet.send(Message::Request(Request::new(id, "ask", None))).expect("room")
}

fn hello(text: &'static str) -> Inbound {
    Inbound::Message(Message::Notification(Notification::new(text, None)))
}

/// The next messages, with responses decoded.
async fn receive(link: &mut Link) -> Result<Vec<Inbound>, Box<CloseReport>> {
    let mut batch = Vec::new();
    soon(poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch))).await?;
    Ok(batch.into_iter().map(Inbound::read).collect())
}

/// Receives `count` messages.
async fn receive_all(link: &mut Link, count: usize) -> Vec<Inbound> {
    let mut all = Vec::new();
    while all.len() < count {
        all.extend(receive(link).await.expect("the link lives"));
    }
    all
}

/// The close report, with the messages before it.
async fn end(link: &mut Link) -> (Vec<Inbound>, Box<CloseReport>) {
    let mut all = Vec::new();
    loop {
        match receive(link).await {
            Ok(batch) => all.extend(batch),
            Err(report) => return (all, report),
        }
    }
}
