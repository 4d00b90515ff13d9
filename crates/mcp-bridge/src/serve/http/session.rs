//! A session of an old client: one conversation, a stream for each POST, and one for the rest.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use mcp_client::{ErrorObject, ProtocolVersion, RequestId};
use mcp_jsonrpc::{Message, Request};
use tokio::time::Instant;

use super::{
    SESSION_ID,
    body::{Body, Feed, complaint, empty, events, whole},
    events::{Pulse, message_event, priming_event},
    invalid,
    options::HttpServeOptions,
    streams::{Cursor, Event, Streams},
};
use crate::serve::{
    conversation::{Conversation, Outgoing},
    inbox::Inbox,
    request::Facts,
    secret::random_name,
    shared::Shared,
    waiting::Task,
};

pub(super) struct HttpSession {
    id: String,
    version: ProtocolVersion,
    core: Mutex<Core>,
    last_used: Mutex<Instant>,
    /// Carries what running calls report to the streams.
    driver: OnceLock<Task>,
    retry: Duration,
    keep_alive: Duration,
}

struct Core {
    conversation: Conversation,
    streams: Streams,
}

impl HttpSession {
    /// Answers `initialize`. There is a session if the answer is not an error.
    pub(super) fn open(
        shared: &Arc<Shared>,
        options: &HttpServeOptions,
        request: Request,
        facts: &Facts,
    ) -> (Option<Arc<Self>>, Response<Body>) {
        let inbox = shared.open_inbox();
        let mut conversation = Conversation::new(shared.clone(), inbox.clone());
        conversation.receive(Message::Request(request), facts);
        let Some(Outgoing::Answer { message, status, .. }) = conversation.next_outgoing() else {
            return (None, invalid(StatusCode::INTERNAL_SERVER_ERROR, "there is no answer"));
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        let mut response = whole(status, &message);
        let Some(version) = conversation.session.as_ref().map(|session| session.version) else {
            return (None, response);
        };
        let id = random_name();
        let name = id.as_deref().and_then(|id| HeaderValue::from_str(id).ok());
        let (Some(id), Some(name)) = (id, name) else {
            let error = ErrorObject::new(ErrorObject::INTERNAL_ERROR, "no randomness");
            return (None, complaint(StatusCode::INTERNAL_SERVER_ERROR, error));
        };
        response.headers_mut().insert(SESSION_ID, name);
        let session = Arc::new(Self {
            id,
            version,
            core: Mutex::new(Core { conversation, streams: Streams::new(options.max_events) }),
            last_used: Mutex::new(Instant::now()),
            driver: OnceLock::new(),
            retry: options.retry,
            keep_alive: options.keep_alive,
        });
        let task = tokio::spawn(drive(Arc::downgrade(&session), inbox));
        // Nobody else has seen this session yet.
        let _ = session.driver.set(Task(task.abort_handle()));
        (Some(session), response)
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn version(&self) -> ProtocolVersion {
        self.version
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        let last_used = *self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        last_used.elapsed() >= time && self.core().conversation.calls.is_empty()
    }

    /// Ends its calls and streams, for those who still hold it.
    pub(super) fn end(&self) {
        let mut core = self.core();
        core.streams.end();
        let ids: Vec<RequestId> = core.conversation.by_id.keys().cloned().collect();
        for id in &ids {
            core.conversation.cancel(id);
        }
    }

    /// Takes messages of one POST, and answers with what comes of them.
    pub(super) async fn post(
        self: Arc<Self>,
        messages: Vec<Message>,
        facts: &Facts,
        options: &HttpServeOptions,
    ) -> Response<Body> {
        let ids: Vec<RequestId> = messages.iter().filter_map(request_id).cloned().collect();
        let cursor = self.update(|core| {
            let is_used = |id: &RequestId| core.conversation.is_in_use(id);
            let repeated = ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id));
            if repeated || ids.iter().any(is_used) {
                return Err(());
            }
            let cursor = (!ids.is_empty()).then(|| core.streams.open(ids.iter().cloned()));
            for message in messages {
                let cancelled = cancelled_id(&message);
                core.conversation.receive(message, facts);
                if let Some(id) = cancelled {
                    core.streams.abandon(&id);
                }
            }
            Ok(cursor)
        });
        let mut seat = match cursor {
            Ok(Some(cursor)) => Seat { session: self, cursor },
            Ok(None) => return empty(StatusCode::ACCEPTED),
            Err(()) => return invalid(StatusCode::BAD_REQUEST, "this id is in use"),
        };
        let first = poll_fn(|cx| seat.poll(cx));
        let first = tokio::time::timeout(options.patience, first).await.ok().flatten();
        match first {
            Some(Event { message, answer: Some(status) }) if ids.len() == 1 => {
                seat.session.core().streams.forget(seat.cursor.stream);
                whole(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), &message)
            }
            first => events(Reader::new(seat, first)),
        }
    }

    /// Opens the general stream, or one that was left before its end.
    pub(super) fn get(self: Arc<Self>, headers: &HeaderMap) -> Response<Body> {
        let cursor = match headers.get("last-event-id") {
            None => self.core().streams.general(),
            Some(id) => {
                let place = id.to_str().ok().and_then(parse_place);
                place.and_then(|(stream, next)| self.core().streams.take_over(stream, next))
            }
        };
        match cursor {
            Some(cursor) => events(Reader::new(Seat { session: self, cursor }, None)),
            None => invalid(StatusCode::BAD_REQUEST, "there is no such event to go on from"),
        }
    }

    /// Does something to the conversation, and passes on what comes of it.
    fn update<R>(&self, change: impl FnOnce(&mut Core) -> R) -> R {
        let mut core = self.core();
        let result = change(&mut core);
        let Core { conversation, streams } = &mut *core;
        conversation.start_jobs();
        while let Some(outgoing) = conversation.next_outgoing() {
            match outgoing {
                Outgoing::Message { about, message } => {
                    streams.push(about.as_ref(), Event { message, answer: None });
                }
                Outgoing::Answer { id, message, status } => {
                    streams.push(Some(&id), Event { message, answer: Some(status) });
                }
                Outgoing::HangUp { about } => streams.hang_up(&about),
            }
        }
        result
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn drive(session: Weak<HttpSession>, inbox: Arc<Inbox>) {
    loop {
        let item = inbox.next().await;
        let Some(session) = session.upgrade() else { return };
        session.update(|core| core.conversation.take(item));
    }
}

fn request_id(message: &Message) -> Option<&RequestId> {
    match message {
        Message::Request(request) => Some(&request.id),
        _ => None,
    }
}

fn cancelled_id(message: &Message) -> Option<RequestId> {
    match message {
        Message::Notification(told) if told.method == "notifications/cancelled" => {
            told.params.as_ref()?.get("requestId")?.decode().ok()
        }
        _ => None,
    }
}

/// Where to go on, as the id of an event says it: the stream, and the number of the event after it.
fn place(stream: u64, next: u64) -> String {
    format!("{stream}.{next}")
}

fn parse_place(id: &str) -> Option<(u64, u64)> {
    let (stream, next) = id.split_once('.')?;
    Some((stream.parse().ok()?, next.parse().ok()?))
}

/// A place at a stream. As long as somebody has it, nothing they have not read is thrown away.
struct Seat {
    session: Arc<HttpSession>,
    cursor: Cursor,
}

impl Seat {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.session.core().streams.poll(&mut self.cursor, cx)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.session.core().streams.leave(self.cursor);
    }
}

