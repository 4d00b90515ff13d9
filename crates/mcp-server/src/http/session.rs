//! A session of a legacy client: an event stream for each POST, and a general stream for all other messages.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use mcp_jsonrpc::{ErrorObject, Message, Request, RequestId};
use mcp_types::{ProtocolVersion, header, method};
use tokio::time::Instant;

use super::{
    body::{Body, Feed, empty, error_response, events, invalid, whole},
    events::{KeepAlive, message_event, priming_event},
    options::HttpServeOptions,
    streams::{Cursor, Event, Streams},
};
use crate::{
    call::{inbox::Inbox, waiting::Task},
    client_session::{ClientSession, Outgoing},
    request::Facts,
    secret::random_name,
    shared::Shared,
};

pub(super) struct HttpSession {
    id: String,
    version: ProtocolVersion,
    core: Mutex<Core>,
    last_used: Mutex<Instant>,
    /// Moves the reports of running calls to the streams.
    driver: OnceLock<Task>,
    retry: Duration,
    keep_alive: Duration,
}

struct Core {
    client_session: ClientSession,
    streams: Streams,
}

impl HttpSession {
    /// Handles `initialize`. There is a session unless the response is an error.
    pub(super) fn open(
        shared: &Arc<Shared>,
        options: &HttpServeOptions,
        request: Request,
        facts: &Facts,
    ) -> (Option<Arc<Self>>, Response<Body>) {
        let inbox = shared.open_inbox();
        let mut client_session = ClientSession::new(shared.clone(), inbox.clone());
        client_session.receive(Message::Request(request), facts);
        let Some(Outgoing::Answer { message, status, .. }) = client_session.next_outgoing() else {
            return (
                None,
                invalid(StatusCode::INTERNAL_SERVER_ERROR, "`initialize` returned no response"),
            );
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        let mut response = whole(status, &message);
        let Some(version) = client_session.session_version() else {
            return (None, response);
        };
        let id = random_name();
        let name = id.as_deref().and_then(|id| HeaderValue::from_str(id).ok());
        let (Some(id), Some(name)) = (id, name) else {
            let error =
                ErrorObject::new(ErrorObject::INTERNAL_ERROR, "no random session id available");
            return (None, error_response(StatusCode::INTERNAL_SERVER_ERROR, error));
        };
        response.headers_mut().insert(header::SESSION_ID, name);
        let session = Arc::new(Self {
            id,
            version,
            core: Mutex::new(Core { client_session, streams: Streams::new(options.max_events) }),
            last_used: Mutex::new(Instant::now()),
            driver: OnceLock::new(),
            retry: options.retry,
            keep_alive: options.keep_alive,
        });
        let task = tokio::spawn(drive(Arc::downgrade(&session), inbox));
        // Cannot fail: no other task has this session yet.
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

    pub(super) fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client has sent `notifications/initialized`.
    pub(super) fn is_initialized(&self) -> bool {
        self.core().client_session.is_initialized()
    }

    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        self.last_used().elapsed() >= time && !self.core().client_session.is_busy()
    }

    /// Ends its calls and streams, also for tasks that still hold the session.
    pub(super) fn end(&self) {
        let mut core = self.core();
        core.streams.end();
        core.client_session.cancel_all();
    }

    /// Handles the messages of one POST.
    pub(super) async fn post(
        self: Arc<Self>,
        messages: Vec<Message>,
        facts: &Facts,
        options: &HttpServeOptions,
    ) -> Response<Body> {
        let ids: Vec<RequestId> = messages.iter().filter_map(request_id).cloned().collect();
        let cursor = self.update(|core| {
            let is_used = |id: &RequestId| core.client_session.is_in_use(id);
            let repeated = ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id));
            if repeated || ids.iter().any(is_used) {
                return Err(());
            }
            let cursor = (!ids.is_empty()).then(|| core.streams.open(ids.iter().cloned()));
            for message in messages {
                let cancelled = cancelled_id(&message);
                core.client_session.receive(message, facts);
                if let Some(id) = cancelled {
                    core.streams.abandon(&id);
                }
            }
            Ok(cursor)
        });
        let mut position = match cursor {
            Ok(Some(cursor)) => StreamPosition { session: self, cursor },
            Ok(None) => return empty(StatusCode::ACCEPTED),
            Err(()) => {
                return invalid(StatusCode::BAD_REQUEST, "this request id is already in use");
            }
        };
        let first = poll_fn(|cx| position.poll(cx));
        let first = tokio::time::timeout(options.patience, first).await.ok().flatten();
        match first {
            Some(Event { message, answer: Some(status) }) if ids.len() == 1 => {
                position.session.core().streams.forget(position.cursor.stream);
                whole(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), &message)
            }
            first => events(Reader::new(position, first)),
        }
    }

    /// Opens the general stream, or resumes the stream that `Last-Event-ID` names.
    pub(super) fn get(self: Arc<Self>, headers: &HeaderMap) -> Response<Body> {
        let cursor = match headers.get("last-event-id") {
            None => self.core().streams.general(),
            Some(id) => {
                let after = id.to_str().ok().and_then(parse_event_id);
                after.and_then(|(stream, next)| self.core().streams.take_over(stream, next))
            }
        };
        match cursor {
            Some(cursor) => events(Reader::new(StreamPosition { session: self, cursor }, None)),
            None => invalid(StatusCode::BAD_REQUEST, "unknown `Last-Event-ID`"),
        }
    }

    /// Changes the client session, then passes its output to the streams.
    fn update<R>(&self, change: impl FnOnce(&mut Core) -> R) -> R {
        let mut core = self.core();
        let result = change(&mut core);
        let Core { client_session, streams } = &mut *core;
        client_session.start_jobs();
        while let Some(outgoing) = client_session.next_outgoing() {
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
        session.update(|core| core.client_session.take(item));
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
        Message::Notification(told) if told.method == method::CANCELLED => {
            told.params.as_ref()?.get("requestId")?.decode().ok()
        }
        _ => None,
    }
}

