//! A request that stands by itself: one POST, one conversation. Whoever hangs up cancels.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Response, StatusCode};
use mcp_jsonrpc::{Message, Request};

use super::{
    Inner,
    body::{Body, Feed, events, whole},
    events::{Pulse, message_event},
};
use crate::serve::{
    conversation::{Conversation, Outgoing},
    inbox::Inbox,
    request::Facts,
};

pub(super) async fn answer(server: &Inner, request: Request, facts: Facts) -> Response<Body> {
    let shared = server.shared.clone();
    // Only those who listen want to hear of changes.
    let inbox = match &*request.method {
        "subscriptions/listen" => shared.open_inbox(),
        _ => Arc::new(Inbox::new(shared.options.max_reports)),
    };
    let mut conversation = Conversation::new(shared, inbox.clone());
    conversation.receive(Message::Request(request), &facts);
    let mut exchange = Exchange { conversation, inbox, ready: VecDeque::new() };
    let first = tokio::time::timeout(
        server.options.patience,
        std::future::poll_fn(|cx| exchange.poll_next(cx)),
    );
    match first.await {
        Ok(Next { message, last: Some(status) }) => {
            whole(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), &message)
        }
        first => {
            exchange.ready.extend(first.ok());
            let pulse = Pulse::new(server.options.keep_alive);
            events(Stream { exchange, pulse, has_ended: false })
        }
    }
}

struct Exchange {
    conversation: Conversation,
    inbox: Arc<Inbox>,
    ready: VecDeque<Next>,
}

struct Next {
    message: Message,
    /// The status, if it is the answer, after which nothing follows.
    last: Option<u16>,
}

impl Exchange {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Poll::Ready(next);
            }
            self.conversation.start_jobs();
            match self.conversation.next_outgoing() {
                Some(Outgoing::Message { message, .. }) => {
                    return Poll::Ready(Next { message, last: None });
                }
                Some(Outgoing::Answer { message, status, .. }) => {
                    return Poll::Ready(Next { message, last: Some(status) });
                }
                // In this era there is nothing to come back to.
                Some(Outgoing::HangUp { .. }) => continue,
                None => {}
            }
            match self.inbox.poll_next(cx) {
                Poll::Ready(item) => self.conversation.take(item),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

struct Stream {
    exchange: Exchange,
    pulse: Pulse,
    has_ended: bool,
}

impl Feed for Stream {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(Next { message, last }) = self.exchange.poll_next(cx) {
            self.has_ended = last.is_some();
            self.pulse.restart();
            return Poll::Ready(Some(message_event(None, &message)));
        }
        self.pulse.poll(cx).map(Some)
    }
}
