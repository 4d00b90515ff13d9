//! Runs a client session over an in-process link.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use mcp_jsonrpc::{ErrorObject, Message, Response};
use mcp_transport::{Inbound, Inlet, Link};

use crate::{
    call::inbox::{Inbox, Item},
    client_session::{ClientSession, Outgoing},
    request::Facts,
    shared::Shared,
};

/// Serves until the link is closed.
pub(crate) async fn serve(shared: Arc<Shared>, mut link: Link) {
    let inbox = shared.open_inbox();
    let mut client_session = ClientSession::new(shared, inbox.clone());
    let mut batch = Vec::new();
    let facts = Facts::default();
    let mut inputs_turn = false;
    loop {
        // Poll the link and the inbox first in turns, so that neither starves the other.
        inputs_turn = !inputs_turn;
        let turn = inputs_turn;
        let news = poll_fn(|cx| poll(cx, turn, &inbox, &mut *link.inlet, &mut batch));
        match news.await {
            News::Ended => return link.outlet.close(),
            News::Item(item) => client_session.take(item),
            News::Batch => {
                for inbound in batch.drain(..).map(Inbound::read) {
                    if let Inbound::Message(message) = inbound {
                        client_session.receive(message, &facts);
                    }
                }
            }
        }
        client_session.start_jobs();
        while let Some(outgoing) = client_session.next_outgoing() {
            let (Outgoing::Message { message, .. } | Outgoing::Answer { message, .. }) = outgoing
            else {
                continue;
            };
            let asked = match &message {
                Message::Request(request) => Some(request.id.clone()),
                _ => None,
            };
            let Err(error) = link.outlet.send(message) else { continue };
            tracing::debug!(%error, "a message could not be sent to the client");
            if let Some(id) = asked {
                // Fail the request, since no response will come: the call must not wait for it.
                let error = ErrorObject::new(ErrorObject::INTERNAL_ERROR, error.to_string());
                let failed = Response { id: Some(id), outcome: Err(error) };
                client_session.receive(Message::Response(failed), &facts);
            }
        }
    }
}

enum News {
    Item(Item),
    Batch,
    Ended,
}

fn poll(
    cx: &mut Context<'_>,
    inputs_turn: bool,
    inbox: &Inbox,
    inlet: &mut dyn Inlet,
    batch: &mut Vec<Inbound>,
) -> Poll<News> {
    let mut receive = |cx: &mut Context<'_>| {
        inlet.poll_recv(cx, batch).map(|received| match received {
            Ok(()) => News::Batch,
            Err(_) => News::Ended,
        })
    };
    if inputs_turn && let Poll::Ready(news) = receive(cx) {
        return Poll::Ready(news);
    }
    match inbox.poll_next(cx) {
        Poll::Ready(item) => Poll::Ready(News::Item(item)),
        Poll::Pending if inputs_turn => Poll::Pending,
        Poll::Pending => receive(cx),
    }
}