/// The id of an event: its stream, and the number of the next event.
fn event_id(stream: u64, next: u64) -> String {
    format!("{stream}.{next}")
}

fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, next) = id.split_once('.')?;
    Some((stream.parse().ok()?, next.parse().ok()?))
}

/// A reader's position in a stream. While it exists, the events that it has not read are kept.
struct StreamPosition {
    session: Arc<HttpSession>,
    cursor: Cursor,
}

impl StreamPosition {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.session.core().streams.poll(&mut self.cursor, cx)
    }
}

impl Drop for StreamPosition {
    fn drop(&mut self) {
        self.session.core().streams.leave(self.cursor);
    }
}

/// Sends the events of a stream as a response body.
struct Reader {
    position: StreamPosition,
    /// Read ahead, to see whether the stream consists of one response.
    first: Option<Event>,
    is_primed: bool,
    keep_alive_timer: KeepAlive,
}

impl Reader {
    fn new(position: StreamPosition, first: Option<Event>) -> Self {
        // Older clients reject an event without data. The priming event was added in 2025-11-25:
        // <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server>
        let is_primed = position.session.version < ProtocolVersion::V2025_11_25;
        let keep_alive_timer = KeepAlive::new(position.session.keep_alive);
        Self { position, first, is_primed, keep_alive_timer }
    }

    fn event(&mut self, event: &Event) -> Bytes {
        self.keep_alive_timer.restart();
        let Cursor { stream, next, .. } = self.position.cursor;
        message_event(Some(&event_id(stream, next)), &event.message)
    }
}

impl Feed for Reader {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if !self.is_primed {
            self.is_primed = true;
            let ahead = u64::from(self.first.is_some());
            let Cursor { stream, next, .. } = self.position.cursor;
            let here = event_id(stream, next - ahead);
            return Poll::Ready(Some(priming_event(&here, self.position.session.retry)));
        }
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(self.event(&first)));
        }
        match self.position.poll(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(self.event(&event))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => self.keep_alive_timer.poll(cx).map(Some),
        }
    }
}

/// The idle time of a session begins when its last reader disconnects.
impl Drop for Reader {
    fn drop(&mut self) {
        self.position.session.touch();
    }
}
