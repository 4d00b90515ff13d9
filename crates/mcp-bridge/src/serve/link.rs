//! A conversation over a link of this process.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use mcp_client::ErrorObject;
use mcp_jsonrpc::{Message, Response};
use mcp_transport::{Inbound, Inlet, Link};

use crate::serve::{
    conversation::{Conversation, Outgoing},
    inbox::{Inbox, Item},
    request::Facts,
    shared::Shared,
};

/// Serves until the link ends.
pub(crate) async fn serve(shared: Arc<Shared>, mut link: Link) {
    let inbox = shared.open_inbox();
    let mut conversation = Conversation::new(shared, inbox.clone());
    let mut batch = Vec::new();
    let facts = Facts::default();
    let mut inputs_turn = false;
    loop {
        // In turns: neither a chatty tool nor a chatty client has it all.
        inputs_turn = !inputs_turn;
        let turn = inputs_turn;
        let news = poll_fn(|cx| poll(cx, turn, &inbox, &mut *link.inlet, &mut batch));
        match news.await {
            News::Ended => return link.outlet.close(),
            News::Item(item) => conversation.take(item),
            News::Batch => {
                for inbound in batch.drain(..).map(Inbound::read) {
                    if let Inbound::Message(message) = inbound {
                        conversation.receive(message, &facts);
                    }
                }
            }
        }
        conversation.start_jobs();
        while let Some(outgoing) = conversation.next_outgoing() {
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
                // Whoever asked must not wait for an answer to what never left.
                let error = ErrorObject::new(ErrorObject::INTERNAL_ERROR, error.to_string());
                let failed = Response { id: Some(id), outcome: Err(error) };
                conversation.receive(Message::Response(failed), &facts);
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
