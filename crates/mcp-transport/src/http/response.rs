//! Reads the bodies of responses, and the messages in them.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode, header};
use mcp_jsonrpc::{Failure, FailureCause, Loss};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

use super::{
    awaited::Awaited,
    event_stream::{Event, EventDecoder},
    loss::{broken, lost},
    protocol::Content,
    session::Session,
};
use crate::{io::frame_classifier::FrameClassifier, link::Inbound, net::response::Response};

/// How long a server may take to end a stream after its response. Reading to the end lets the connection be reused.
const CLOSE_GRACE: Duration = Duration::from_secs(1);
/// How many chunks of a stream are read in a row before the driver gets a turn.
const PIECES_PER_TURN: u32 = 32;
/// How many messages may accumulate before the driver gets a turn.
const MOST_AT_ONCE: usize = 64;

/// Returns the content of a response to a POST.
pub(super) fn content(response: &Response) -> Content {
    let is_empty = matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
        || response.content_length() == Some(0);
    if is_empty { Content::None } else { content_type(response) }
}

/// Returns the content that the headers of a response declare.
pub(super) fn content_type(response: &Response) -> Content {
    let headers = response.headers();
    let encoding = headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case(b"identity"))
    {
        // We do not accept any encoding, so this is a mistake or a decompression bomb.
        return Content::Other(format!("encoded as {}", shorten(encoding)));
    }
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind.eq_ignore_ascii_case(b"application/json") {
        Content::Json
    } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
        Content::Events
    } else if kind.is_empty() {
        Content::Other("without a content type".into())
    } else {
        Content::Other(format!("of type {}", shorten(kind)))
    }
}

/// Truncates foreign text and keeps only printable ASCII.
fn shorten(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().filter(char::is_ascii_graphic).take(60).collect()
}

/// Delivers the messages of one frame.
pub(super) fn take_frame(session: &Session, frame: &Bytes, awaited: &mut Awaited) {
    let (mut batch, mut frames) = (Vec::with_capacity(1), FrameClassifier::default());
    frames.decode_into(frame, &mut batch);
    take(session, batch, &mut frames, awaited);
}

fn take(
    session: &Session,
    mut batch: Vec<Inbound>,
    frames: &mut FrameClassifier,
    awaited: &mut Awaited,
) {
    if frames.has_skipped() {
        frames.report_to(&mut session.lock().known);
    }
    for inbound in &mut batch {
        if let Some(result) = awaited.see(inbound) {
            session.lock().protocol.initialized(&result);
        }
    }
    if !batch.is_empty() {
        session.deliver(batch);
    }
}

/// Reads a whole body of at most `limit` bytes from a server that pauses no longer than `patience`.
pub(super) async fn body(
    url: &Url,
    response: &mut Response,
    limit: usize,
    patience: Option<Duration>,
) -> Result<Bytes, Failure> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    if let Some(size) = announced.filter(|size| *size > limit) {
        return Err(Failure::TooLarge { size, limit });
    }
    let Some(first) = chunk(url, response, patience).await? else { return Ok(Bytes::new()) };
    if Some(first.len()) == announced {
        // Read the end of the body too, so that the connection can be reused.
        let _ = chunk(url, response, patience).await;
        return Ok(first);
    }
    let mut body = BytesMut::with_capacity(announced.unwrap_or(first.len() * 2));
    let mut next = Some(first);
    while let Some(piece) = next {
        let size = body.len() + piece.len();
        if size > limit {
            return Err(Failure::TooLarge { size, limit });
        }
        body.extend_from_slice(&piece);
        next = chunk(url, response, patience).await?;
    }
    Ok(body.freeze())
}

async fn chunk(
    url: &Url,
    response: &mut Response,
    patience: Option<Duration>,
) -> Result<Option<Bytes>, Failure> {
    let chunk = match patience {
        None => response.chunk().await,
        Some(limit) => {
            let Ok(chunk) = timeout(limit, response.chunk()).await else {
                let reason = format!("the response stopped for {limit:?} before it was complete");
                return Err(lost(FailureCause::TimedOut, reason).into());
            };
            chunk
        }
    };
    chunk.map_err(|error| broken(url, &error).into())
}

/// Reads an event stream until the server ends it.
///
/// # Errors
/// The stream broke.
pub(super) async fn events(
    session: &Arc<Session>,
    response: &mut Response,
    decoder: &mut EventDecoder,
    awaited: &mut Awaited,
) -> Result<(), Loss> {
    let mut events = Vec::new();
    let mut closes_at = None;
    for turn in 1_u32.. {
        let chunk = if awaited.is_answered {
            let end = *closes_at.get_or_insert_with(|| {
                keep_a_timer(session);
                Instant::now() + CLOSE_GRACE
            });
            match timeout_at(end, response.chunk()).await {
                // The timeout does not fire if data is always ready, so check the time as well.
                Ok(chunk) if Instant::now() < end => chunk,
                _ => return Ok(()),
            }
        } else if let Some(idle) = session.settings.options.stream_idle {
            let Ok(chunk) = timeout(idle, response.chunk()).await else {
                let reason = format!("the stream of events was silent for {idle:?}");
                return Err(lost(FailureCause::TimedOut, reason));
            };
            chunk
        } else {
            response.chunk().await
        };
        match chunk {
            Ok(Some(chunk)) => decoder.push(chunk, &mut events),
            Ok(None) => return Ok(()),
            Err(error) => return Err(broken(&session.settings.url, &error)),
        }
        for event in events.drain(..) {
            take_event(session, event, awaited);
        }
        // A server that never pauses must not fill the inbox faster than it is emptied.
        let arrived = session.lock().inbox.len();
        if arrived >= MOST_AT_ONCE || turn % PIECES_PER_TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// Keeps a timer pending that expires before the next one set for the end of a stream.
///
/// Most streams end immediately and drop their timer. But a timer that becomes the earliest makes the runtime wake
/// itself, which costs a system call, here one for each response.
fn keep_a_timer(session: &Arc<Session>) {
    if std::mem::replace(&mut session.lock().has_timer, true) {
        return;
    }
    let owner = session.clone();
    let key = session.exchanges.add(Box::pin(async move {
        sleep(CLOSE_GRACE).await;
        owner.lock().has_timer = false;
    }));
    session.exchanges.start(key);
}

pub(super) fn take_event(session: &Session, event: Event, awaited: &mut Awaited) {
    match event {
        Event::Block { kind, data: Some(data) } => {
            // A block without data only updates the last id.
            if (kind.is_empty() || kind == "message") && !data.is_empty() {
                take_frame(session, &data, awaited);
            }
        }
        Event::Block { .. } => {}
        Event::TooLarge { size, head, tail } => {
            let limit = session.settings.options.max_message;
            let (mut batch, mut frames) = (Vec::new(), FrameClassifier::default());
            frames.too_large(size, limit, &head, &tail, &mut batch);
            if batch.is_empty() {
                awaited.too_large = Some(size);
            }
            take(session, batch, &mut frames, awaited);
        }
    }
}
