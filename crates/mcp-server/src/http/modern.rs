//! Modern requests: one POST with its own client session. Closing the connection cancels the request.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Response, StatusCode};
use mcp_jsonrpc::{Message, Request};
use mcp_types::method;

use super::{
    body::{Body, Feed, events, whole},
    events::{KeepAlive, message_event},
    options::HttpServeOptions,
};
use crate::{
    call::inbox::Inbox,
    client_session::{ClientSession, Outgoing},
    request::Facts,
    shared::Shared,
};

pub(super) async fn answer(
    shared: &Arc<Shared>,
    options: &HttpServeOptions,
    request: Request,
    facts: Facts,
) -> Response<Body> {
    // Only `subscriptions/listen` receives changes.
    let inbox = match &*request.method {
        method::SUBSCRIPTIONS_LISTEN => shared.open_inbox(),
        _ => Arc::new(Inbox::new(shared.options.max_reports)),
    };
    let mut client_session = ClientSession::new(shared.clone(), inbox.clone());
    client_session.receive(Message::Request(request), &facts);
    let mut exchange = Exchange { client_session, inbox, ready: VecDeque::new() };
    let first =
        tokio::time::timeout(options.patience, std::future::poll_fn(|cx| exchange.poll_next(cx)));
    match first.await {
        Ok(Next { message, last: Some(status) }) => {
            whole(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), &message)
        }
        first => {
            exchange.ready.extend(first.ok());
            let keep_alive_timer = KeepAlive::new(options.keep_alive);
            events(Stream { exchange, keep_alive_timer, has_ended: false })
        }
    }
}

struct Exchange {
    client_session: ClientSession,
    inbox: Arc<Inbox>,
    ready: VecDeque<Next>,
}

struct Next {
    message: Message,
    /// The HTTP status, if this is the response, which is the last message.
    last: Option<u16>,
}

impl Exchange {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Poll::Ready(next);
            }
            self.client_session.start_jobs();
            match self.client_session.next_outgoing() {
                Some(Outgoing::Message { message, .. }) => {
                    return Poll::Ready(Next { message, last: None });
                }
                Some(Outgoing::Answer { message, status, .. }) => {
                    return Poll::Ready(Next { message, last: Some(status) });
                }
                // Modern streams cannot be resumed.
                Some(Outgoing::HangUp { .. }) => continue,
                None => {}
            }
            match self.inbox.poll_next(cx) {
                Poll::Ready(item) => self.client_session.take(item),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

struct Stream {
    exchange: Exchange,
    keep_alive_timer: KeepAlive,
    has_ended: bool,
}

impl Feed for Stream {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(Next { message, last }) = self.exchange.poll_next(cx) {
            self.has_ended = last.is_some();
            self.keep_alive_timer.restart();
            return Poll::Ready(Some(message_event(None, &message)));
        }
        self.keep_alive_timer.poll(cx).map(Some)
    }
}