/// Sends a stream's events to whoever reads it.
struct Reader {
    seat: Seat,
    /// Read ahead, to see whether one answer is all there is.
    first: Option<Event>,
    is_primed: bool,
    pulse: Pulse,
}

impl Reader {
    fn new(seat: Seat, first: Option<Event>) -> Self {
        // Older clients take an event without data for a broken message.
        let is_primed = seat.session.version < ProtocolVersion::V2025_11_25;
        let pulse = Pulse::new(seat.session.keep_alive);
        Self { seat, first, is_primed, pulse }
    }

    fn event(&mut self, event: &Event) -> Bytes {
        self.pulse.restart();
        let Cursor { stream, next, .. } = self.seat.cursor;
        message_event(Some(&place(stream, next)), &event.message)
    }
}

impl Feed for Reader {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if !self.is_primed {
            self.is_primed = true;
            let ahead = u64::from(self.first.is_some());
            let Cursor { stream, next, .. } = self.seat.cursor;
            let here = place(stream, next - ahead);
            return Poll::Ready(Some(priming_event(&here, self.seat.session.retry)));
        }
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(self.event(&first)));
        }
        match self.seat.poll(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(self.event(&event))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => self.pulse.poll(cx).map(Some),
        }
    }
}

/// A reader that leaves keeps its session alive for a while.
impl Drop for Reader {
    fn drop(&mut self) {
        self.seat.session.touch();
    }
}
