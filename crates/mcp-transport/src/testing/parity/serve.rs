//! Runs the parity server over a link.

use std::{future::poll_fn, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_jsonrpc::Message;

use super::server::{Action, Server};
use crate::{
    error::SendError,
    link::{Inbound, Link, Outlet},
};

/// Runs a [`Server`] over `link` until either end closes it.
pub fn serve(link: Link) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let Link { outlet, mut inlet } = link;
        let mut outlet = Some(outlet);
        let mut server = Server::default();
        let mut batch = Vec::new();
        while poll_fn(|cx| inlet.poll_recv(cx, &mut batch)).await.is_ok() {
            for inbound in batch.drain(..) {
                let Inbound::Message(message) = inbound.read() else { continue };
                for action in server.receive(message) {
                    if perform(action, &mut outlet).await.is_err() {
                        return;
                    }
                }
            }
        }
    })
}

/// Performs `action`. An error ends the server.
async fn perform(action: Action, outlet: &mut Option<Arc<dyn Outlet>>) -> Result<(), SendError> {
    match action {
        Action::CloseOutput => *outlet = None,
        Action::Die => return Err(SendError::Closed),
        Action::StopReading => std::future::pending().await,
        Action::Stray(_) => {}
        Action::Send(message) => send(outlet.as_ref(), message).await?,
        Action::SendTogether(messages) => {
            for message in messages {
                send(outlet.as_ref(), message).await?;
            }
        }
        Action::Flood { count, bytes } => {
            for n in 0..count {
                send(outlet.as_ref(), Server::tick(n, bytes)).await?;
            }
        }
    }
    Ok(())
}

async fn send(outlet: Option<&Arc<dyn Outlet>>, message: Message) -> Result<(), SendError> {
    let Some(outlet) = outlet else { return Ok(()) };
    poll_fn(|cx| outlet.poll_ready(cx)).await;
    outlet.send(message).map(drop)
}
